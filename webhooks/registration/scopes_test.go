package registration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

var shop = hierarchy.Key{Level: hierarchy.Team, Name: "shop"}

// of makes a policy one of a scope below the enterprise.
func of(scope hierarchy.Key, policy engine.PolicyInfo) engine.PolicyInfo {
	policy.Scope, policy.Follows = scope, true
	return policy
}

func reaching(scope hierarchy.Key, namespaces []string, above ...[]string) []engine.ScopeInfo {
	return []engine.ScopeInfo{{Key: scope, Namespaces: namespaces, Above: above}}
}

// TestAScopeHasConfigurationsOfItsOwn: what its policies match changes nothing of the fixed
// entries, and its entries are for its namespaces.
func TestAScopeHasConfigurationsOfItsOwn(t *testing.T) {
	enterprise := []engine.PolicyInfo{validates("acme", definition.Match{Kinds: []admission.GroupVersionKind{pod}})}
	all := append([]engine.PolicyInfo{of(shop, validates("everything", definition.Match{})), of(shop, ignored(mutates("labels", definition.Match{Kinds: []admission.GroupVersionKind{deployment}})))}, enterprise...)
	for _, policies := range [][]engine.PolicyInfo{enterprise, all} {
		validating, mutating, err := Configurations(policies, admission.BuiltinResources(), nil, settings())
		require.NoError(t, err)
		require.Equal(t, []string{"/v1 Namespaced CREATE,UPDATE pods"}, rulesText(validating.Webhooks[1].Rules))
		require.Empty(t, mutating.Webhooks[0].Rules)
	}
	require.Empty(t, ScopeConfigurations(enterprise, reaching(shop, []string{"shop"}), admission.BuiltinResources(), settings()), "a scope without policies")

	pairs := ScopeConfigurations(all, reaching(shop, []string{"shop", "till"}), admission.BuiltinResources(), settings())
	require.Len(t, pairs, 1)
	validating, mutating := pairs[0].Validating, pairs[0].Mutating
	for _, config := range []metav1.Object{validating, mutating} {
		require.Equal(t, "lintel-team-shop", config.GetName())
		require.Equal(t, map[string]string{"app.kubernetes.io/managed-by": "lintel", "lintel.dev/scope": "team-shop"}, config.GetLabels())
		require.Equal(t, "lintel-system/lintel-serving", config.GetAnnotations()["cert-manager.io/inject-ca-from"])
		require.True(t, IsOurs(config))
	}
	require.Len(t, validating.Webhooks, 2)
	ignore, fail := validating.Webhooks[0], validating.Webhooks[1]
	require.Equal(t, "ignore.team-shop.policies.lintel.dev", ignore.Name)
	require.Empty(t, ignore.Rules)
	require.Equal(t, "fail.team-shop.policies.lintel.dev", fail.Name)
	require.Equal(t, "/validate/fail/team-shop", *fail.ClientConfig.Service.Path)
	require.Equal(t, "/mutate/ignore/team-shop", *mutating.Webhooks[0].ClientConfig.Service.Path)
	require.Equal(t, []string{"apps/v1 Namespaced CREATE deployments"}, rulesText(mutating.Webhooks[0].Rules))
	require.Equal(t, metav1.LabelSelectorRequirement{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: []string{"shop", "till"},
	}, fail.NamespaceSelector.MatchExpressions[1])
	require.Contains(t, strings.Join(rulesText(fail.Rules), "\n"), "apps/v1 Namespaced CREATE,UPDATE controllerrevisions,daemonsets,deployments")
	for _, rule := range fail.Rules {
		require.Equal(t, admissionregistrationv1.NamespacedScope, *rule.Scope)
	}
}

// TestNamespacesOfAScope: never more than each scope above has. What the conditions mean to
// an API server is a test of test/apiserver.
func TestNamespacesOfAScope(t *testing.T) {
	policies := []engine.PolicyInfo{of(shop, validates("a", definition.Match{Kinds: []admission.GroupVersionKind{pod}}))}
	for name, c := range map[string]struct {
		scopes     []engine.ScopeInfo
		names      []string
		conditions []string
	}{
		"names":                     {reaching(shop, []string{"shop"}), []string{"shop"}, nil},
		"names that a parent lacks": {reaching(shop, []string{"shop-a", "bank"}, []string{"shop-*"}), []string{"shop-a"}, nil},
		"no name that a parent has": {reaching(shop, []string{"bank"}, []string{"shop-*"}), nil, nil},
		"names and globs": {reaching(shop, []string{"shop", "shop-*", "*-shop", "a*b"}, []string{"*", "x"}, []string{"shop*"}), nil, []string{
			`has(request.namespace) && (request.namespace in ["shop"] || request.namespace.startsWith("shop-") || request.namespace.endsWith("-shop") || request.namespace.matches("^a.*b$"))`,
			`has(request.namespace) && (request.namespace.startsWith("shop"))`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pairs := ScopeConfigurations(policies, c.scopes, admission.BuiltinResources(), Settings{})
			if c.names == nil && c.conditions == nil {
				require.Empty(t, pairs)
				return
			}
			fail := pairs[0].Validating.Webhooks[1]
			var names, conditions []string
			for _, expression := range fail.NamespaceSelector.MatchExpressions {
				if expression.Operator == metav1.LabelSelectorOpIn {
					names = expression.Values
				}
			}
			for _, condition := range fail.MatchConditions {
				if strings.HasPrefix(condition.Name, "in-the-namespaces") {
					conditions = append(conditions, condition.Expression)
				}
			}
			require.Equal(t, c.names, names)
			require.Equal(t, c.conditions, conditions)
		})
	}
}

