package registration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/rules"
)

// policySources is a product with rules.
var policySources = rules.Product{
	Name: "policysource", Entry: "policysource.policy.lintel.dev", Validate: accept,
	Rules: []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"policy.lintel.dev"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"policysources"},
			Scope: new(admissionregistrationv1.ClusterScope),
		},
	}},
}

var (
	pod        = admission.GroupVersionKind{Kind: "Pod"}
	deployment = admission.GroupVersionKind{Group: "apps", Kind: "Deployment"}
	namespace  = admission.GroupVersionKind{Kind: "Namespace"}
	hpa        = admission.GroupVersionKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
)

func validates(name string, match definition.Match) engine.PolicyInfo {
	return engine.PolicyInfo{Package: name, Source: "team", FailurePolicy: definition.Fail, Match: match, Validates: true}
}

func mutates(name string, match definition.Match) engine.PolicyInfo {
	return engine.PolicyInfo{Package: name, Source: "team", FailurePolicy: definition.Fail, Match: match, Mutates: true}
}

func ignored(policy engine.PolicyInfo) engine.PolicyInfo {
	policy.FailurePolicy = definition.Ignore
	return policy
}

func settings() Settings {
	return Settings{Namespace: "lintel-system", InjectCA: true}
}

// rulesText prints a rule a line: group/version scope operations resources.
func rulesText(rules []admissionregistrationv1.RuleWithOperations) []string {
	var out []string
	for _, r := range rules {
		var operations []string
		for _, operation := range r.Operations {
			operations = append(operations, string(operation))
		}
		out = append(out, fmt.Sprintf("%s/%s %s %s %s", strings.Join(r.APIGroups, ","), strings.Join(r.APIVersions, ","),
			*r.Scope, strings.Join(operations, ","), strings.Join(r.Resources, ",")))
	}
	return out
}

