package audit

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

// shardNamespaces are namespaces with similar names, and that of cluster-scoped objects.
func shardNamespaces() []string {
	names := []string{""}
	for i := range 3000 {
		names = append(names, fmt.Sprintf("team-%04d", i))
	}
	return names
}

func replicaNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("lintel-manager-6d9f7c-%d", i))
	}
	return names
}

// Every namespace has exactly one owner, and the replicas have about equal shares.
func TestShardsAreAPartition(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 7; n++ {
		names := replicaNames(n)
		owned := map[string]int{}
		for _, namespace := range shardNamespaces() {
			owners := 0
			for _, name := range names {
				if NewShards(name, names).Owns(namespace) {
					owners++
					owned[name]++
				}
			}
			require.Equal(t, 1, owners, namespace)
		}
		mean := len(shardNamespaces()) / n
		for _, name := range names {
			require.InDelta(t, mean, owned[name], float64(mean)*0.15, "%s of %d", name, n)
		}
	}
}

// A replica that joins only takes, and the shards of one that leaves are all that moves.
func TestShardsMoveMinimally(t *testing.T) {
	t.Parallel()
	names := replicaNames(4)
	before, after := NewShards("", names[:3]), NewShards("", names)
	moved := 0
	for _, namespace := range shardNamespaces() {
		if before.Owner(namespace) == after.Owner(namespace) {
			continue
		}
		moved++
		require.Equal(t, names[3], after.Owner(namespace), "only the new replica takes a namespace, and only its own move when it leaves")
	}
	require.InDelta(t, len(shardNamespaces())/4, moved, float64(len(shardNamespaces()))*0.04)
	require.True(t, after.Contains(before))
	require.False(t, before.Contains(after))
}

func TestShardsDependOnNamesOnly(t *testing.T) {
	t.Parallel()
	a, b := NewShards("x", []string{"x", "y", "z"}), NewShards("y", []string{"z", "y", "x", "y"})
	require.Equal(t, a.Digest(), b.Digest())
	require.Equal(t, a.Members(), b.Members())
	require.NotEqual(t, a.Digest(), NewShards("x", []string{"x", "yz"}).Digest())
	for _, namespace := range shardNamespaces() {
		require.Equal(t, a.Owner(namespace), b.Owner(namespace))
	}
	require.False(t, NewShards("", nil).Owns("shop"), "without replicas, there is no owner")
	require.False(t, NewShards("w", []string{"x", "y"}).Owns("shop"))
}

// The shares of a limit add up to it, so that a limit per policy is one of all replicas together.
func TestShardsShareALimit(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 6; n++ {
		for _, limit := range []int{1, 2, 5, 100, 500} {
			sum := 0
			for _, name := range replicaNames(n) {
				sum += NewShards(name, replicaNames(n)).Share(limit)
			}
			require.Equal(t, limit, sum, "%d replicas", n)
		}
	}
	require.Zero(t, NewShards("w", []string{"x"}).Share(100))
}

// A lower limit removes details and keeps the counts. A higher one makes room again.
func TestLedgerLimitChanges(t *testing.T) {
	t.Parallel()
	ledger := NewLedger(4)
	key := PolicyKey{Source: "s", Policy: "p"}
	for i := range 6 {
		ledger.Set(Object{Kind: admission.PodKind, Namespace: "shop", Name: fmt.Sprint(i)}, Digest{1}, []Result{{Source: "s", Policy: "p", Outcome: Fail, Message: "no"}}, time.Now())
	}
	require.Len(t, ledger.Details(key, 10, Fail), 4)
	ledger.TakeChanged()
	ledger.SetLimit(2)
	require.Len(t, ledger.Details(key, 10, Fail), 2)
	require.Equal(t, 6, ledger.Totals()[key][Fail])
	require.Equal(t, []GroupKey{{Namespace: "shop", Source: "s"}}, ledger.TakeChanged(), "its report has changed")
	require.Empty(t, ledger.Truncated())
	ledger.SetLimit(5)
	require.Len(t, ledger.Truncated(), 3, "there is room for three more")
	for _, object := range ledger.Truncated() {
		ledger.Set(object, Digest{2}, []Result{{Source: "s", Policy: "p", Outcome: Fail, Message: "no"}}, time.Now())
	}
	require.Len(t, ledger.Details(key, 10, Fail), 5)
	ledger.Retain(func(object Object) bool { return object.Name == "0" })
	require.Equal(t, 1, ledger.Totals()[key][Fail])
	require.LessOrEqual(t, len(ledger.Details(key, 10, Fail)), 1)
}
