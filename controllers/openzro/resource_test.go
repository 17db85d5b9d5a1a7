package openzro

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

// network creates a foreign network at the server.
func (s *site) network(name string) (id string) {
	s.t.Helper()
	made, err := s.other(s.account.Token).Networks.Create(s.t.Context(), management.NetworkRequest{Name: name})
	require.NoError(s.t, err)
	return made.ID
}

func ozresource(name, network, address string, groups ...string) *v1.OZResource {
	return &v1.OZResource{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.OZResourceSpec{Name: name, NetworkID: network, Address: address, Groups: groups}}
}

// TestAResource is Z14: the server gives a host as a subnet, and it is not written again.
func TestAResource(t *testing.T) {
	s := newSite(t)
	id := s.network("office")
	s.server.ForgetCalls()
	host := ozresource("db", id, "10.0.0.1", "Data Bases")
	s.reconcile(host, ozresource("net", id, "10.1.0.0/16", "Data Bases"), ozresource("site", id, "*.example.com", "Data Bases", "Servers"))
	s.requireReconciled(host)
	require.Len(t, s.account.Resources(), 3)
	require.Equal(t, 3+2, s.server.Writes(openzro.Call{}), "each once, and the groups")
	require.Equal(t, "10.0.0.1/32", s.account.Resources()[0].Address)
	require.Len(t, s.groupNamed("Data Bases").Resources, 3)
	require.Equal(t, "Data Bases", get(s, ozgroup("data-bases", "")).Spec.Name)
	s.atRest()
	s.look()
	require.Zero(t, s.server.Writes(openzro.Call{}))

	host.Spec.Address = "10.0.0.2"
	s.reconcile(host)
	require.Equal(t, 1, s.server.Writes(openzro.Call{}))
	s.requireDeletion(host)
	require.Len(t, s.account.Resources(), 2)
	require.Len(t, get(s, ozgroup("data-bases", "")).OwnerReferences, 3, "which go one by one")
}

func TestAResourceIsMadeOnce(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	host := ozresource("db", s.network("office"), "10.0.0.1", "Servers")
	s.look()
	s.apply(host)
	s.crash()
	s.settle()
	s.requireReconciled(host)
	require.False(t, host.Status.Adopted)
	require.Len(t, s.account.Resources(), 1)
	s.delete(host)
	s.settle()
	require.Empty(t, s.account.Resources())
}

// TestAForeignResourceIsUsed, and stays.
func TestAForeignResourceIsUsed(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	id := s.network("office")
	_, err := s.other(s.account.Token).Resources(id).Create(t.Context(), management.ResourceRequest{Name: "db", Description: "mine", Address: "10.0.0.9", Groups: []string{s.groupNamed("Servers").ID}})
	require.NoError(t, err)
	s.look()
	before := s.account.Resources()
	host := adopting(ozresource("db", id, "10.0.0.1", "Servers"))
	s.reconcile(host)
	s.requireReconciled(host)
	require.True(t, host.Status.Adopted)
	require.Equal(t, "mine", s.account.Resources()[0].Description)
	require.Equal(t, "10.0.0.1/32", s.account.Resources()[0].Address)
	s.delete(host)
	s.settle()
	require.Equal(t, before, s.account.Resources())
}

// TestANameThatIsTaken in another network: names are unique in an account.
func TestANameThatIsTaken(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	first, second := s.network("office"), s.network("lab")
	s.look()
	one, two := ozresource("db", first, "10.0.0.1", "Servers"), ozresource("two", second, "10.0.0.2", "Servers")
	two.Spec.Name = "db"
	s.reconcile(one)
	s.apply(two)
	require.NoError(t, s.once())
	s.requireReconciled(one)
	s.requireReason(two, v1.ReasonDuplicateName, "another item at the server has this name")
}

