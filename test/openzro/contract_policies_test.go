package openzro

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func size(g Group) GroupSize { return GroupSize{ID: g.ID, Name: g.Name} }

func TestPolicies(t *testing.T) {
	from, to := makeGroup(t), makeGroup(t)
	name := unique("policy")
	body := policyOf(name, accept([]string{from.ID}, []string{to.ID}).with("description", "of the rule")).with("description", "of the policy")
	policy := create[Policy](t, "policies", body)
	require.Equal(t, Policy{ID: policy.ID, Name: name, Description: "of the policy", Enabled: true, Rules: []Rule{{
		ID: policy.ID, Name: "rule", Description: "of the rule", Enabled: true, Action: "accept", Bidirectional: true, Protocol: "tcp", Ports: []string{"443"},
		Sources: []GroupSize{size(from)}, Destinations: []GroupSize{size(to)},
	}}}, policy, "the rule has the policy's ID")
	require.Equal(t, policy, get[Policy](t, "policies/"+policy.ID))
	require.Contains(t, get[[]Policy](t, "policies"), policy)
	twin := create[Policy](t, "policies", body)
	require.NotEqual(t, policy.ID, twin.ID, "names need not be unique")

	changed := ask[Policy](t, http.MethodPut, "policies/"+policy.ID, policyOf(name, accept([]string{to.ID}, []string{from.ID}).without("ports").with("protocol", "icmp")))
	require.Equal(t, []GroupSize{size(to)}, changed.Rules[0].Sources)
	require.Empty(t, changed.Description, "what is left out is emptied")
	require.Empty(t, changed.Rules[0].Ports)
	require.Equal(t, changed, get[Policy](t, "policies/"+policy.ID))
}

// TestUnknownGroupsAreDropped, so that a policy can be narrower than it is written:
// defect Z5 of the original.
func TestUnknownGroupsAreDropped(t *testing.T) {
	group := makeGroup(t)
	policy := create[Policy](t, "policies", policyOf(unique("policy"), accept([]string{unknown, group.ID, ""}, []string{unknown})))
	require.Equal(t, []GroupSize{size(group)}, policy.Rules[0].Sources)
	require.Empty(t, policy.Rules[0].Destinations)
	require.Equal(t, policy, get[Policy](t, "policies/"+policy.ID))
}

// TestAGroupIsShownAsASourceOnce in all a policy, and as a destination as often as named.
func TestAGroupIsShownAsASourceOnce(t *testing.T) {
	group := makeGroup(t)
	policy := create[Policy](t, "policies", policyOf(unique("policy"), accept([]string{group.ID, group.ID}, []string{group.ID, group.ID})))
	require.Len(t, policy.Rules[0].Sources, 1)
	require.Len(t, policy.Rules[0].Destinations, 2)
}

// TestOfRulesWithoutIDsOneIsKept: all get the policy's ID. The answer to the creation has
// them all.
func TestOfRulesWithoutIDsOneIsKept(t *testing.T) {
	group := makeGroup(t)
	first := accept([]string{group.ID}, []string{group.ID}).with("name", "first")
	policy := create[Policy](t, "policies", policyOf(unique("policy"), first, first.with("name", "second")))
	require.Len(t, policy.Rules, 2)
	kept := get[Policy](t, "policies/"+policy.ID)
	require.Len(t, kept.Rules, 1)
	require.Equal(t, "first", kept.Rules[0].Name)
}

// TestRulesAreReplacedByTheirIDs: one that a write does not name stays.
func TestRulesAreReplacedByTheirIDs(t *testing.T) {
	group := makeGroup(t)
	first := accept([]string{group.ID}, []string{group.ID}).with("name", "first")
	policy := create[Policy](t, "policies", policyOf(unique("policy"), first.with("id", "ignored")))
	require.Equal(t, policy.ID, policy.Rules[0].ID, "a creation gives the ID")
	path := "policies/" + policy.ID
	own := unique("rule")
	ask[Policy](t, http.MethodPut, path, policyOf(policy.Name, first.with("id", own).with("name", "second")))
	names := map[string]string{}
	for _, rule := range get[Policy](t, path).Rules {
		names[rule.ID] = rule.Name
	}
	require.Equal(t, map[string]string{policy.ID: "first", own: "second"}, names)
	ask[Policy](t, http.MethodPut, path, policyOf(policy.Name, first.with("name", "third")))
	for _, rule := range get[Policy](t, path).Rules {
		names[rule.ID] = rule.Name
	}
	require.Equal(t, map[string]string{policy.ID: "third", own: "second"}, names, "without an ID it is the policy's own")
}

