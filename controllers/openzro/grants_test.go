package openzro

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

// TestAutoGroupsNeedAGrant in an account that namespaces share: by the default key, or by keys
// of their own. Groups that the namespace created need none.
func TestAutoGroupsNeedAGrant(t *testing.T) {
	for name, share := range map[string]func(s *site){
		"by the default key": func(s *site) { s.fallback(s.account.Token) },
		"by tokens of one account": func(s *site) {
			s.key("any", s.account.AddToken(openzro.RoleAdmin, true))
			s.reconcile(in("any", ozgroup("any", "Any")))
		},
		"by one token": func(s *site) {
			s.key("any", s.account.Token)
			s.reconcile(in("any", ozgroup("any", "Any")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "Admins"})
			require.NoError(t, err)
			share(s)
			key := in("any", ozkey("laptops", v1.OZSetupKeySpec{AutoGroups: []string{"Admins", "Own"}}))
			s.apply(in("any", ozgroup("own", "Own")), key)
			s.reconcile(ozgroup("team", "Team"))
			s.requireReason(key, v1.ReasonNotGranted, `no grant for the group "Admins"`, `--openzro-auto-groups="any=Admins"`)
			require.Empty(t, s.account.SetupKeys())

			s.options.autoGroups = []string{"other=*", "an?=Admin*"}
			s.restart()
			s.settle()
			s.requireReconciled(key)
			require.Len(t, s.account.SetupKeys(), 1)
			require.Len(t, s.account.SetupKeys()[0].AutoGroups, 2)
		})
	}
}

// TestAutoGroupsOfAnAccountOfOneNamespace need no grant.
func TestAutoGroupsOfAnAccountOfOneNamespace(t *testing.T) {
	s := newSite(t)
	_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "Admins"})
	require.NoError(t, err)
	s.key("any", s.server.AddAccount("umbrella").Token)
	key := ozkey("laptops", v1.OZSetupKeySpec{AutoGroups: []string{"Admins"}})
	s.reconcile(key, in("any", ozgroup("any", "Any")))
	s.requireReconciled(key)
}

// TestAdoptionsNeedAGrant checks each kind of item in an account that namespaces share, also
// right after a restart, when the other namespace's key has not been used yet. Without the
// grant, nothing is written. Items that were already adopted stay adopted.
func TestAdoptionsNeedAGrant(t *testing.T) {
	s := newSite(t)
	network := s.administrator()
	s.key("any", s.account.AddToken(openzro.RoleAdmin, true))
	s.reconcile(in("any", ozgroup("any", "Any")))
	s.restart()
	s.server.ForgetCalls()
	before := s.state()
	objects := []v1.Object{
		adopting(ozgroup("dev", "Developers")), adopting(web(80)), adopting(ozresource("db", network, "10.0.0.1", "Servers")), adopting(ozpeer("router")),
	}
	for _, o := range objects {
		o.SetNamespace(team)
		s.apply(o)
		for _, c := range s.all {
			if c.of() == kindOf(o) {
				s.carry(c, o) // first of all after the restart
			}
		}
		s.requireReason(o, v1.ReasonNotGranted, "metadata.annotations[openzro.io/adopt]", `--openzro-adoptions="team=`)
		require.False(t, o.CommonStatus().Adopted)
		require.Empty(t, o.CommonStatus().Adoptions)
	}
	require.Equal(t, before, s.state())
	require.Zero(t, s.server.Writes(openzro.Call{}))

	s.options.adoptions = []string{"team=Developers", "te*=web *", "team=db", "team=kind-team*", "any=*"}
	s.restart()
	s.settle()
	s.requireReconciled(objects...)
	s.options.adoptions = nil
	s.restart()
	s.settle()
	s.requireReconciled(objects...)
}

// TestARoutingPeerNeedsNoGrant for its own group, also where it has adopted it.
func TestARoutingPeerNeedsNoGrant(t *testing.T) {
	s := newSite(t)
	s.fallback(s.account.Token)
	_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "kind-any-old"})
	require.NoError(t, err)
	s.options.adoptions = []string{"any=kind-any-*"}
	s.restart()
	old, fresh := in("any", adopting(ozpeer("old"))), in("any", ozpeer("fresh"))
	s.reconcile(old, fresh)
	s.requireReconciled(old, fresh)
}

// TestForgedOwnersNeedAGrant: any user who creates objects can set their owner references. A setup key
// with the name and the owner of an OZRoutingPeer that does not exist gets no adopted group.
func TestForgedOwnersNeedAGrant(t *testing.T) {
	s := newSite(t)
	s.fallback(s.account.Token)
	_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "Admins"})
	require.NoError(t, err)
	s.options.adoptions = []string{"any=Admins"}
	s.restart()
	owner := controllerReference(&v1.OZRoutingPeer{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "forged"}}, "OZRoutingPeer")
	group := in("any", adopting(ozgroup("routingpeer-x", "Admins")))
	key := in("any", ozkey("routingpeer-x", v1.OZSetupKeySpec{AutoGroups: []string{"Admins"}}))
	group.SetOwnerReferences([]metav1.OwnerReference{owner})
	key.SetOwnerReferences([]metav1.OwnerReference{owner})
	s.reconcile(group, key)
	s.requireReason(key, v1.ReasonNotGranted, `no grant for the group "Admins"`)
	require.Empty(t, s.account.SetupKeys())
}