func TestANetworkThatIsNotThere(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	host := ozresource("db", "nowhere", "10.0.0.1", "Servers")
	s.reconcile(host)
	s.requireReason(host, v1.ReasonDependency, `no network with the ID "nowhere"`)
	s.requireDeletion(host)

	id := s.network("office")
	s.look()
	host = ozresource("db", id, "10.0.0.1", "Servers")
	s.reconcile(host)
	s.requireReconciled(host)
	require.NoError(t, s.other(s.account.Token).Networks.Delete(t.Context(), id))
	s.look()
	s.look() // it was the only one, which another list confirms
	s.requireReason(host, v1.ReasonDependency, "no network")
	s.requireDeletion(host)
}

// TestAResourceOpensItsPolicies is Z14: the policies open with a resource, and close after its
// deletion.
func TestAResourceOpensItsPolicies(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	host := ozresource("db", s.network("office"), "10.0.0.1", "Data Bases")
	s.look()
	host.Spec.PolicyName, host.Spec.TCPPorts = "web, none", []int32{5432}
	policy := web(80)
	policy.Spec.Protocols = []v1.Protocol{v1.ProtocolTCP}
	s.reconcile(policy, host)
	s.requireReason(host, v1.ReasonDependency, `no OZPolicy "none"`)
	s.requireReconciled(policy)
	rule := s.policy("web TCP").Rules[0]
	require.ElementsMatch(t, []string{"80", "5432"}, rule.Ports)
	require.Len(t, rule.Destinations, 2)
	require.Equal(t, []string{"team/db"}, policy.Status.ManagedServiceList)
	host.Spec.PolicyName = "web"
	s.reconcile(host)
	s.requireReconciled(host)
	require.Equal(t, map[string]string{"web": "web"}, host.Status.PolicyNameMapping)
	s.atRest()
	s.delete(host)
	s.settle()
	require.Equal(t, []string{"80"}, s.policy("web TCP").Rules[0].Ports)
	require.Len(t, s.policy("web TCP").Rules[0].Destinations, 1)
}

func TestAddressesAsTheServerHasThem(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1": "10.0.0.1/32", "10.0.0.1/32": "10.0.0.1/32", "10.0.0.7/24": "10.0.0.7/24", "fd00::1": "fd00::1/128",
		"FD00:0::1": "fd00::1/128", "db.example.com": "db.example.com", "x": "x",
	} {
		require.Equal(t, want, normalAddress(text), text)
	}
}

func TestNamesOfGeneratedGroups(t *testing.T) {
	of := ozresource("db", "n", "a")
	require.Equal(t, "data-bases", generatedGroup(of, "Data  Bases", nil).Name)
	require.Regexp(t, `^data-[0-9a-f]{8}$`, generatedGroup(of, "data", map[string]bool{"data": true}).Name)
	require.Regexp(t, `^[0-9a-f]{8}$`, generatedGroup(of, "世界", nil).Name)
}

// TestAServerThatWritesAnotherResource checks that the response is compared with the request.
func TestAServerThatWritesAnotherResource(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	host := ozresource("db", s.network("office"), "10.0.0.1", "Servers")
	s.look()
	s.server.Fault(openzro.Call{Method: http.MethodPost}, 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		text, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(text, []byte("10.0.0.1"), []byte("10.0.0.0/8"))))
		next.ServeHTTP(w, r)
	})
	s.apply(host)
	require.NoError(t, s.once())
	s.requireReason(host, v1.ReasonAPIError, "db", "otherwise")
	s.settle()
	s.requireReconciled(host)
	require.Equal(t, "10.0.0.1/32", s.account.Resources()[0].Address)
}

// TestNamesOfGroupsThatAreAlike checks that an OZGroup is created for each name, and that an
// object whose name is in use reports it and does not retry in a loop.
func TestNamesOfGroupsThatAreAlike(t *testing.T) {
	s := newSite(t)
	host := ozresource("db", s.network("office"), "10.0.0.1", "Data Bases", "data bases")
	s.look()
	s.reconcile(host)
	s.requireReconciled(host)
	require.Len(t, s.account.Resources()[0].Groups, 2)

	digest := generatedGroup(host, "DATA BASES", map[string]bool{"data-bases": true}).Name
	s.apply(ozgroup(digest, "something else"))
	host.Spec.Groups = []string{"DATA BASES"}
	s.reconcile(host)
	s.requireReason(host, v1.ReasonDuplicateName, `"DATA BASES"`, digest)
}
