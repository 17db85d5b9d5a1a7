package audit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leases are the Leases of replicas, with a clock of the replica that reads them.
type leases struct {
	clock time.Time
	list  []coordinationv1.Lease
}

// renew renews the Lease of a replica, by a clock that differs from the reader's by skew.
func (l *leases) renew(replica string, skew time.Duration) {
	l.remove(replica)
	l.list = append(l.list, coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "lintel-" + replica, Annotations: map[string]string{ShardAnnotation: replica + "-process"}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &replica, LeaseDurationSeconds: new(int32(30)), RenewTime: new(metav1.NewMicroTime(l.clock.Add(skew))),
		},
	})
}

func (l *leases) remove(replica string) {
	kept := l.list[:0]
	for _, lease := range l.list {
		if *lease.Spec.HolderIdentity != replica {
			kept = append(kept, lease)
		}
	}
	l.list = kept
}

func newMembers(self string) (*members, *leases) {
	l := &leases{clock: friday}
	return &members{self: self, now: func() time.Time { return l.clock }}, l
}

// A replica that was killed loses its shards when its Lease has expired, and not before.
func TestMembersAfterAKill(t *testing.T) {
	t.Parallel()
	m, l := newMembers("a")
	l.renew("a", 0)
	l.renew("b", 0)
	require.Equal(t, []string{"a", "b"}, m.observe(l.list).shards.Members())
	for second := 1; second <= 40; second++ { // b is killed now
		l.clock = l.clock.Add(time.Second)
		if second%10 == 0 {
			l.renew("a", 0)
		}
		want := []string{"a", "b"}
		if second >= 30 {
			want = []string{"a"}
		}
		got := m.observe(l.list)
		require.Equal(t, want, got.shards.Members(), "after %d s", second)
		require.False(t, got.held)
	}
	l.renew("b", 0)
	require.Equal(t, []string{"a", "b"}, m.observe(l.list).shards.Members(), "it has come back")
	l.remove("b")
	require.Equal(t, []string{"a"}, m.observe(l.list).shards.Members(), "it has ended normally")
}

// The clocks of replicas may differ, and a Lease that was left long ago does not count.
func TestMembersWithOtherClocks(t *testing.T) {
	t.Parallel()
	m, l := newMembers("a")
	l.renew("a", 0)
	l.renew("dead", -time.Hour)
	l.renew("behind", -time.Hour)
	l.renew("ahead", time.Hour)
	require.Equal(t, []string{"a", "ahead"}, m.observe(l.list).shards.Members())
	l.clock = l.clock.Add(10 * time.Second)
	for replica, skew := range map[string]time.Duration{"a": 0, "behind": -time.Hour, "ahead": time.Hour} {
		l.renew(replica, skew)
	}
	require.Equal(t, []string{"a", "ahead", "behind"}, m.observe(l.list).shards.Members())
	l.clock = l.clock.Add(29 * time.Second)
	l.renew("a", 0)
	require.Equal(t, []string{"a", "ahead", "behind"}, m.observe(l.list).shards.Members())
	l.clock = l.clock.Add(time.Second)
	require.Equal(t, []string{"a"}, m.observe(l.list).shards.Members(), "neither was renewed again")
}

// After an outage of the API server, all Leases have expired, and are renewed one by one. The shards
// stay where they were, and nothing is written before the own Lease is in force.
func TestMembersAfterAnOutage(t *testing.T) {
	t.Parallel()
	m, l := newMembers("a")
	for _, replica := range []string{"a", "b", "c"} {
		l.renew(replica, 0)
	}
	all := m.observe(l.list).shards.Members()
	l.clock = l.clock.Add(5 * time.Minute)
	held := m.observe(l.list)
	require.True(t, held.held)
	require.Equal(t, all, held.shards.Members(), "the others may not have been there either")
	l.renew("a", 0)
	got := m.observe(l.list)
	require.False(t, got.held)
	require.Equal(t, all, got.shards.Members(), "b and c have the time to renew theirs")
	l.clock = l.clock.Add(9 * time.Second)
	l.renew("b", 0)
	require.Equal(t, all, m.observe(l.list).shards.Members())
	l.clock = l.clock.Add(settleTime)
	require.Equal(t, []string{"a", "b"}, m.observe(l.list).shards.Members(), "c was gone")
}

// Replicas without audit have no shards, and neither has one that has not reported yet.
func TestMembersThatDoNotAudit(t *testing.T) {
	t.Parallel()
	m, l := newMembers("a")
	l.renew("b", 0)
	before := m.observe(l.list)
	require.True(t, before.held)
	require.Nil(t, before.shards, "whether others audit is known, but not whether this replica does")
	l.renew("a", 0)
	l.renew("older", 0)
	delete(l.list[2].Annotations, ShardAnnotation)
	require.Equal(t, []string{"a", "b"}, m.observe(l.list).shards.Members())
}
