package openzro

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

// TestGroupsOfOneNameInOneAccount checks two namespaces that use the default key, where the
// server has each name once. The second does not get the peers of the first.
func TestGroupsOfOneNameInOneAccount(t *testing.T) {
	s := newSite(t)
	s.fallback(s.account.Token)
	first, second := in("one", ozgroup("dev", "Developers")), in("two", ozgroup("dev", "Developers"))
	s.reconcile(first)
	s.reconcile(second)
	s.requireReconciled(first)
	s.requireReason(second, v1.ReasonDuplicateName, "Developers", "another namespace", "a key to an account of its own")
	require.Empty(t, second.Status.GroupID)
	require.False(t, second.Status.Adopted)
	s.atRest()

	// One that was adopted before the other one said that it is its.
	had := get(s, second)
	had.Status.GroupID, had.Status.Adopted = get(s, first).Status.GroupID, true
	require.NoError(t, s.client.Status().Update(t.Context(), had))
	s.restart()
	s.settle()
	s.requireReason(second, v1.ReasonDuplicateName)
	require.Empty(t, second.Status.GroupID)

	s.requireDeletion(second)
	require.Equal(t, []string{"All", "Developers"}, s.groupNames())
	s.apply(in("two", ozgroup("dev", "Developers")))
	s.delete(first)
	s.settle()
	s.requireReconciled(in("two", ozgroup("dev", "")))
	s.delete(in("two", ozgroup("dev", "")))
	s.settle()
	require.Equal(t, []string{"All"}, s.groupNames(), "nothing is left behind")
}

// TestGroupsOfAnotherNamespaceAreNotNamed, whichever kind would: what the server has else may
// be.
func TestGroupsOfAnotherNamespaceAreNotNamed(t *testing.T) {
	s := newSite(t)
	s.key("other", s.account.Token)
	s.twoGroups()
	id := s.network("office")
	policy, key, resource := in("other", web(80)), in("other", ozkey("laptops", v1.OZSetupKeySpec{AutoGroups: []string{"Servers"}})), in("other", ozresource("db", id, "10.0.0.1", "Servers"))
	s.server.ForgetCalls()
	s.reconcile(policy, key, resource)
	s.requireReason(policy, v1.ReasonGroupNotFound, `"Developers", "Servers"`, "another namespace")
	s.requireReason(key, v1.ReasonGroupNotFound, `"Servers"`, "another namespace")
	s.requireReason(resource, v1.ReasonGroupNotFound, `"Servers"`, "another namespace")
	require.Zero(t, s.server.Writes(openzro.Call{}))
	all := in("other", ozkey("all", v1.OZSetupKeySpec{}))
	mine := web(80)
	s.reconcile(all, mine)
	s.requireReconciled(all, mine)
}

// TestANetworkOfAnotherNamespaceIsNotNamed: its routers would route for both.
func TestANetworkOfAnotherNamespaceIsNotNamed(t *testing.T) {
	s := newSite(t)
	s.key("other", s.account.Token)
	peer := ozpeer("router")
	s.reconcile(peer)
	s.requireReconciled(peer)
	mine, theirs := ozresource("db", peer.Status.NetworkID, "10.0.0.1", "Data"), in("other", ozresource("web", peer.Status.NetworkID, "10.0.0.2", "Web"))
	s.reconcile(mine, theirs)
	s.requireReconciled(mine)
	s.requireReason(theirs, v1.ReasonDependency, "another namespace", "status.networkID")
	require.Len(t, s.account.Resources(), 1)
	s.requireDeletion(theirs)
}

// TestAServerThatClaimsIDsOfOthers checks that a tenant with their own server blocks no group of
// others.
func TestAServerThatClaimsIDsOfOthers(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: v1.APIKeySecret}, Data: map[string][]byte{
		v1.APIKey: []byte("k"), v1.APIManagementURL: []byte("http://evil.example"),
	}}
	require.NoError(t, s.client.Create(t.Context(), secret))
	claim := in("evil", ozgroup("dev", "Developers"))
	s.apply(claim)
	claim.Status.GroupID = get(s, dev).Status.GroupID
	claim.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonReconciled, LastTransitionTime: metav1.Now()}}
	require.NoError(t, s.client.Status().Update(t.Context(), claim))
	for _, c := range s.all { // not of evil, whose server is none
		if c.of() == "OZGroup" {
			s.delete(dev)
			s.carry(c, dev)
		}
	}
	require.True(t, s.isGone(dev))
	require.Equal(t, []string{"All"}, s.groupNames())

	_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "Developers"})
	require.NoError(t, err)
	claim = get(s, claim)
	claim.Status.GroupID = s.groupNamed("Developers").ID
	require.NoError(t, s.client.Status().Update(t.Context(), claim))
	again := adopting(ozgroup("again", "Developers"))
	s.apply(again)
	s.look()
	for _, c := range s.all {
		if c.of() == "OZGroup" {
			s.carry(c, again)
		}
	}
	s.requireReconciled(again)
	require.True(t, again.Status.Adopted)
}
