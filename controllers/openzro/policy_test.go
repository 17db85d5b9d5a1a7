package openzro

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

func ozpolicy(name string, spec v1.OZPolicySpec) *v1.OZPolicy {
	if spec.Name == "" {
		spec.Name = name
	}
	return &v1.OZPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// web lets developers reach servers at some ports.
func web(ports ...int32) *v1.OZPolicy {
	return ozpolicy("web", v1.OZPolicySpec{SourceGroups: []string{"Developers"}, DestinationGroups: []string{"Servers"}, Ports: ports})
}

func (s *site) policy(name string) openzro.Policy {
	s.t.Helper()
	i := slices.IndexFunc(s.account.Policies(), func(p openzro.Policy) bool { return p.Name == name })
	require.GreaterOrEqual(s.t, i, 0, "the server has no policy %s, but %v", name, s.policyNames())
	return s.account.Policies()[i]
}

func (s *site) twoGroups() {
	s.t.Helper()
	s.reconcile(ozgroup("dev", "Developers"), ozgroup("srv", "Servers"))
}

// TestAPolicyAlone is Z4 and Z2: a policy needs no resource, and leaves nothing behind.
func TestAPolicyAlone(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	policy := web(443, 80, 443)
	policy.Spec.Description = "to the web"
	s.reconcile(policy)
	s.requireReconciled(policy)
	require.Equal(t, []string{"web TCP", "web UDP"}, s.policyNames())
	tcp := s.policy("web TCP")
	require.Equal(t, "to the web", tcp.Description)
	require.True(t, tcp.Enabled)
	rule := tcp.Rules[0]
	require.Equal(t, []string{"443", "80"}, slices.Sorted(slices.Values(rule.Ports)), "each once: Z7")
	require.Equal(t, "tcp", rule.Protocol)
	require.True(t, rule.Bidirectional)
	require.Equal(t, "Developers", rule.Sources[0].Name)
	require.Equal(t, "Servers", rule.Destinations[0].Name)
	require.Equal(t, tcp.ID, policy.Status.TCPPolicyID)
	s.atRest()
	s.look()
	require.Zero(t, s.server.Writes(openzro.Call{}))

	policy.Spec.Protocols = []v1.Protocol{v1.ProtocolUDP} // Z7: it excludes the other one
	s.reconcile(policy)
	require.Equal(t, []string{"web UDP"}, s.policyNames())
	require.Empty(t, get(s, policy).Status.TCPPolicyID)
	s.requireDeletion(policy)
	require.Empty(t, s.policyNames())
}

// TestAPolicyWaitsForItsGroups is Z5: it is never narrower than written.
func TestAPolicyWaitsForItsGroups(t *testing.T) {
	s := newSite(t)
	s.apply(ozgroup("dev", "Developers"))
	policy := web(80)
	policy.Spec.SourceGroups = []string{"Developers", "Operators"}
	s.reconcile(policy)
	s.requireReason(policy, v1.ReasonGroupNotFound, `"Operators"`)
	s.reconcile(ozgroup("op", "Operators"))
	s.requireReason(policy, v1.ReasonGroupNotFound, `"Servers"`)
	require.Empty(t, s.policyNames())
	s.reconcile(ozgroup("srv", "Servers"))
	s.requireReconciled(policy)
	require.Len(t, s.policy("web TCP").Rules[0].Sources, 2)
}

// TestAGroupIsNamedAsTheServerDoes checks that the message for an OZGroup's object name contains
// the name of its group.
func TestAGroupIsNamedAsTheServerDoes(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	s.apply(ozgroup("developers", "Developers of ours"))
	policy := web(80)
	policy.Spec.SourceGroups = []string{"developers"}
	s.reconcile(policy)
	s.requireReason(policy, v1.ReasonGroupNotFound, `the server has no group "developers" yet; OZGroup developers is "Developers of ours" at the server: name that, or make an OZGroup that has the name in spec.name`)
	policy.Spec.SourceGroups = []string{"Operators"}
	s.reconcile(policy)
	s.requireReason(policy, v1.ReasonGroupNotFound, `the server has no group "Operators" yet; make an OZGroup that has the name in spec.name`)
}

// TestAGroupThatWentMeanwhile is Z5, too: the server silently drops groups that no longer exist.
func TestAGroupThatWentMeanwhile(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	other := s.other(s.account.Token)
	require.NoError(t, other.Groups.Delete(t.Context(), s.groupNamed("Developers").ID))
	theirs, err := other.Groups.Create(t.Context(), management.GroupRequest{Name: "Visitors"})
	require.NoError(t, err)
	policy := web(80)
	policy.Spec.Protocols = []v1.Protocol{v1.ProtocolTCP}
	s.apply(policy)
	require.NoError(t, s.once())
	s.requireReason(policy, v1.ReasonGroupNotFound)
	require.Empty(t, s.policyNames())
	s.look() // which makes the group again
	s.settle()
	s.requireReconciled(policy)
	require.Len(t, s.policy("web TCP").Rules[0].Sources, 1)
	require.NotEmpty(t, theirs.ID)
}

func TestAPolicyIsMadeOnce(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	policy := web(80)
	s.apply(policy)
	s.crash()
	s.settle()
	s.requireReconciled(policy)
	require.False(t, policy.Status.Adopted)
	require.Equal(t, []string{"web TCP", "web UDP"}, s.policyNames())

	other := web(80)
	other.Name, other.Spec.Name = "api", "api"
	s.apply(other)
	s.crash()
	s.requireDeletion(other)
	require.Equal(t, []string{"web TCP", "web UDP"}, s.policyNames(), "what was never told of goes, too")
}

// TestAForeignPolicyIsUsed: it is brought to what the object says, and stays.
func TestAForeignPolicyIsUsed(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	other := s.other(s.account.Token)
	ids := []string{s.groupNamed("Developers").ID}
	theirs, err := other.Policies.Create(t.Context(), management.PolicyRequest{Name: "web TCP", Enabled: true, Rules: []management.PolicyRuleRequest{{
		Name: "web TCP", Description: "by hand", Enabled: true, Action: "accept", Protocol: "tcp", Ports: []string{"22"}, Sources: ids, Destinations: ids,
	}}})
	require.NoError(t, err)
	before := s.policy("web TCP")
	policy := adopting(web(80))
	s.apply(policy)
	s.look()
	s.settle()
	s.requireReconciled(policy)
	require.True(t, policy.Status.Adopted)
	require.Equal(t, theirs.ID, policy.Status.TCPPolicyID)
	require.Equal(t, []string{"80"}, s.policy("web TCP").Rules[0].Ports)
	require.Equal(t, "by hand", s.policy("web TCP").Rules[0].Description)
	s.atRest()
	policy.Spec.Ports = []int32{81}
	s.reconcile(policy)
	require.Len(t, s.policyNames(), 2)
	s.delete(policy)
	s.settle()
	require.Equal(t, []string{"web TCP"}, s.policyNames(), "what was made for the object goes")
	require.Equal(t, before, s.policy("web TCP"), "what was adopted is as it was")
}

// TestOneNameInTwoNamespaces: with one key, too, each has policies of its own.
func TestOneNameInTwoNamespaces(t *testing.T) {
	s := newSite(t)
	s.key("other", s.account.Token)
	for _, name := range []string{"Developers", "Servers"} {
		_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: name})
		require.NoError(t, err)
	}
	mine, yours := web(80), web(80)
	yours.Namespace = "other"
	s.reconcile(mine, yours)
	s.requireReconciled(mine, yours)
	require.False(t, mine.Status.Adopted || yours.Status.Adopted)
	require.Len(t, s.policyNames(), 4)
	s.delete(mine)
	s.settle()
	require.Len(t, s.policyNames(), 2)
	s.requireReconciled(yours)
	s.atRest()
}

