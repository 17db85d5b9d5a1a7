package orloj

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
)

var noon = time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)

func says(s v1.Status, kind string) string {
	condition := meta.FindStatusCondition(s.Conditions, kind)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

func TestStatus(t *testing.T) {
	object := &v1.Agent{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	created := outcome{key: "n/a", result: store.Result{Created: true, Phase: "Pending"}}
	after := func(o outcome, at time.Time) v1.Status {
		next := nextStatus(object, o, at)
		object.Status = next
		return next
	}

	s := after(created, noon)
	require.Equal(t, v1.PhaseSynced, s.Phase)
	require.EqualValues(t, 3, s.ObservedGeneration, "defect O3: it is the object's own generation")
	require.Equal(t, "n/a", s.StoreKey)
	require.Equal(t, "True Synced", says(s, v1.ConditionReady))
	require.Equal(t, "Unknown Pending", says(s, v1.ConditionStorePhase))
	require.Empty(t, says(s, v1.ConditionAdopted))
	synced := s.LastSyncedAt

	// Defect O2: an unchanged status is not written.
	again := after(outcome{key: "n/a", result: store.Result{Phase: "Pending"}}, noon.Add(time.Hour))
	require.True(t, equality.Semantic.DeepEqual(s, again))

	unavailable := outcome{problem: &store.Problem{Reason: store.ReasonUnavailable, Message: "down"}}
	s = after(unavailable, noon.Add(time.Hour))
	require.Equal(t, v1.PhaseSyncError, s.Phase)
	require.Equal(t, "down", s.SyncError)
	require.Equal(t, "False StoreUnavailable", says(s, v1.ConditionStoreAvailable))
	require.Equal(t, "False StoreUnavailable", says(s, v1.ConditionReady))
	require.Empty(t, says(s, v1.ConditionStalled), "it goes by itself")
	require.Equal(t, "n/a", s.StoreKey, "the row is still there")
	require.True(t, synced.Equal(s.LastSyncedAt))

	s = after(outcome{problem: &store.Problem{Reason: store.ReasonTaken, Message: "taken"}}, noon.Add(time.Hour))
	require.Equal(t, "True StoreKeyTaken", says(s, v1.ConditionStalled))
	require.Empty(t, says(s, v1.ConditionStoreAvailable))

	s = after(outcome{denied: "no"}, noon.Add(time.Hour))
	require.Equal(t, "False Denied", says(s, v1.ConditionAdmitted))
	require.Equal(t, "False NotAdmitted", says(s, v1.ConditionSynced))
	require.Equal(t, "no", s.SyncError)

	s = after(outcome{key: "n/a", result: store.Result{Updated: true, Adopted: true, Phase: "not a reason!", LastError: "boom"}}, noon.Add(2*time.Hour))
	require.Equal(t, v1.PhaseSynced, s.Phase)
	require.Empty(t, s.SyncError)
	require.Equal(t, "True Admitted", says(s, v1.ConditionAdmitted))
	require.Empty(t, says(s, v1.ConditionStalled))
	require.Empty(t, says(s, v1.ConditionAdopted), "it was this object's before")
	require.Equal(t, "Unknown Unknown", says(s, v1.ConditionStorePhase))
	require.Equal(t, `orlojd's phase is "not a reason!": boom`, meta.FindStatusCondition(s.Conditions, v1.ConditionStorePhase).Message)
	require.True(t, noon.Add(2*time.Hour).Equal(s.LastSyncedAt.Time))

	s = after(outcome{key: "m/a", result: store.Result{Updated: true, Adopted: true, Phase: "Error"}}, noon.Add(3*time.Hour))
	require.Equal(t, "True RowExisted", says(s, v1.ConditionAdopted))
	require.Equal(t, "False Error", says(s, v1.ConditionStorePhase))
	s = after(outcome{key: "k/a", result: store.Result{Created: true}, moved: true}, noon.Add(4*time.Hour))
	require.Empty(t, says(s, v1.ConditionAdopted), "the row that it has now was not there")
}

// TestAnOutageIsNotToldOfWhatIsStored: a manager that starts without its database would
// write to every object there is.
func TestAnOutageIsNotToldOfWhatIsStored(t *testing.T) {
	object := &v1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", Generation: 3}}
	require.False(t, isStored(object))
	object.Status = v1.Status{Phase: v1.PhaseSynced, ObservedGeneration: 3, StoreKey: "n/a"}
	require.True(t, isStored(object))
	object.Generation = 4
	require.False(t, isStored(object))
	object.Generation, object.Annotations = 3, map[string]string{v1.TargetNamespaceAnnotation: "m"}
	require.False(t, isStored(object))
}

func TestLedger(t *testing.T) {
	l := newLedger()
	agentOf := func(uid, name string) v1.Object {
		return &v1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(uid)}}
	}
	a, b := types.NamespacedName{Namespace: "n", Name: "a"}, types.NamespacedName{Namespace: "n", Name: "b"}
	l.recordWrite(agentOf("ua", "a"), "n/a", store.Result{Hash: "h1", Version: "1"})
	l.recordWrite(agentOf("ub", "b"), "n/b", store.Result{Hash: "h2", Version: "1"})
	before := l.keys()
	found := func(scan int, owner, key, hash string) (types.NamespacedName, bool) {
		return l.compareRow(scan, store.Summary{Owner: owner, Key: key, Hash: hash, Version: "1"})
	}

	_, look := found(1, "ua", "n/a", "h1")
	require.False(t, look, "as it was written")
	name, look := found(1, "ub", "n/b", "edited")
	require.True(t, look)
	require.Equal(t, b, name)
	require.Empty(t, l.missing(1, before))
	_, look = found(1, "somebody", "n/c", "x")
	require.False(t, look, "rows of others are none of ours")
	_, look = found(1, "", "n/a", "h1")
	require.False(t, look)
	name, look = found(1, "", "n/a", "edited")
	require.True(t, look, "somebody took the owner out")
	require.Equal(t, a, name)
	name, look = found(1, "ua", "old/a", "h1")
	require.True(t, look, "a row that was left behind")
	require.Equal(t, a, name)
	known := l.of("ua")
	require.True(t, known.drifted && known.stray)

	require.True(t, known.isRepairedBy("n/a", store.Result{Hash: "h4", Updated: true}))
	l.recordWrite(agentOf("ua", "a"), "m/a", store.Result{Hash: "h3", Version: "1"})
	known = l.of("ua")
	require.False(t, known.drifted || known.stray)
	require.True(t, known.isRepairedBy("m/a", store.Result{Hash: "h3", Created: true}), "no scan has seen that it was deleted")
	require.False(t, known.isRepairedBy("m/a", store.Result{Hash: "h3"}), "as it was")
	require.False(t, known.isRepairedBy("m/a", store.Result{Hash: "h4", Updated: true}), "the object has changed")
	require.False(t, known.isRepairedBy("m/b", store.Result{Hash: "h3", Created: true}), "the row has moved")
	require.Equal(t, []types.NamespacedName{b}, l.missing(2, before), "one has moved, one is gone")
	require.Equal(t, a, known.object)
	require.Equal(t, "m/a", known.key)
	require.Zero(t, l.of("nobody"))
	l.forget("ua")
	l.forget("nobody")
	require.Equal(t, 1, l.size())
}