func TestRules(t *testing.T) {
	tests := []struct {
		name       string
		policies   []engine.PolicyInfo
		validating []string // of the Fail entry
		mutating   []string // of the Fail entry
	}{
		{name: "no policies, no rules"},
		{
			name:       "a policy without match sees every resource, and no subresource",
			policies:   []engine.PolicyInfo{validates("a", definition.Match{})},
			validating: []string{"*/* * CREATE,UPDATE *"},
		},
		{
			name: "the union of operations, grouped",
			policies: []engine.PolicyInfo{
				validates("a", definition.Match{Kinds: []admission.GroupVersionKind{pod}}),
				validates("b", definition.Match{Kinds: []admission.GroupVersionKind{pod}, Operations: []string{"DELETE"}}),
				validates("c", definition.Match{Kinds: []admission.GroupVersionKind{{Kind: "Secret"}, {Kind: "ConfigMap"}, namespace}}),
			},
			validating: []string{
				"/v1 Cluster CREATE,UPDATE namespaces",
				"/v1 Namespaced CREATE,UPDATE configmaps,secrets",
				"/v1 Namespaced CREATE,UPDATE,DELETE pods",
			},
		},
		{
			name:       "the preferred version",
			policies:   []engine.PolicyInfo{validates("a", definition.Match{Kinds: []admission.GroupVersionKind{hpa}})},
			validating: []string{"autoscaling/v2 Namespaced CREATE,UPDATE horizontalpodautoscalers"},
		},
		{
			name: "the version that a policy names, also for one that takes any",
			policies: []engine.PolicyInfo{
				validates("a", definition.Match{Kinds: []admission.GroupVersionKind{{Group: "autoscaling", Version: "*", Kind: "HorizontalPodAutoscaler"}}}),
				validates("b", definition.Match{Kinds: []admission.GroupVersionKind{{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}}}),
			},
			validating: []string{"autoscaling/v1 Namespaced CREATE,UPDATE horizontalpodautoscalers"},
		},
		{
			name:       "an unknown kind may be any resource of its group",
			policies:   []engine.PolicyInfo{validates("a", definition.Match{Kinds: []admission.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Widget"}}})},
			validating: []string{"example.com/* * CREATE,UPDATE *"},
		},
		{
			name: "wildcards",
			policies: []engine.PolicyInfo{
				validates("a", definition.Match{Kinds: []admission.GroupVersionKind{{Group: "apps", Kind: "*"}}}),
				validates("b", definition.Match{Kinds: []admission.GroupVersionKind{{Group: "*", Kind: "Ingress"}}, Operations: []string{"DELETE"}}),
			},
			validating: []string{"*/* * DELETE *", "apps/* * CREATE,UPDATE *"},
		},
		{
			name: "what a wider rule covers needs none of its own",
			policies: []engine.PolicyInfo{
				validates("a", definition.Match{}),
				validates("b", definition.Match{Kinds: []admission.GroupVersionKind{pod}, Operations: []string{"CREATE"}}),
				validates("c", definition.Match{Kinds: []admission.GroupVersionKind{deployment}, Operations: []string{"DELETE"}}),
			},
			validating: []string{"*/* * CREATE,UPDATE *", "apps/v1 Namespaced DELETE deployments"},
		},
		{
			name: "subresources stand beside their resources",
			policies: []engine.PolicyInfo{validates("a", definition.Match{
				Kinds: []admission.GroupVersionKind{pod}, Operations: []string{"UPDATE", "CONNECT"}, Subresources: []string{"ephemeralcontainers", "exec"},
			})},
			validating: []string{"/v1 Namespaced UPDATE,CONNECT pods,pods/ephemeralcontainers,pods/exec"},
		},
		{
			name:       "every subresource is none of the resource itself",
			policies:   []engine.PolicyInfo{validates("a", definition.Match{Kinds: []admission.GroupVersionKind{pod}, Subresources: []string{"*"}})},
			validating: []string{"/v1 Namespaced CREATE,UPDATE pods,pods/*"},
		},
		{
			name: "subresources of any resource",
			policies: []engine.PolicyInfo{
				validates("a", definition.Match{Subresources: []string{"scale"}}),
				validates("b", definition.Match{Kinds: []admission.GroupVersionKind{deployment}, Subresources: []string{"scale"}}),
			},
			validating: []string{"*/* * CREATE,UPDATE *,*/scale"},
		},
		{
			name: "expanding adds the workload kinds, created or updated, where Pods are evaluated at creation",
			policies: []engine.PolicyInfo{validates("a", definition.Match{
				Kinds: []admission.GroupVersionKind{pod}, Operations: []string{"CREATE", "DELETE"}, Expand: definition.ExpandWarn,
			})},
			validating: []string{
				"/v1 Namespaced CREATE,DELETE pods",
				"/v1 Namespaced CREATE,UPDATE replicationcontrollers",
				"apps/v1 Namespaced CREATE,UPDATE daemonsets,deployments,replicasets,statefulsets",
				"batch/v1 Namespaced CREATE,UPDATE cronjobs,jobs",
			},
		},
		{
			name: "expanding without Pods adds nothing",
			policies: []engine.PolicyInfo{validates("a", definition.Match{
				Kinds: []admission.GroupVersionKind{{Kind: "Secret"}}, Expand: definition.ExpandDeny,
			})},
			validating: []string{"/v1 Namespaced CREATE,UPDATE secrets"},
		},
		{
			name: "mutation is for CREATE unless UPDATE is named, without subresources or workloads",
			policies: []engine.PolicyInfo{
				mutates("a", definition.Match{Kinds: []admission.GroupVersionKind{pod}, Subresources: []string{"exec"}, Expand: definition.ExpandWarn}),
				mutates("b", definition.Match{Kinds: []admission.GroupVersionKind{deployment}, Operations: []string{"UPDATE", "DELETE"}}),
				mutates("c", definition.Match{Kinds: []admission.GroupVersionKind{namespace}, Operations: []string{"DELETE", "CONNECT"}}),
			},
			mutating: []string{"/v1 Namespaced CREATE pods", "apps/v1 Namespaced UPDATE deployments"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			validating, mutating, err := Configurations(test.policies, admission.BuiltinResources(), nil, settings())
			require.NoError(t, err)
			assert.Equal(t, test.validating, rulesText(validating.Webhooks[1].Rules))
			assert.Equal(t, test.mutating, rulesText(mutating.Webhooks[1].Rules))
			assert.Empty(t, validating.Webhooks[0].Rules, "Ignore has no policies")
			assert.Empty(t, mutating.Webhooks[0].Rules, "Ignore has no policies")
		})
	}
}

func TestEntriesAreAFixedSet(t *testing.T) {
	products := []rules.Product{
		policySources,
		{Name: "bundle", Entry: "a.example.com", Validate: accept},
		{Name: "defaults", Entry: "d.example.com", FailurePolicy: definition.Ignore, Mutate: accept},
	}
	policies := []engine.PolicyInfo{
		validates("a", definition.Match{}), ignored(validates("b", definition.Match{Kinds: []admission.GroupVersionKind{pod}})),
	}
	for _, policies := range [][]engine.PolicyInfo{nil, policies} {
		validating, mutating, err := Configurations(policies, nil, products, settings())
		require.NoError(t, err)
		var names []string
		for _, w := range validating.Webhooks {
			names = append(names, w.Name+" "+*w.ClientConfig.Service.Path+" "+string(*w.FailurePolicy))
		}
		assert.Equal(t, []string{
			"a.example.com /validate/bundle Fail",
			"policysource.policy.lintel.dev /validate/policysource Fail",
			"ignore.policies.lintel.dev /validate/ignore Ignore",
			"fail.policies.lintel.dev /validate/fail Fail",
		}, names)
		names = nil
		for _, w := range mutating.Webhooks {
			names = append(names, w.Name+" "+*w.ClientConfig.Service.Path+" "+string(*w.FailurePolicy))
		}
		assert.Equal(t, []string{
			"d.example.com /mutate/defaults Ignore",
			"ignore.policies.lintel.dev /mutate/ignore Ignore",
			"fail.policies.lintel.dev /mutate/fail Fail",
		}, names)
	}
}

func TestEntrySettings(t *testing.T) {
	validating, mutating, err := Configurations(nil, nil, []rules.Product{policySources}, settings())
	require.NoError(t, err)
	assert.Equal(t, "lintel", validating.Name)
	assert.Equal(t, "lintel", mutating.Name)
	assert.Equal(t, "lintel-system/lintel-serving", validating.Annotations["cert-manager.io/inject-ca-from"])

	policysource, fail := validating.Webhooks[0], validating.Webhooks[2]
	assert.Equal(t, []string{"policy.lintel.dev/v1alpha1 Cluster CREATE,UPDATE policysources"}, rulesText(policysource.Rules))
	assert.Equal(t, []admissionregistrationv1.MatchCondition{conditionNotAPIServer}, policysource.MatchConditions)
	assert.Equal(t, &metav1.LabelSelector{}, policysource.NamespaceSelector, "the platform's own kinds are never exempt")

	assert.Equal(t, admissionregistrationv1.Equivalent, *fail.MatchPolicy)
	assert.Equal(t, admissionregistrationv1.SideEffectClassNone, *fail.SideEffects)
	assert.Equal(t, int32(5), *fail.TimeoutSeconds)
	assert.Equal(t, []string{"v1"}, fail.AdmissionReviewVersions)
	assert.Equal(t, "lintel-webhook", fail.ClientConfig.Service.Name)
	assert.Equal(t, int32(443), *fail.ClientConfig.Service.Port)
	assert.Equal(t, admissionregistrationv1.IfNeededReinvocationPolicy, *mutating.Webhooks[0].ReinvocationPolicy)
}

// TestEntriesLeaveOutPolicies: only an entry with a policy that names their group is called
// for them, and never for what undoes a policy.
func TestProductSelectors(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	validating, _, err := Configurations(nil, nil, []rules.Product{{Name: "a", Entry: "a.example.com", Validate: accept, ObjectSelector: selector, NotOfPlatform: true}}, settings())
	require.NoError(t, err)
	product, fail := validating.Webhooks[0], validating.Webhooks[2]
	assert.Equal(t, selector, product.ObjectSelector)
	assert.Equal(t, []string{"cert-manager", "kube-node-lease", "kube-system", "lintel-system"}, product.NamespaceSelector.MatchExpressions[0].Values)
	assert.Equal(t, fail.NamespaceSelector, product.NamespaceSelector)
}

func TestEntriesLeaveOutPolicies(t *testing.T) {
	names := func(kinds ...admission.GroupVersionKind) []string {
		validating, mutating, err := Configurations([]engine.PolicyInfo{validates("a", definition.Match{Kinds: kinds}), mutates("b", definition.Match{})}, admission.BuiltinResources(), nil, settings())
		require.NoError(t, err)
		for _, webhook := range mutating.Webhooks {
			require.Equal(t, "not-policy", webhook.MatchConditions[1].Name)
		}
		var out []string
		for _, condition := range validating.Webhooks[1].MatchConditions {
			out = append(out, condition.Name)
		}
		return out
	}
	require.Contains(t, names(), "not-policy")
	require.Contains(t, names(admission.GroupVersionKind{Group: "*", Kind: "*"}), "not-policy")
	named := names(admission.GroupVersionKind{Group: definition.PolicyGroup, Kind: "PolicySource"})
	require.NotContains(t, named, "not-policy")
	require.Subset(t, named, []string{"not-the-removal-of-policy", "not-the-status-of-policy"})
}

func TestURLAndBundle(t *testing.T) {
	validating, _, err := Configurations(nil, nil, nil, Settings{
		Namespace: "lintel-system", URL: "https://127.0.0.1:9443/", CABundle: []byte("pem"),
	})
	require.NoError(t, err)
	config := validating.Webhooks[1].ClientConfig
	assert.Equal(t, "https://127.0.0.1:9443/validate/fail", *config.URL)
	assert.Nil(t, config.Service)
	assert.Equal(t, []byte("pem"), config.CABundle)
	assert.Empty(t, validating.Annotations)

	injected := settings()
	injected.CABundle = []byte("pem")
	validating, _, err = Configurations(nil, nil, nil, injected)
	require.NoError(t, err)
	assert.Nil(t, validating.Webhooks[1].ClientConfig.CABundle, "it is cert-manager's to keep")
}

func TestSelectors(t *testing.T) {
	team := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	prod := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	excluded := func(names ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: names}
	}
	defaults := excluded("cert-manager", "kube-node-lease", "kube-system", "lintel-system")
	selectors := func(policies ...engine.PolicyInfo) (namespaces, objects *metav1.LabelSelector) {
		validating, _, err := Configurations(policies, admission.BuiltinResources(), nil, settings())
		require.NoError(t, err)
		return validating.Webhooks[1].NamespaceSelector, validating.Webhooks[1].ObjectSelector
	}
	both := definition.Match{Kinds: []admission.GroupVersionKind{pod}, NamespaceSelector: team, ObjectSelector: prod}

	t.Run("shared by all policies", func(t *testing.T) {
		namespaces, objects := selectors(validates("a", both), validates("b", both), ignored(validates("c", definition.Match{})))
		assert.Equal(t, &metav1.LabelSelector{
			MatchLabels: team.MatchLabels, MatchExpressions: []metav1.LabelSelectorRequirement{defaults},
		}, namespaces)
		assert.Equal(t, prod, objects)
		assert.Empty(t, team.MatchExpressions, "the policy's own selector is left alone")
	})
	t.Run("not shared", func(t *testing.T) {
		namespaces, objects := selectors(validates("a", both), validates("b", definition.Match{Kinds: []admission.GroupVersionKind{pod}}))
		assert.Equal(t, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{defaults}}, namespaces)
		assert.Equal(t, &metav1.LabelSelector{}, objects)
	})
	t.Run("the labels of a Pod template are not the workload's", func(t *testing.T) {
		expanding := both
		expanding.Expand = definition.ExpandDeny
		_, objects := selectors(validates("a", expanding))
		assert.Equal(t, &metav1.LabelSelector{}, objects)
	})
	t.Run("a subresource has other labels", func(t *testing.T) {
		scaling := both
		scaling.Subresources = []string{"scale"}
		_, objects := selectors(validates("a", scaling))
		assert.Equal(t, &metav1.LabelSelector{}, objects)
	})
	t.Run("configured", func(t *testing.T) {
		s := settings()
		s.ExcludedNamespaces = []string{"b", "a", "b"}
		validating, _, err := Configurations(nil, nil, nil, s)
		require.NoError(t, err)
		assert.Equal(t, []metav1.LabelSelectorRequirement{excluded("a", "b", "lintel-system")},
			validating.Webhooks[0].NamespaceSelector.MatchExpressions, "the platform's own namespace stays")
	})
}

func TestVersionConflict(t *testing.T) {
	v1 := admission.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}
	policies := []engine.PolicyInfo{
		validates("team.new", definition.Match{Kinds: []admission.GroupVersionKind{hpa}}),
		validates("team.old", definition.Match{Kinds: []admission.GroupVersionKind{v1}}),
	}
	validating, _, err := Configurations(policies, admission.BuiltinResources(), nil, settings())
	var conflict versionConflict
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, [2]string{"v2", "v1"}, conflict.Versions)
	assert.ErrorContains(t, err, "policies team.new (team) and team.old (team) want HorizontalPodAutoscaler.autoscaling in two versions, v2 and v1")
	assert.ErrorContains(t, err, "fail.policies.lintel.dev")
	assert.Equal(t, []string{
		"autoscaling/v1 Namespaced CREATE,UPDATE horizontalpodautoscalers",
		"autoscaling/v2 Namespaced CREATE,UPDATE horizontalpodautoscalers",
	}, rulesText(validating.Webhooks[1].Rules), "never narrower, even so")

	policies[1] = ignored(policies[1])
	_, _, err = Configurations(policies, admission.BuiltinResources(), nil, settings())
	assert.NoError(t, err, "two entries may differ")
}

