package openzro

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

// TestAGroupComesAndGoes is Z2 and Z10: nothing leaks, and at rest nothing is written.
func TestAGroupComesAndGoes(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.requireReconciled(dev)
	require.Equal(t, s.groupNamed("Developers").ID, dev.Status.GroupID)
	require.False(t, dev.Status.Adopted)
	require.Equal(t, v1.KeySecret, dev.Status.Key)
	require.Equal(t, []string{v1.Finalizer}, dev.Finalizers)
	require.Equal(t, 1, s.server.Writes(openzro.Call{}))
	require.Len(t, dev.Status.Conditions, 2, "nothing is left of its making")
	s.atRest()
	s.look()
	require.Equal(t, 2, s.server.Count(openzro.Call{}), "one list of groups, one of accounts")

	s.requireDeletion(dev)
	require.Equal(t, []string{"All"}, s.groupNames())
}

// TestAForeignGroupIsUsed is Z3: it is never deleted, nor emptied.
func TestAForeignGroupIsUsed(t *testing.T) {
	s := newSite(t)
	theirs, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "Developers"})
	require.NoError(t, err)
	s.account.AddPeer("laptop", theirs.ID)
	s.server.ForgetCalls()
	dev := adopting(ozgroup("dev", "Developers"))
	s.reconcile(dev, adopting(ozgroup("all", "All")))
	s.requireReconciled(dev)
	require.True(t, dev.Status.Adopted)
	require.Equal(t, []v1.Adoption{{ID: theirs.ID, Kind: kindGroup, Name: "Developers"}}, dev.Status.Adoptions)
	require.True(t, get(s, ozgroup("all", "")).Status.Adopted)
	require.Equal(t, theirs.ID, dev.Status.GroupID)
	s.requireDeletion(dev)
	require.Zero(t, s.server.Writes(openzro.Call{}))
	require.Len(t, s.groupNamed("Developers").Peers, 1)
}

// TestAGroupIsMadeOnce: the manager dies between making it and saying so.
func TestAGroupIsMadeOnce(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.apply(dev)
	s.crash()
	require.Empty(t, get(s, dev).Status.GroupID)
	s.settle()
	s.requireReconciled(dev)
	require.False(t, dev.Status.Adopted, "it was made for this object")
	require.Equal(t, 1, s.server.Writes(openzro.Call{}))
	s.delete(dev)
	s.settle()
	require.Equal(t, []string{"All"}, s.groupNames())
}

// TestADeletionAfterACrash checks that a group whose creation was never recorded is deleted,
// too.
func TestADeletionAfterACrash(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.apply(dev)
	s.crash()
	s.requireDeletion(dev)
	require.Equal(t, []string{"All"}, s.groupNames())
}

// TestWhatHasMembersIsSomebodysElse checks that a group with members is foreign, even if the
// status records a pending creation.
func TestWhatHasMembersIsSomebodysElse(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.apply(dev)
	s.crash()
	s.account.AddPeer("laptop", s.groupNamed("Developers").ID)
	s.settle()
	s.requireReason(dev, v1.ReasonDuplicateName, "openzro.io/adopt=true")
	require.Empty(t, dev.Status.GroupID)
	s.delete(dev)
	s.settle()
	require.Len(t, s.groupNamed("Developers").Peers, 1)
}

func TestALostAnswer(t *testing.T) {
	s := newSite(t)
	s.server.Fault(openzro.Call{Method: http.MethodPost}, 1, openzro.LoseAnswer())
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.requireReason(dev, v1.ReasonAPIError, "cannot be used now")
	s.look()
	s.requireReconciled(dev)
	require.False(t, dev.Status.Adopted)
	require.Equal(t, 1, s.server.Writes(openzro.Call{}))
}

// TestSomebodyWasFaster checks a name that another client takes just before the creation.
func TestSomebodyWasFaster(t *testing.T) {
	s := newSite(t)
	s.reconcile(ozgroup("a", "a"))
	_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "Developers"})
	require.NoError(t, err)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.requireReason(dev, v1.ReasonDuplicateName, "openzro.io/adopt=true")
}