// TestAPolicyThatOthersChange checks that a policy is repaired, and keeps the posture checks
// that others have added.
func TestAPolicyThatOthersChange(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	policy := web(80)
	s.reconcile(policy)
	other := s.other(s.account.Token)
	id := get(s, policy).Status.TCPPolicyID
	theirs, err := other.Policies.Read(t.Context(), id)
	require.NoError(t, err)
	rule := theirs.Rules[0]
	_, err = other.Policies.Update(t.Context(), id, management.PolicyRequest{Name: "mine", Enabled: false, Rules: []management.PolicyRuleRequest{{
		Name: rule.Name, Enabled: true, Action: "drop", Protocol: "tcp", Ports: []string{"1"},
		Sources: []string{rule.Sources[0].ID}, Destinations: []string{rule.Sources[0].ID},
	}}})
	require.NoError(t, err)
	require.NoError(t, other.Policies.Delete(t.Context(), policy.Status.UDPPolicyID))
	s.look()
	s.requireReconciled(policy)
	repaired := s.policy("web TCP")
	require.Equal(t, id, repaired.ID)
	require.True(t, repaired.Enabled)
	require.Equal(t, []string{"80"}, repaired.Rules[0].Ports)
	require.Equal(t, "accept", repaired.Rules[0].Action)
	require.NotEqual(t, "", s.policy("web UDP").ID)
	s.atRest()
}

// TestAPolicyThatReachesNothing says so, and opens nothing: it is not Ready by saying
// nothing, which is Z4.
func TestAPolicyThatReachesNothing(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	for _, spec := range []v1.OZPolicySpec{
		{SourceGroups: []string{"Developers"}, DestinationGroups: []string{"Servers"}},
		{SourceGroups: []string{"Developers"}, Ports: []int32{80}},
		{DestinationGroups: []string{"Servers"}, Ports: []int32{80}},
	} {
		policy := ozpolicy("empty", spec)
		s.reconcile(policy)
		s.requireReason(policy, v1.ReasonInvalidConfig, "nothing is reached: spec.")
		require.Empty(t, s.policyNames())
	}
}

