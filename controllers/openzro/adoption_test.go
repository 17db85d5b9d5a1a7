package openzro

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

// adopting annotates an object to adopt what the server has under its name.
func adopting[T v1.Object](of T) T {
	of.SetAnnotations(map[string]string{v1.AdoptAnnotation: "true"})
	return of
}

// administrator creates a group, a policy, a network, a resource and a router in the
// dashboard, under names that objects of the tests have.
func (s *site) administrator() (network string) {
	s.t.Helper()
	other := s.other(s.account.Token)
	made := func(_ any, err error) { s.t.Helper(); require.NoError(s.t, err) }
	network = s.network("kind-team")
	for _, name := range []string{"Developers", "Servers", "kind-team-router"} {
		made(other.Groups.Create(s.t.Context(), management.GroupRequest{Name: name}))
	}
	made(other.Policies.Create(s.t.Context(), management.PolicyRequest{Name: "web TCP", Enabled: true, Description: "by hand", Rules: []management.PolicyRuleRequest{{
		Name: "to the servers", Enabled: true, Action: "drop", Protocol: "tcp", PortRanges: []management.PortRange{{Start: 20, End: 29}},
		Sources: []string{s.groupNamed("Servers").ID}, Destinations: []string{s.groupNamed("Developers").ID},
	}}}))
	made(other.Resources(network).Create(s.t.Context(), management.ResourceRequest{Name: "db", Address: "10.9.9.9", Enabled: true, Groups: []string{s.groupNamed("Servers").ID}}))
	made(other.Routers(network).Create(s.t.Context(), management.RouterRequest{Enabled: true, Metric: 7, PeerGroups: []string{s.groupNamed("kind-team-router").ID}}))
	s.server.ForgetCalls()
	return network
}

// state is all that an account has, but for its settings.
func (s *site) state() []any {
	return []any{s.account.Groups(), s.account.Policies(), s.account.Networks(), s.account.Resources(), s.account.Routers(), s.account.SetupKeys()}
}

// TestNamesOfTheDashboardAreRefused by default, for every kind, and nothing is written. With
// the annotation they are adopted, and its removal restores all of them.
func TestNamesOfTheDashboardAreRefused(t *testing.T) {
	s := newSite(t)
	network := s.administrator()
	before := s.state()
	objects := []v1.Object{
		ozgroup("dev", "Developers"), web(80), ozresource("db", network, "10.0.0.1", "Servers"), ozpeer("router"),
	}
	for _, o := range objects {
		s.apply(o)
	}
	s.settle()
	for _, o := range objects {
		s.requireReason(o, v1.ReasonDuplicateName, "annotate this object with openzro.io/adopt=true")
	}
	require.Equal(t, before, s.state())
	require.Zero(t, s.server.Writes(openzro.Call{}))

	s.annotate(objects, map[string]string{v1.AdoptAnnotation: "true"})
	s.settle()
	s.requireReconciled(objects...)
	events := s.reported()
	for _, kind := range []string{kindGroup, kindNetwork, kindPolicy, kindResource, kindRouter} {
		require.Contains(t, events, "Adopted adopted the "+kind)
	}
	require.Equal(t, []string{"80"}, s.policy("web TCP").Rules[0].Ports)
	require.Equal(t, 9999, s.account.Routers()[0].Metric)
	require.Len(t, get(s, ozpeer("router")).Status.Adoptions, 2)
	s.atRest()

	s.annotate(objects, nil)
	s.settle()
	for _, o := range objects {
		s.requireReason(o, v1.ReasonDuplicateName)
		require.False(t, o.CommonStatus().Adopted)
		require.Empty(t, o.CommonStatus().Adoptions)
	}
	require.Contains(t, s.reported(), `Released released the policy "web TCP"`)
	require.Equal(t, before[1], []openzro.Policy{s.policy("web TCP")})
	require.Equal(t, before[3:5], s.state()[3:5])
	for _, o := range objects[:3] {
		s.delete(o)
	}
	s.deleteWithChildren(in(team, ozpeer("router")))
	require.Equal(t, before, s.state())
}