func TestEveryVersionConflictsWithOne(t *testing.T) {
	resources := admission.NewResources([]admission.ServedResource{
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler", Name: "horizontalpodautoscalers", Namespaced: true},
		{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler", Name: "horizontalpodautoscalers", Namespaced: true},
		{Version: "v1", Kind: "Pod", Name: "pods", Namespaced: true},
	})
	kind := func(group, version, kind string) definition.Match {
		return definition.Match{Kinds: []admission.GroupVersionKind{{Group: group, Version: version, Kind: kind}}}
	}
	old, unversioned := kind("autoscaling", "v1", "HorizontalPodAutoscaler"), kind("autoscaling", "", "HorizontalPodAutoscaler")
	deletes := definition.Match{Operations: []string{"DELETE"}}
	both := definition.Match{Kinds: append(kind("*", "", "*").Kinds, old.Kinds...)}
	for name, c := range map[string]struct {
		a, b     definition.Match
		conflict string // empty: none
	}{
		"no kinds, a version":          {definition.Match{}, old, "policy team.a (team) takes HorizontalPodAutoscaler.autoscaling in every version"},
		"no kinds, the preferred":      {definition.Match{}, unversioned, "policy team.b (team) is written for v2 of it"},
		"a version, any kind":          {old, kind("autoscaling", "", "*"), "policy team.a (team) is written for v1 of it"},
		"any group":                    {kind("*", "", "Pod"), old, "policy team.b (team) is written for v1 of it"},
		"an unknown kind of the group": {kind("autoscaling", "", "Typo"), old, "policy team.b (team) is written for v1 of it"},
		"every version":                {definition.Match{}, kind("autoscaling", "*", "HorizontalPodAutoscaler"), ""},
		"a kind with one version":      {definition.Match{}, kind("", "", "Pod"), ""},
		"another group":                {kind("apps", "", "*"), old, ""},
		"other operations":             {deletes, old, ""},
		"both in one":                  {definition.Match{}, both, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, make := range []func(string, definition.Match) engine.PolicyInfo{validates, mutates} {
				a, b := make("team.a", c.a), make("team.b", c.b)
				_, _, err := Configurations([]engine.PolicyInfo{a, b}, resources, nil, settings())
				if c.conflict == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, c.conflict)
				_, _, err = Configurations([]engine.PolicyInfo{a, ignored(b)}, resources, nil, settings())
				require.NoError(t, err, "two entries may differ")
			}
		})
	}
}