// TestWhatResourcesAdd to the policies that they name.
func TestWhatResourcesAdd(t *testing.T) {
	resource := func(tcp, udp []int32, groups ...string) v1.OZResource {
		r := v1.OZResource{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: groups[0]}}
		r.Spec.TCPPorts, r.Spec.UDPPorts, r.Spec.Groups = tcp, udp, groups
		return r
	}
	policy := web(80)
	r := reachOf(policy, []v1.OZResource{resource([]int32{5432, 80}, nil, "DB"), resource(nil, []int32{53, 0}, "DNS", "Servers")})
	require.Equal(t, []string{"Servers", "DB", "DNS", "Servers"}, r.destinations)
	require.Equal(t, map[v1.Protocol][]string{v1.ProtocolTCP: {"80", "5432"}, v1.ProtocolUDP: {"53", "80"}}, r.ports)
	require.Equal(t, []string{"team/DB", "team/DNS"}, r.resources)
	require.Equal(t, []string{"Servers"}, policy.Spec.DestinationGroups)
	policy.Spec.Protocols = []v1.Protocol{v1.ProtocolTCP}
	require.Empty(t, reachOf(policy, []v1.OZResource{resource(nil, []int32{53}, "DNS")}).ports[v1.ProtocolUDP])
}

// TestRulesThatOthersAdd checks that added rules are removed, although the server keeps rules
// that an update does not contain.
func TestRulesThatOthersAdd(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	policy := web(80)
	s.reconcile(policy)
	other := s.other(s.account.Token)
	theirs, err := other.Policies.Read(t.Context(), get(s, policy).Status.TCPPolicyID)
	require.NoError(t, err)
	ids := []string{s.groupNamed("Developers").ID}
	rule := management.PolicyRuleRequest{
		ID: theirs.Rules[0].ID, Name: "web TCP", Description: theirs.Rules[0].Description, Enabled: true, Action: "accept", Bidirectional: true, Protocol: "tcp",
		Ports: []string{"80"}, Sources: ids, Destinations: []string{s.groupNamed("Servers").ID},
	}
	open := rule
	open.ID, open.Name, open.Description, open.Ports = "theirs", "open", "", []string{"22"}
	_, err = other.Policies.Update(t.Context(), theirs.ID, management.PolicyRequest{Name: "web TCP", Enabled: true, Rules: []management.PolicyRuleRequest{rule, open}})
	require.NoError(t, err)
	require.Len(t, s.policy("web TCP").Rules, 2)
	s.look()
	s.settle()
	s.requireReconciled(policy)
	require.Len(t, s.policy("web TCP").Rules, 1)
	require.Equal(t, []string{"80"}, s.policy("web TCP").Rules[0].Ports)
	s.atRest()
}

// TestWhatComesInAMoment checks that a group that is being created is not reported as missing:
// the status is written once.
func TestWhatComesInAMoment(t *testing.T) {
	s := newSite(t)
	policy := web(80)
	s.apply(policy, ozgroup("dev", "Developers"), ozgroup("srv", "Servers"))
	_, err := s.all[1].Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(policy)})
	require.NoError(t, err)
	require.Empty(t, get(s, policy).Status.Conditions)
	s.settle()
	s.requireReconciled(policy)
	require.EqualValues(t, 2*2+1, s.statuses.Load())
	require.Empty(t, s.reported())
}

// byHand creates a policy outside Lintel.
func (s *site) byHand(name, description string, ports ...string) (id string) {
	s.t.Helper()
	ids := []string{s.groupNamed("Developers").ID}
	protocol := "tcp"
	if strings.HasSuffix(name, "UDP") {
		protocol = "udp"
	}
	theirs, err := s.other(s.account.Token).Policies.Create(s.t.Context(), management.PolicyRequest{Name: name, Enabled: true, Rules: []management.PolicyRuleRequest{{
		Name: name, Description: description, Enabled: true, Action: "accept", Protocol: protocol, Ports: ports, Sources: ids, Destinations: ids,
	}}})
	require.NoError(s.t, err)
	return theirs.ID
}

// TestAFailureMakesNothingOurs checks that a foreign policy stays foreign after a failed write
// of the other one of the two.
func TestAFailureMakesNothingOurs(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	theirs := s.byHand("web UDP", "by hand", "80")
	s.look()
	policy := adopting(web(80))
	s.reconcile(policy)
	require.True(t, get(s, policy).Status.Adopted)
	s.server.Fault(openzro.Call{Method: http.MethodPut}, 1, openzro.Failure(http.StatusInternalServerError))
	policy.Spec.Ports = []int32{81}
	s.apply(policy)
	require.NoError(t, s.once())
	s.requireReason(policy, v1.ReasonAPIError)
	s.requireDeletion(policy)
	require.Equal(t, []string{"web UDP"}, s.policyNames())
	require.Equal(t, theirs, s.policy("web UDP").ID)
}

