package openclaw

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/openclaw/restriction"
	"github.com/lintel-policy/lintel/test/reviews"
)

const models = "package openclaw.enterprise.models\n"

// makeBundle makes a bundle of policies given as scope, name and text.
func makeBundle(namespace, name string, policies ...[3]string) *Bundle {
	b := &Bundle{}
	b.Namespace, b.Name = namespace, name
	for _, p := range policies {
		b.Spec.Policies = append(b.Spec.Policies, openclawv1.Policy{Scope: openclawv1.Scope(p[0]), Domain: "models", Name: p[1], Content: p[2]})
	}
	return b
}

// decide evaluates the rules for an object, as the webhook does.
func decide(t *testing.T, kind string, object, facts any) *engine.Decision {
	t.Helper()
	snapshot, err := New()
	require.NoError(t, err)
	review := reviews.MakeCreation(openclawv1.SchemeGroupVersion.WithKind(kind), "things", object).Named("ns", "b").Obj(t)
	read, err := engine.ReadFacts(facts)
	require.NoError(t, err)
	return snapshot.Validate(t.Context(), review, engine.Options{Facts: read})
}

func words(findings []engine.Finding) []string {
	all := []string{}
	for _, finding := range findings {
		all = append(all, finding.Words)
	}
	return all
}

func TestPolicyBundle(t *testing.T) {
	good := models + "default allow := false\nallow if input.a == \"x\"\n"
	base := makeBundle("ns", "base", [3]string{"enterprise", "p", good})
	for name, c := range map[string]struct {
		bundle *Bundle
		others []*Bundle
		root   string
		denied []string
	}{
		"good":            {bundle: base, denied: []string{}},
		"no policies":     {bundle: makeBundle("ns", "b"), denied: []string{"policies list must not be empty"}},
		"empty":           {bundle: makeBundle("ns", "b", [3]string{"enterprise", "", ""}), denied: []string{"policy[0]: content is required", "policy[0]: name is required"}},
		"unknown scope":   {bundle: makeBundle("ns", "b", [3]string{"galaxy", "p", good}), denied: []string{`policy[0] "p": unknown scope "galaxy"`, `policy[0]: invalid scope "galaxy"`}},
		"does not parse":  {bundle: makeBundle("ns", "b", [3]string{"enterprise", "p", models + "allow if {"}), denied: []string{`policy[0] "p", line 2, column`}},
		"another package": {bundle: makeBundle("ns", "b", [3]string{"enterprise", "p", "package x\n"}), denied: []string{`policy[0] "p", line 1, column 1: it is in package x; a policy of domain "models" must be in package openclaw.enterprise.models`}},
		"removed by v1":   {bundle: makeBundle("ns", "b", [3]string{"enterprise", "p", models + "allow { any([true]) }"}), denied: []string{"any is not part of Rego v1; use true in <collection>"}},
		"reads another":   {bundle: makeBundle("ns", "b", [3]string{"team", "p", models + "allow := data.openclaw.enterprise.data.allow"}), denied: []string{"data.openclaw.enterprise.data.allow belongs to another policy"}},
		"one file twice":  {bundle: makeBundle("ns", "b", [3]string{"enterprise", "a b", good}, [3]string{"enterprise", "A/B", good}), denied: []string{`policy[1]: "A/B" gives the file name that policy[0] "a b" gives; rename one`}},
		"outside of root": {bundle: base, root: "root", denied: []string{`enterprise policies (p) are admitted in namespace "root" only`}},
		"within root":     {bundle: base, root: "ns", denied: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			decision := decide(t, "PolicyBundle", c.bundle, find(t, NewParser(), c.bundle, nil, c.others, c.root))
			got := words(decision.Denials)
			require.Len(t, got, len(c.denied), "%q", got)
			for _, want := range c.denied {
				require.True(t, slices.ContainsFunc(got, func(one string) bool { return strings.Contains(one, want) }), "%q has no %q", got, want)
			}
		})
	}
}