// TestConstraintsTakeEveryVersion: a template evaluates the version of the request, so no two
// constraints are in each other's way, and a policy for one version gets that.
func TestConstraintsTakeEveryVersion(t *testing.T) {
	constraint := func(name string, kinds ...admission.GroupVersionKind) engine.PolicyInfo {
		p := validates(name, definition.Match{Kinds: kinds})
		p.AnyVersion = true
		return p
	}
	resources := admission.NewResources([]admission.ServedResource{
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler", Name: "horizontalpodautoscalers", Namespaced: true},
		{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler", Name: "horizontalpodautoscalers", Namespaced: true},
	})
	native := validates("native", definition.Match{Kinds: []admission.GroupVersionKind{hpa}})
	for name, test := range map[string]struct {
		policies []engine.PolicyInfo
		rules    []string
	}{
		"one":                  {[]engine.PolicyInfo{constraint("a", hpa)}, []string{"autoscaling/* Namespaced CREATE,UPDATE horizontalpodautoscalers"}},
		"beside every kind":    {[]engine.PolicyInfo{constraint("a", hpa), constraint("b")}, []string{"*/* * CREATE,UPDATE *"}},
		"beside another":       {[]engine.PolicyInfo{constraint("a", hpa), native}, []string{"autoscaling/v2 Namespaced CREATE,UPDATE horizontalpodautoscalers"}},
		"beside another entry": {[]engine.PolicyInfo{constraint("a", hpa), ignored(native)}, []string{"autoscaling/* Namespaced CREATE,UPDATE horizontalpodautoscalers"}},
	} {
		t.Run(name, func(t *testing.T) {
			validating, _, err := Configurations(test.policies, resources, nil, settings())
			require.NoError(t, err)
			require.Equal(t, test.rules, rulesText(validating.Webhooks[1].Rules))
		})
	}
	_, _, err := Configurations([]engine.PolicyInfo{constraint("a"), native}, resources, nil, settings())
	require.ErrorContains(t, err, "policy a (team) takes HorizontalPodAutoscaler.autoscaling in every version", "the other is written for one")
}

func TestConfigurationsDoNotDependOnOrder(t *testing.T) {
	policies := []engine.PolicyInfo{
		validates("a", definition.Match{Kinds: []admission.GroupVersionKind{pod, hpa}, Expand: definition.ExpandWarn}),
		validates("b", definition.Match{Kinds: []admission.GroupVersionKind{deployment, namespace}, Operations: []string{"DELETE", "CREATE"}}),
		ignored(validates("c", definition.Match{})),
		mutates("d", definition.Match{Kinds: []admission.GroupVersionKind{pod}}),
	}
	products := []rules.Product{policySources, {Name: "x", Entry: "x.example.com", Validate: accept}}
	v1, m1, err := Configurations(policies, admission.BuiltinResources(), products, settings())
	require.NoError(t, err)
	for range 20 {
		slices.Reverse(policies)
		slices.Reverse(products)
		v2, m2, err := Configurations(policies, admission.BuiltinResources(), products, settings())
		require.NoError(t, err)
		require.Equal(t, v1, v2)
		require.Equal(t, m1, m2)
	}
}

// constraintRules are the rules of the Fail entry for a constraint with this match, of a
// template with this target.
func constraintRules(t *testing.T, match, target string) []string {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"f.yaml": `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: x}
spec:
  crd: {spec: {names: {kind: X}}}
  targets: [{target: admission.k8s.gatekeeper.sh, rego: "package x\nviolation[{\"msg\": \"no\"}] { true }"` + target + `}]
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: X
metadata: {name: x}
spec: {match: ` + match + `}
`}}, gatekeeper.Dialect)
	require.NoError(t, err)
	policies := engine.NewSnapshot(admission.BuiltinResources(), set).Policies()
	validating, _, err := Configurations(policies, admission.BuiltinResources(), nil, settings())
	require.NoError(t, err)
	return rulesText(validating.Webhooks[slices.IndexFunc(validating.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == "fail.policies.lintel.dev" })].Rules)
}