// TestARenamedGroupKeepsItsMembers is Z1: writing a group sets its members, too.
func TestARenamedGroupKeepsItsMembers(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	id := get(s, dev).Status.GroupID
	s.account.AddPeer("laptop", id)
	other := s.other(s.account.Token)
	now, err := other.Groups.Read(t.Context(), id)
	require.NoError(t, err)
	_, err = other.Groups.Update(t.Context(), id, management.GroupRequest{Name: "X", Peers: []string{now.Peers[0].ID}})
	require.NoError(t, err)
	s.account.AddPeer("phone", id)
	s.look()
	s.requireReconciled(dev)
	require.Len(t, s.groupNamed("Developers").Peers, 2)
	require.Equal(t, id, dev.Status.GroupID)
}

func TestAGroupThatVanished(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	before := get(s, dev).Status.GroupID
	require.NoError(t, s.other(s.account.Token).Groups.Delete(t.Context(), before))
	s.look()
	s.requireReconciled(dev)
	require.NotEqual(t, before, dev.Status.GroupID)
	require.Equal(t, dev.Status.GroupID, s.groupNamed("Developers").ID)
	require.False(t, dev.Status.Adopted)
}

// TestALinkedGroupWaits is Z17 and Z20: the status names the items that use the group, and the
// group is released in the end.
func TestALinkedGroupWaits(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	other := s.other(s.account.Token)
	id := get(s, dev).Status.GroupID
	_, err := other.SetupKeys.Create(t.Context(), management.SetupKeyRequest{Name: "their-key", Type: "reusable", AutoGroups: []string{id}})
	require.NoError(t, err)
	s.delete(dev)
	require.NoError(t, s.once())
	s.requireReason(dev, v1.ReasonStillLinked, "their-key")
	s.clock = s.clock.Add(2 * patience)
	require.NoError(t, s.once())
	require.True(t, s.isGone(dev))
	require.Contains(t, s.reported(), "LeftBehind")
	s.groupNamed("Developers")
}

// TestWhatIsGoneAlready is Z6: a group that was already deleted blocks nothing.
func TestWhatIsGoneAlready(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	require.NoError(t, s.other(s.account.Token).Groups.Delete(t.Context(), get(s, dev).Status.GroupID))
	s.requireDeletion(dev)
}

func TestADeletionWhileTheServerIsDown(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.put("enrol", "unrelated", "y")
	s.server.Fault(openzro.Call{Method: http.MethodPost}, 0, openzro.Failure(http.StatusForbidden))
	refused := ozkey("refused", intoSecret())
	s.apply(refused)
	require.NoError(t, s.once())
	s.requireReason(refused, v1.ReasonForbidden)
	s.server.Stop()
	for _, tenant := range s.controllerSet.tenants.All() {
		tenant.Close() // a request on a connection that ends may have been carried out
	}
	group, key := ozgroup("late", "Late"), ozkey("late", v1.OZSetupKeySpec{})
	s.reconcile(group, key)
	s.restart() // drops the lists of the server
	for _, o := range []v1.Object{group, key, refused} {
		s.delete(o)
		s.settle()
		require.True(t, s.isGone(o), "nothing was made of %s", o.GetName())
	}
	require.Empty(t, get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "enrol"}}).Annotations)
	s.delete(dev)
	s.settle()
	s.requireReason(dev, v1.ReasonAPIError, "cannot be used now", "openzro.io/deletion-policy=Retain")
	require.NoError(t, s.server.Resume())
	s.look()
	require.True(t, s.isGone(dev))
	require.Equal(t, []string{"All"}, s.groupNames())
}

// TestRetained: the documented way out, which asks no server.
func TestRetained(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.server.Stop()
	dev = get(s, dev)
	dev.Annotations = map[string]string{v1.DeletionPolicyAnnotation: v1.Retain}
	require.NoError(t, s.client.Update(t.Context(), dev))
	s.requireDeletion(dev)
	require.Contains(t, s.groupNames(), "Developers")
}

func TestTheRulesAreAsked(t *testing.T) {
	s := newSite(t)
	s.denied = "no such names here"
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.requireReason(dev, v1.ReasonNotAdmitted, s.denied)
	require.Empty(t, s.server.Calls())
	require.Empty(t, dev.Finalizers)
	s.denied = ""
	s.settle()
	s.requireReconciled(dev)
}