// TestWhatIsTakenBackWaitsForNothing: not even for a group that is not there.
func TestWhatIsTakenBackWaitsForNothing(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	policy := web(80)
	s.reconcile(policy)
	policy.Spec.SourceGroups, policy.Spec.Ports = []string{"Developers", "Servers"}, []int32{80, 81}
	s.reconcile(policy)
	policy.Spec.SourceGroups, policy.Spec.Ports, policy.Spec.Protocols = []string{"Developers", "Missing"}, []int32{80, 82}, []v1.Protocol{v1.ProtocolTCP}
	s.reconcile(policy)
	s.requireReason(policy, v1.ReasonGroupNotFound, "Missing")
	require.Equal(t, []string{"web TCP"}, s.policyNames())
	rule := s.policy("web TCP").Rules[0]
	require.Equal(t, []string{"80"}, rule.Ports)
	require.Len(t, rule.Sources, 1)
	require.Equal(t, "Developers", rule.Sources[0].Name)
	s.atRest()
	policy.Spec.SourceGroups = []string{"Missing"}
	s.reconcile(policy)
	require.Empty(t, s.policyNames())
	policy.Spec.SourceGroups = []string{"Developers"}
	s.reconcile(policy)
	require.Equal(t, []string{"web TCP"}, s.policyNames())
	policy.Spec.SourceGroups = nil
	s.reconcile(policy)
	s.requireReason(policy, v1.ReasonInvalidConfig, "spec.sourceGroups")
	require.Empty(t, s.policyNames())
}

// TestAPolicyIsThereOnce checks that no duplicate stays, even where a server returned empty
// lists for a while.
func TestAPolicyIsThereOnce(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	policy := web(80)
	s.reconcile(policy)
	s.byHand("web TCP", recordOf("OZPolicy", get(s, policy)), "22")
	s.look()
	s.settle()
	s.requireReconciled(policy)
	require.Equal(t, []string{"web TCP", "web UDP"}, s.policyNames())
	require.Equal(t, []string{"80"}, s.policy("web TCP").Rules[0].Ports)
	s.byHand("web TCP", recordOf("OZPolicy", policy), "22")
	s.restart()
	s.delete(policy)
	s.settle()
	require.Empty(t, s.policyNames(), "nothing stays open")
}

// TestAServerThatWritesAnotherPolicy checks that the response is compared with the request.
func TestAServerThatWritesAnotherPolicy(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	wider := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		text, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(text, []byte(`"80"`), []byte(`"22"`))))
		next.ServeHTTP(w, r)
	}
	end := s.server.Fault(openzro.Call{Method: http.MethodPost}, 0, wider)
	policy := web(80)
	s.apply(policy)
	require.NoError(t, s.once())
	s.requireReason(policy, v1.ReasonAPIError, "web TCP", "otherwise")
	require.Empty(t, s.policyNames())
	end()
	s.settle()
	s.requireReconciled(policy)
	s.server.Fault(openzro.Call{Method: http.MethodPut}, 1, wider)
	policy.Spec.Description = "to the web"
	s.apply(policy)
	require.NoError(t, s.once())
	s.requireReason(policy, v1.ReasonAPIError, "otherwise")
	s.settle()
	s.requireReconciled(policy)
	require.Equal(t, []string{"80"}, s.policy("web TCP").Rules[0].Ports)
}

// TestAGroupOfTheSameName checks that a renamed foreign group does not replace the one that an
// OZGroup has created.
func TestAGroupOfTheSameName(t *testing.T) {
	for range 3 { // IDs are random, and the first would be chosen
		s := newSite(t)
		s.twoGroups()
		other, ours := s.other(s.account.Token), s.groupNamed("Developers").ID
		for range 5 {
			visitors, err := other.Groups.Create(t.Context(), management.GroupRequest{Name: "Visitors"})
			require.NoError(t, err)
			_, err = other.Groups.Update(t.Context(), visitors.ID, management.GroupRequest{Name: "Developers"})
			require.NoError(t, err)
		}
		s.look()
		policy, enrol := web(80), ozkey("laptops", v1.OZSetupKeySpec{AutoGroups: []string{"Developers"}})
		s.reconcile(policy, enrol)
		s.requireReconciled(policy, enrol)
		require.Equal(t, ours, s.policy("web TCP").Rules[0].Sources[0].ID)
		require.Equal(t, []string{ours}, s.account.SetupKeys()[0].AutoGroups)
	}
}