// TestSubresourcesOfConstraints: those that Gatekeeper's chart registers, where an object
// of a kind of the constraint comes with them.
func TestSubresourcesOfConstraints(t *testing.T) {
	for name, test := range map[string]struct {
		match, target string
		want          []string
	}{
		"Pods":       {`{kinds: [{apiGroups: [""], kinds: [Pod]}]}`, "", []string{"/* Namespaced CREATE,UPDATE pods,pods/ephemeralcontainers,pods/resize"}},
		"Services":   {`{kinds: [{apiGroups: [""], kinds: [Service]}]}`, "", []string{"/* Namespaced CREATE,UPDATE services,services/status"}},
		"ConfigMaps": {`{kinds: [{apiGroups: [""], kinds: [ConfigMap]}]}`, "", []string{"/* Namespaced CREATE,UPDATE configmaps"}},
		"Scale": {`{kinds: [{apiGroups: [autoscaling], kinds: [Scale]}]}`, "", []string{
			"/v1 Namespaced CREATE,UPDATE replicationcontrollers/scale",
			"apps/v1 Namespaced CREATE,UPDATE deployments/scale,replicasets/scale,statefulsets/scale",
		}},
		"Eviction": {`{kinds: [{apiGroups: [policy], kinds: [Eviction]}]}`, "", []string{"/v1 Namespaced CREATE,UPDATE pods/eviction"}},
		"Binding": {`{kinds: [{apiGroups: [""], kinds: [Binding]}]}`, "", []string{
			"/* Namespaced CREATE,UPDATE bindings", "/v1 Namespaced CREATE,UPDATE pods/binding",
		}},
		"exec by its kind":            {`{kinds: [{apiGroups: [""], kinds: [PodExecOptions]}]}`, "", []string{"/v1 Namespaced CONNECT pods/exec"}},
		"exec by its operation":       {`{kinds: [{apiGroups: [""], kinds: [PodExecOptions]}]}`, ", operations: [CONNECT]", []string{"/v1 Namespaced CONNECT pods/exec"}},
		"exec against its operations": {`{kinds: [{apiGroups: [""], kinds: [PodExecOptions, ConfigMap]}]}`, ", operations: [CREATE]", []string{"/* Namespaced CREATE configmaps"}},
		"every kind":                  {`{}`, "", everyKind("CREATE,UPDATE")},
		"every kind by name":          {`{kinds: [{apiGroups: ["*"], kinds: ["*"]}]}`, "", everyKind("CREATE,UPDATE")},
		"every kind, created alone":   {`{}`, ", operations: [CREATE]", everyKind("CREATE")},
		"every kind, deleted alone":   {`{}`, ", operations: [DELETE]", []string{"*/* * DELETE *"}},
		"every kind, with CONNECT":    {`{}`, ", operations: [CONNECT]", []string{"*/* * CONNECT *", "/v1 Namespaced CONNECT pods/attach,pods/exec,pods/portforward,pods/proxy,services/proxy"}},
		"every kind of the group of Scale": {`{kinds: [{apiGroups: [autoscaling], kinds: ["*"]}]}`, ", operations: [UPDATE]", []string{
			"/v1 Namespaced UPDATE replicationcontrollers/scale",
			"apps/v1 Namespaced UPDATE deployments/scale,replicasets/scale,statefulsets/scale",
			"autoscaling/* * UPDATE *",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.ElementsMatch(t, test.want, constraintRules(t, test.match, test.target))
		})
	}
}

func everyKind(operations string) []string {
	return []string{
		"*/* * " + operations + " *",
		"/v1 Namespaced " + operations + " pods/binding,pods/ephemeralcontainers,pods/eviction,pods/resize,replicationcontrollers/scale,services/status",
		"apps/v1 Namespaced " + operations + " deployments/scale,replicasets/scale,statefulsets/scale",
	}
}