func (s *site) annotate(objects []v1.Object, annotations map[string]string) {
	s.t.Helper()
	for _, o := range objects {
		o = get(s, o)
		o.SetAnnotations(annotations)
		require.NoError(s.t, s.client.Update(s.t.Context(), o))
	}
}

// TestTheFormerStateSurvivesACrash between storing it and writing the policy, and after.
func TestTheFormerStateSurvivesACrash(t *testing.T) {
	s := newSite(t)
	s.administrator()
	before := s.policy("web TCP")
	policy := adopting(web(80))
	s.server.Fault(openzro.Call{Method: http.MethodPut}, 1, openzro.LoseAnswer())
	s.apply(policy)
	require.NoError(t, s.once())
	s.restart()
	s.settle()
	s.requireReconciled(policy)
	require.Equal(t, []string{"80"}, s.policy("web TCP").Rules[0].Ports)
	s.restart()
	s.requireDeletion(policy)
	require.Equal(t, before, s.policy("web TCP"))
	require.Equal(t, []string{"web TCP"}, s.policyNames())
}

// TestAFormerStateThatCannotBeRestored: the policy is disabled, and opens nothing.
func TestAFormerStateThatCannotBeRestored(t *testing.T) {
	for name, change := range map[string]func(s *site, p *v1.OZPolicy){
		"a group is gone": func(s *site, p *v1.OZPolicy) {
			p.Status.Adoptions[0].Former = strings.ReplaceAll(p.Status.Adoptions[0].Former, s.groupNamed("Servers").ID, "gone")
		},
		"adopted by an earlier version": func(_ *site, p *v1.OZPolicy) { p.Status.Adoptions = nil; p.Annotations = nil },
		"a status that is no JSON":      func(_ *site, p *v1.OZPolicy) { p.Status.Adoptions[0].Former = "{" },
		"the server refuses it": func(_ *site, p *v1.OZPolicy) {
			p.Status.Adoptions[0].Former = strings.ReplaceAll(p.Status.Adoptions[0].Former, "drop", "no action")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.administrator()
			policy := adopting(web(80))
			s.reconcile(policy)
			s.requireReconciled(policy)
			change(s, policy)
			status := policy.Status
			require.NoError(t, s.client.Update(t.Context(), policy))
			policy.Status = status
			require.NoError(t, s.client.Status().Update(t.Context(), policy))
			s.settle()
			s.requireReconciled(policy)
			s.requireDeletion(policy)
			require.Equal(t, []string{"web TCP"}, s.policyNames())
			require.False(t, s.policy("web TCP").Enabled)
			require.Contains(t, s.reported(), "it is disabled, because")
		})
	}
}

// TestAPolicyOfSeveralRulesIsNotAdopted: the others would stay in force.
func TestAPolicyOfSeveralRulesIsNotAdopted(t *testing.T) {
	s := newSite(t)
	s.administrator()
	other, have := s.other(s.account.Token), s.policy("web TCP")
	request := management.PolicyRequest{Name: have.Name, Enabled: true, Rules: []management.PolicyRuleRequest{{
		ID: "second", Name: "second", Enabled: true, Action: "accept", Protocol: "all",
		Sources: []string{s.groupNamed("Servers").ID}, Destinations: []string{s.groupNamed("Developers").ID},
	}}}
	_, err := other.Policies.Update(t.Context(), have.ID, request)
	require.NoError(t, err)
	before := s.policy("web TCP")
	require.Len(t, before.Rules, 2)
	policy := adopting(web(80))
	s.reconcile(policy)
	s.requireReason(policy, v1.ReasonDuplicateName, "it has 2 rules")
	require.Equal(t, before, s.policy("web TCP"))
	require.False(t, slices.Contains(s.policyNames(), "web UDP"), "both, or none")
}