// TestWhoWaitsForARow: an object waits until the row had no owner for long enough.
func TestWhoWaitsForARow(t *testing.T) {
	l := newLedger()
	waits := func(at time.Duration) bool { return l.mustWait("u", time.Minute, noon.Add(at)) }
	require.True(t, waits(0), "nothing is known of the row")
	l.refused("u", store.ReasonReleased, noon)
	l.refused("u", store.ReasonReleased, noon.Add(50*time.Second))
	require.True(t, waits(50*time.Second))
	require.False(t, waits(time.Minute), "the time runs from when it was first seen")
	l.refused("u", store.ReasonCluster, noon)
	require.True(t, waits(time.Hour), "it was taken back")
}

// TestSyncingDoesNotStartAnotherSync: of the writes to an object, its own start nothing.
func TestSyncingDoesNotStartAnotherSync(t *testing.T) {
	before := &v1.Agent{ObjectMeta: metav1.ObjectMeta{Generation: 1, Labels: map[string]string{}}}
	passes := func(change func(*v1.Agent)) bool {
		after := before.DeepCopy()
		change(after)
		return changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
	require.False(t, passes(func(a *v1.Agent) { a.Status.Phase, a.ResourceVersion = v1.PhaseSynced, "2" }))
	require.False(t, passes(func(a *v1.Agent) { a.Finalizers = []string{v1.Finalizer} }))
	require.True(t, passes(func(a *v1.Agent) { a.Generation = 2 }))
	require.True(t, passes(func(a *v1.Agent) { a.Labels["a"] = "b" }))
	require.True(t, passes(func(a *v1.Agent) { a.Annotations = map[string]string{v1.TargetNamespaceAnnotation: "x"} }))
	require.True(t, passes(func(a *v1.Agent) { a.DeletionTimestamp = &metav1.Time{Time: noon} }))
	require.True(t, passes(func(a *v1.Agent) { a.UID = "another" }))
}