// TestVersionsOfAScope: those that the enterprise has registered, of namespaced kinds that
// are known.
func TestVersionsOfAScope(t *testing.T) {
	old := validates("a", definition.Match{Kinds: []admission.GroupVersionKind{{Group: hpa.Group, Version: "v1", Kind: hpa.Kind}}, Operations: []string{"DELETE"}})
	named := of(shop, validates("b", definition.Match{Kinds: []admission.GroupVersionKind{hpa, namespace, {Group: "unknown.dev", Kind: "Thing"}}}))
	ofGroup := of(shop, validates("c", definition.Match{Kinds: []admission.GroupVersionKind{{Group: "policy", Kind: "*"}}}))
	deletes := validates("d", definition.Match{Operations: []string{"DELETE"}})
	for name, c := range map[string]struct {
		policies []engine.PolicyInfo
		want     []string
	}{
		"the preferred":                 {[]engine.PolicyInfo{named}, []string{"autoscaling/v2 Namespaced CREATE,UPDATE horizontalpodautoscalers"}},
		"the enterprise's":              {[]engine.PolicyInfo{old, named, ofGroup}, []string{"autoscaling/v1 Namespaced CREATE,UPDATE horizontalpodautoscalers", "policy/v1 Namespaced CREATE,UPDATE poddisruptionbudgets"}},
		"of another entry":              {[]engine.PolicyInfo{ignored(old), named}, []string{"autoscaling/v2 Namespaced CREATE,UPDATE horizontalpodautoscalers"}},
		"as it arrives":                 {[]engine.PolicyInfo{validates("e", definition.Match{}), named}, []string{"autoscaling/* Namespaced CREATE,UPDATE horizontalpodautoscalers"}},
		"as it arrives for other verbs": {[]engine.PolicyInfo{deletes, named}, []string{"autoscaling/v2 Namespaced CREATE,UPDATE horizontalpodautoscalers"}},
	} {
		t.Run(name, func(t *testing.T) {
			pairs := ScopeConfigurations(c.policies, reaching(shop, []string{"shop"}), admission.BuiltinResources(), settings())
			require.Equal(t, c.want, rulesText(pairs[0].Validating.Webhooks[1].Rules))
		})
	}
}

// TestScopesMutateRightsByGrant: kinds that carry rights are left out of wildcards, and
// registered where they are named, so that the patch is refused.
func TestScopesMutateRightsByGrant(t *testing.T) {
	named := mutates("a", definition.Match{Kinds: []admission.GroupVersionKind{{Group: "discovery.k8s.io", Kind: "*"}, {Group: "apps", Kind: "*"}, {Group: "rbac.authorization.k8s.io", Kind: "Role"}}})
	granted := mutates("b", definition.Match{Kinds: []admission.GroupVersionKind{{Group: "", Kind: "*"}}})
	granted.Grants.Mutates = []admission.GroupVersionKind{{Kind: "Secret"}}
	pairs := ScopeConfigurations([]engine.PolicyInfo{of(shop, named), of(shop, granted)}, reaching(shop, []string{"shop"}), admission.BuiltinResources(), settings())
	require.Equal(t, []string{
		"/v1 Namespaced CREATE configmaps,events,persistentvolumeclaims,pods,podtemplates,replicationcontrollers,secrets,services",
		"apps/v1 Namespaced CREATE controllerrevisions,daemonsets,deployments,replicasets,statefulsets",
		"rbac.authorization.k8s.io/v1 Namespaced CREATE roles",
	}, rulesText(pairs[0].Mutating.Webhooks[1].Rules))
}

// TestPatchesOfParentsAreChecked: /validate is also called for the fields that they set.
func TestPatchesOfParentsAreChecked(t *testing.T) {
	policy := mutates("a", definition.Match{Kinds: []admission.GroupVersionKind{pod}})
	for parent, want := range map[bool][]string{false: nil, true: {"/v1 Namespaced CREATE pods"}} {
		policy.Parent = parent
		validating, _, err := Configurations([]engine.PolicyInfo{policy}, admission.BuiltinResources(), nil, settings())
		require.NoError(t, err)
		require.Equal(t, want, rulesText(validating.Webhooks[1].Rules))
	}
}

// TestNamesOfScopeConfigurations are valid, and differ for scopes of any names.
func TestNamesOfScopeConfigurations(t *testing.T) {
	seen := map[string]bool{ConfigurationName: true}
	for _, level := range []hierarchy.Level{hierarchy.Org, hierarchy.Team, hierarchy.User} {
		for _, name := range []string{"a", strings.Repeat("a", 63), strings.Repeat("a", 62), "a-b", "A b"} {
			key := hierarchy.Key{Level: level, Name: name}
			policies := []engine.PolicyInfo{of(key, validates("a", definition.Match{}))}
			pair := ScopeConfigurations(policies, reaching(key, []string{"shop"}), admission.BuiltinResources(), settings())[0]
			id := pair.Validating.Labels[ScopeLabel]
			require.Empty(t, validation.IsValidLabelValue(id))
			require.Empty(t, validation.IsDNS1123Subdomain(pair.Validating.Name))
			require.Empty(t, validation.IsDNS1123Subdomain(id), "a segment of the path")
			require.Empty(t, validation.IsDNS1123Subdomain(pair.Validating.Webhooks[0].Name))
			require.False(t, seen[pair.Validating.Name], pair.Validating.Name)
			seen[pair.Validating.Name] = true
		}
	}
}
