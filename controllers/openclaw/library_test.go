package openclaw

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

func TestTheSampleComposes(t *testing.T) {
	l := newLibrary("")
	content := l.read(sampleBundle(t))
	require.Nil(t, content.failure)
	require.Len(t, content.policies, 5)
	composition := l.compose([]applied{{content: content}})
	require.Nil(t, composition.failure)
	require.Contains(t, composition.files, "lintel/answers/models.rego")
	require.Contains(t, composition.files, "lintel/policies/models/enterprise/enterprise-defaults/model-routing-default.rego")
	require.Same(t, composition, l.compose([]applied{{content: l.read(sampleBundle(t))}}), "the same is composed once")

	nothing := l.compose(nil)
	require.Nil(t, nothing.failure, "a gateway without policies has an OPA that starts")
}

func TestWhatIsWrongWithABundle(t *testing.T) {
	twice := makeBundle("b", v1.ScopeOrg, allowAll)
	twice.Spec.Policies = append(twice.Spec.Policies, twice.Spec.Policies[0])
	selector := makeBundle("b", v1.ScopeOrg, allowAll)
	selector.Spec.InstanceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	many := makeBundle("b", v1.ScopeOrg, allowAll)
	many.Spec.Policies = append(many.Spec.Policies, v1.Policy{Scope: v1.ScopeOrg, Domain: "models", Name: "many", Content: allowAll + strings.Repeat("\ndeny if false", 20_000)})
	for name, c := range map[string]struct {
		bundle       *v1.PolicyBundle
		reason, want string
	}{
		"syntax":    {makeBundle("b", v1.ScopeOrg, "package openclaw.enterprise.models\nallow if {"), ReasonValidationFailed, "b/routing:2:"},
		"package":   {makeBundle("b", v1.ScopeOrg, "package elsewhere\nallow := true"), ReasonValidationFailed, "b/routing:1:1: it is in package elsewhere"},
		"functions": {makeBundle("b", v1.ScopeOrg, "package openclaw.enterprise.models\nallow { re_match(\"a\", input.x) }"), ReasonValidationFailed, "b/routing:2:9: re_match is not part of Rego v1; use regex.match"},
		"names":     {twice, ReasonValidationFailed, `policies "routing" and "routing"`},
		"selector":  {selector, ReasonValidationFailed, `spec.instanceSelector: "Near" is not a valid label selector operator`},
		"effort":    {many, ReasonTooLarge, "b/many:9967: up to here the bundle has more than 30000 words"},
		"size":      {makeBundle("b", v1.ScopeOrg, allowAll+strings.Repeat("#", maxConfigMap)), ReasonTooLarge, "a ConfigMap holds 1048576"},
	} {
		failure := newLibrary("").read(c.bundle).failure
		require.NotNil(t, failure, name)
		require.Equal(t, c.reason, failure.reason, name)
		require.Contains(t, failure.message, c.want, name)
	}
}

func TestWhomABundleBinds(t *testing.T) {
	selects := &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "a"}}
	nonsense := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	for name, c := range map[string]struct {
		root, namespace       string
		selector              *metav1.LabelSelector
		labels                map[string]string
		binds, enterpriseOnly bool
	}{
		"same namespace":                  {"", "one", nil, nil, true, false},
		"other namespace":                 {"", "two", nil, nil, false, true},
		"selected":                        {"", "one", selects, map[string]string{"tenant": "a"}, true, false},
		"not selected":                    {"", "one", selects, map[string]string{"tenant": "b"}, true, true},
		"a selector that says nothing":    {"", "one", nonsense, nil, true, false},
		"an empty selector selects all":   {"", "one", &metav1.LabelSelector{}, nil, true, false},
		"the root":                        {"two", "two", nil, nil, true, true},
		"the root, where it is the same":  {"one", "one", selects, nil, true, true},
		"another one, where there is one": {"two", "three", nil, nil, false, true},
	} {
		instance := &v1.OpenClawInstance{}
		instance.Namespace, instance.Labels = "one", c.labels
		binds, enterpriseOnly := newLibrary(c.root).binding(c.namespace, c.selector, instance)
		require.Equal(t, c.binds, binds, name)
		if binds {
			require.Equal(t, c.enterpriseOnly, enterpriseOnly, name)
		}
	}
}

func TestEnterprisePoliciesIgnoreTheSelector(t *testing.T) {
	l := newLibrary("")
	bundle := makeBundle("b", v1.ScopeEnterprise, allowAll)
	bundle.Spec.Policies = append(bundle.Spec.Policies, v1.Policy{Scope: v1.ScopeTeam, Domain: "models", Name: "own", Content: allowAll})
	data := l.compose([]applied{{content: l.read(bundle), enterpriseOnly: true}}).files
	require.Contains(t, data, "lintel/policies/models/enterprise/b/routing.rego")
	require.NotContains(t, data, "lintel/policies/models/team/b/own.rego")
}

func TestTheLastGoodPoliciesStayInForce(t *testing.T) {
	l := newLibrary("")
	bundle := makeBundle("b", v1.ScopeOrg, "package nowhere")
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": "a"}}
	good := l.read(makeBundle("b", v1.ScopeOrg, allowAll))

	require.Nil(t, l.lastGood(bundle, nil), "nothing was ever good")
	last := l.lastGood(bundle, &record{data: good.files, selector: selector})
	require.Equal(t, good, last.content, "whatever the spec says by now")
	require.Equal(t, selector, last.selector)
	require.Nil(t, l.lastGood(bundle, &record{data: map[string]string{"x": "y"}}))
}

func TestPoliciesOfTheRootHaveNamesOfTheirOwn(t *testing.T) {
	l := newLibrary("root")
	inherited, own := makeBundle("b", v1.ScopeEnterprise, allowAll), makeBundle("b", v1.ScopeEnterprise, allowAll)
	inherited.Namespace = "root"
	composition := l.compose([]applied{{content: l.read(inherited), enterpriseOnly: true}, {content: l.read(own)}})
	require.Nil(t, composition.failure)
	require.Contains(t, composition.files, "lintel/policies/models/enterprise/root/b/routing.rego")
	require.Contains(t, composition.files, "lintel/policies/models/enterprise/b/routing.rego")
}