func TestPoliciesThatAreRefused(t *testing.T) {
	group := makeGroup(t)
	good := accept([]string{group.ID}, []string{group.ID})
	host := Link{unknown, "host"}
	for what, wrong := range map[string]fields{
		"no name":                     policyOf("", good),
		"no rules":                    policyOf("p"),
		"no sources":                  policyOf("p", good.without("sources")),
		"no destinations":             policyOf("p", good.without("destinations")),
		"sources twice":               policyOf("p", good.with("sourceResource", host)),
		"destinations twice":          policyOf("p", good.with("destinationResource", host)),
		"no action":                   policyOf("p", good.without("action")),
		"an unknown action":           policyOf("p", good.with("action", "reject")),
		"no protocol":                 policyOf("p", good.without("protocol")),
		"an unknown protocol":         policyOf("p", good.with("protocol", "sctp")),
		"upper case":                  policyOf("p", good.with("protocol", "TCP")),
		"port 0":                      policyOf("p", good.with("ports", []string{"0"})),
		"port 65536":                  policyOf("p", good.with("ports", []string{"65536"})),
		"a port that is no number":    policyOf("p", good.with("ports", []string{"https"})),
		"a range in a port":           policyOf("p", good.with("ports", []string{"80-90"})),
		"ports and ranges":            policyOf("p", good.with("port_ranges", []PortRange{{1, 2}})),
		"a range from 0":              policyOf("p", good.without("ports").with("port_ranges", []PortRange{{0, 2}})),
		"a range to 65536":            policyOf("p", good.without("ports").with("port_ranges", []PortRange{{1, 65536}})),
		"ports of all":                policyOf("p", good.with("protocol", "all")),
		"ports of icmp":               policyOf("p", good.with("protocol", "icmp")),
		"ranges of all":               policyOf("p", good.with("protocol", "all").without("ports").with("port_ranges", []PortRange{{1, 2}})),
		"one good rule and one wrong": policyOf("p", good, good.with("action", "")),
	} {
		t.Run(what, func(t *testing.T) {
			refused(t, http.StatusUnprocessableEntity, http.MethodPost, "policies", wrong)
		})
	}
}

// TestPoliciesThatAreNotRefused, though one might think so.
func TestPoliciesThatAreNotRefused(t *testing.T) {
	group := makeGroup(t)
	good := accept([]string{group.ID}, []string{group.ID})
	for what, rule := range map[string]fields{
		"no groups":              good.with("sources", []string{}).with("destinations", []string{}),
		"no ports":               good.without("ports"),
		"a port twice":           good.with("ports", []string{"80", "80"}),
		"a port with a zero":     good.with("ports", []string{"080"}),
		"a range that is upside": good.without("ports").with("port_ranges", []PortRange{{9, 2}}),
		"a resource":             good.without("destinations").with("destinationResource", Link{unknown, "host"}),
		"no name of the rule":    good.with("name", ""),
		"all without ports":      good.with("protocol", "all").without("ports"),
	} {
		t.Run(what, func(t *testing.T) {
			policy := create[Policy](t, "policies", policyOf(unique("policy"), rule))
			require.Equal(t, policy, get[Policy](t, "policies/"+policy.ID))
			if ports, ok := rule["ports"].([]string); ok {
				require.Equal(t, ports, policy.Rules[0].Ports, "as they were written")
			}
			require.Equal(t, rule["destinationResource"] != nil, policy.Rules[0].DestinationResource != nil)
		})
	}
}
