package openclaw

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
	require.Contains(t, composition.data, "lintel.answers.models.rego")
	require.Contains(t, composition.data, "lintel.policies.models.enterprise.enterprise-defaults.model-routing-default.rego")
	require.Same(t, composition, l.compose([]applied{{content: l.read(sampleBundle(t))}}), "the same is composed once")

	nothing := l.compose(nil)
	require.Nil(t, nothing.failure, "a gateway without policies has an OPA that starts")
}

func TestWhatIsWrongWithABundle(t *testing.T) {
	twice := makeBundle("b", v1.ScopeOrg, allowAll)
	twice.Spec.Policies = append(twice.Spec.Policies, twice.Spec.Policies[0])
	selector := makeBundle("b", v1.ScopeOrg, allowAll)
	selector.Spec.InstanceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	for name, c := range map[string]struct {
		bundle       *v1.PolicyBundle
		reason, want string
	}{
		"syntax":    {makeBundle("b", v1.ScopeOrg, "package openclaw.enterprise.models\nallow if {"), ReasonValidationFailed, "b/routing:2:"},
		"package":   {makeBundle("b", v1.ScopeOrg, "package elsewhere\nallow := true"), ReasonValidationFailed, "b/routing:1:1: it is in package elsewhere"},
		"functions": {makeBundle("b", v1.ScopeOrg, "package openclaw.enterprise.models\nallow { re_match(\"a\", input.x) }"), ReasonValidationFailed, "b/routing:2:9: re_match is not in Rego v1 any more; use regex.match"},
		"names":     {twice, ReasonValidationFailed, `policies "routing" and "routing"`},
		"selector":  {selector, ReasonValidationFailed, `spec.instanceSelector: "Near" is not a valid label selector operator`},
		"size":      {makeBundle("b", v1.ScopeOrg, allowAll+strings.Repeat("#", maxConfigMap)), ReasonTooLarge, "a ConfigMap holds 1048576"},
	} {
		failure := newLibrary("").read(c.bundle).failure
		require.NotNil(t, failure, name)
		require.Equal(t, c.reason, failure.reason, name)
		require.Contains(t, failure.message, c.want, name)
	}
}

func TestTooManyPoliciesTogether(t *testing.T) {
	l := newLibrary("")
	var all []applied
	for _, name := range []string{"a", "b", "c"} {
		bundle := makeBundle(name, v1.ScopeOrg, allowAll+"x := \""+strings.Repeat("x", 400<<10)+"\"\n")
		all = append(all, applied{content: l.read(bundle)})
	}
	composition := l.compose(all)
	require.Equal(t, ReasonTooLarge, composition.failure.reason)
	require.Nil(t, composition.data, "nothing half-written")
	require.Nil(t, l.compose(all[:1]).failure)
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
		bundle := &v1.PolicyBundle{Spec: v1.PolicyBundleSpec{InstanceSelector: c.selector}}
		bundle.Namespace = c.namespace
		instance := &v1.OpenClawInstance{}
		instance.Namespace, instance.Labels = "one", c.labels
		binds, enterpriseOnly := newLibrary(c.root).binding(bundle, instance)
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
	data := l.compose([]applied{{content: l.read(bundle), enterpriseOnly: true}}).data
	require.Contains(t, data, "lintel.policies.models.enterprise.b.routing.rego")
	require.NotContains(t, data, "lintel.policies.models.team.b.own.rego")
}

func TestTheLastGoodPoliciesStayInForce(t *testing.T) {
	l := newLibrary("")
	good, bad := makeBundle("b", v1.ScopeOrg, allowAll), makeBundle("b", v1.ScopeOrg, "package nowhere")
	stored := &corev1.ConfigMap{Data: l.read(good).files}
	owner := metav1.NewControllerRef(good, v1.SchemeGroupVersion.WithKind("PolicyBundle"))
	stored.OwnerReferences = []metav1.OwnerReference{*owner}
	ready := func(bundle *v1.PolicyBundle, status metav1.ConditionStatus) *v1.PolicyBundle {
		bundle = bundle.DeepCopy()
		meta.SetStatusCondition(&bundle.Status.Conditions, metav1.Condition{
			Type: v1.ConditionPolicyReady, Status: status, Reason: "R", ObservedGeneration: bundle.Generation})
		return bundle
	}
	next := makeBundle("b", v1.ScopeOrg, allowAll+"deny := true\n")

	require.Nil(t, l.inForce(good, nil), "nothing was ever good")
	require.Equal(t, l.read(good), l.inForce(bad, stored), "not judged yet")
	require.Equal(t, l.read(good), l.inForce(ready(bad, metav1.ConditionFalse), stored), "judged bad")
	require.Equal(t, l.read(good), l.inForce(next, stored), "an edit that is not judged yet")
	require.Equal(t, l.read(next), l.inForce(ready(next, metav1.ConditionTrue), stored), "judged good: whatever the ConfigMap says")

	edited := ready(good, metav1.ConditionTrue)
	edited.Spec, edited.Generation = next.Spec, 2
	require.Equal(t, l.read(good), l.inForce(edited, stored), "what was judged good is not the edit")

	stored.OwnerReferences[0].UID = "somebody else"
	require.Nil(t, l.inForce(bad, stored), "a ConfigMap of somebody else says nothing")
}

func TestPoliciesOfTheRootHaveNamesOfTheirOwn(t *testing.T) {
	l := newLibrary("root")
	inherited, own := makeBundle("b", v1.ScopeEnterprise, allowAll), makeBundle("b", v1.ScopeEnterprise, allowAll)
	inherited.Namespace = "root"
	composition := l.compose([]applied{{content: l.read(inherited), enterpriseOnly: true}, {content: l.read(own)}})
	require.Nil(t, composition.failure)
	require.Contains(t, composition.data, "lintel.policies.models.enterprise.root.b.routing.rego")
	require.Contains(t, composition.data, "lintel.policies.models.enterprise.b.routing.rego")
}