// TestExpansion: the message begins as the product document prints it.
func TestExpansion(t *testing.T) {
	facts := Facts{
		Comparisons: []Comparison{
			{restriction.Counterexample, "b/p", "allow", "domain \"models\": team scope cannot expand beyond enterprise scope\n  input: {}", false},
			{restriction.Unknown, "b/q", "allow", "it is not known", false},
		},
		Tightened: []Comparison{{restriction.Counterexample, "u/p", "allow", "…", false}},
		Unordered: []string{"reason has no effect"},
	}
	b := makeBundle("ns", "b", [3]string{"team", "p", models})
	decision := decide(t, "PolicyBundle", b, facts)
	require.Equal(t, []string{"domain \"models\": team scope cannot expand beyond enterprise scope\n  input: {}"}, words(decision.Denials))
	require.Equal(t, []string{
		"it is not known; it is admitted, since at run time it cannot",
		"reason has no effect",
		"u/p expands beyond this bundle now (allow); it is restricted at run time, and its bundle shows PolicyReady=False with an input",
	}, words(decision.Warnings))
}

func TestInstance(t *testing.T) {
	instance := func(spec string) map[string]any {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"name":"i","namespace":"ns"},"spec":`+spec+`}`), &object))
		return object
	}
	facts := map[string]any{"registries": []string{"registry.example.com/openclaw"}}
	for spec, want := range map[string]string{
		`{"integrations":[{"type":"gmail"},{"type":"jira"}]}`:                          "",
		`{"integrations":[{"type":"fax"}]}`:                                            `spec.integrations[0].type: "fax" is not a connector; there are gcal, gdrive, github, gmail, jira`,
		`{"integrations":[{"type":"jira"},{"type":"jira"}]}`:                           `spec.integrations[1].type: connector "jira" duplicates spec.integrations[0]`,
		`{"images":{"gateway":"registry.example.com/openclaw/gateway:1"}}`:             "",
		`{"images":{"opa":"registry.example.com/openclawish/opa:1"}}`:                  `spec.images.opa: "registry.example.com/openclawish/opa:1" is from no registry that is permitted here; permitted are registry.example.com/openclaw`,
		`{"images":{"opa":"evil.example.com/opa"},"integrations":[{"type":"github"}]}`: "is from no registry",
	} {
		denials := words(decide(t, "OpenClawInstance", instance(spec), facts).Denials)
		if want == "" {
			require.Empty(t, denials, spec)
			continue
		}
		require.Len(t, denials, 1, spec)
		require.Contains(t, denials[0], want)
	}
	require.Contains(t, words(decide(t, "OpenClawInstance", instance(`{"images":{"opa":"x"}}`), map[string]any{"registries": []string{}}).Denials)[0], "none is (the manager's --openclaw-image-registries)")
	require.Equal(t, []string{"spec.replicas is 3, but deploymentMode single runs one; use ha"},
		words(decide(t, "OpenClawInstance", instance(`{"deploymentMode":"single","replicas":3}`), facts).Warnings))
	require.Empty(t, decide(t, "OpenClawInstance", instance(`{"deploymentMode":"ha","replicas":3}`), facts).Warnings)
	require.Equal(t, []string{"spec.replicas: Invalid value 100000: must be at most 20 (the manager's --openclaw-max-replicas)"},
		words(decide(t, "OpenClawInstance", instance(`{"deploymentMode":"ha","replicas":100000}`), map[string]any{"registries": []string{}, "maxReplicas": 20}).Denials))
}

func TestDisjoint(t *testing.T) {
	parse := func(text string) *metav1.LabelSelector {
		if text == "" {
			return nil
		}
		selector, err := metav1.ParseToLabelSelector(text)
		require.NoError(t, err)
		return selector
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "a=1", false}, {"a=1", "a=2", true}, {"a=1", "a=1", false}, {"a=1", "b=2", false},
		{"a in (1,2)", "a in (2,3)", false}, {"a in (1,2)", "a in (3)", true},
		{"a in (1,2)", "a notin (1)", false}, {"a in (1,2)", "a notin (1,2,3)", true},
		{"a=1", "!a", true}, {"a", "!a", true}, {"a", "a=1", false}, {"a notin (1)", "!a", false},
		{"a notin (1)", "a notin (2)", false}, {"!a", "!a", false}, {"x=1,a=1", "y=1,a=2", true},
	} {
		require.Equal(t, c.want, disjoint(parse(c.a), parse(c.b)), "%s and %s", c.a, c.b)
		require.Equal(t, c.want, disjoint(parse(c.b), parse(c.a)), "%s and %s", c.b, c.a)
	}
}
