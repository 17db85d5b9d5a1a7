package apiserver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// TestConditions asks the API server's own matcher.
func TestConditions(t *testing.T) {
	csr := func(signer string) runtime.Object {
		return &certificatesv1.CertificateSigningRequest{
			TypeMeta: metav1.TypeMeta{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest"},
			Spec:     certificatesv1.CertificateSigningRequestSpec{SignerName: signer},
		}
	}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	csrs := "certificatesigningrequests"
	tests := []struct {
		name                         string
		group, resource, subresource string
		operation                    k8sadmission.Operation
		object, old                  runtime.Object
		user                         string
		called                       bool
	}{
		{"a Pod", "", "pods", "", k8sadmission.Create, pod, nil, "jane", true},
		{"a Pod's deletion", "", "pods", "", k8sadmission.Delete, nil, pod, "jane", true},
		{"a deletion of many, before the objects are known", "", "pods", "", k8sadmission.Delete, nil, nil, "jane", true},
		{"connecting", "", "pods", "exec", k8sadmission.Connect, nil, nil, "jane", true},
		{"the API server itself", "", "pods", "", k8sadmission.Create, pod, nil, "system:apiserver", false},
		{"a PolicySource", "policy.lintel.dev", "policysources", "", k8sadmission.Update, pod, pod, "jane", true},
		{"the removal of a PolicySource", "policy.lintel.dev", "policysources", "", k8sadmission.Delete, nil, pod, "jane", false},
		{"the status of a PolicySource", "policy.lintel.dev", "policysources", "status", k8sadmission.Update, pod, pod, "jane", false},
		{"a token review", "authentication.k8s.io", "tokenreviews", "", k8sadmission.Create, pod, nil, "jane", false},
		{"an access review", "authorization.k8s.io", "subjectaccessreviews", "", k8sadmission.Create, pod, nil, "jane", false},
		{"a lease", "coordination.k8s.io", "leases", "", k8sadmission.Update, pod, pod, "jane", false},
		{"another kind of the leases' group", "coordination.k8s.io", "leasecandidates", "", k8sadmission.Update, pod, pod, "jane", true},
		{"a core event", "", "events", "", k8sadmission.Create, pod, nil, "jane", false},
		{"an event", "events.k8s.io", "events", "", k8sadmission.Create, pod, nil, "jane", false},
		{"somebody's own events", "example.com", "events", "", k8sadmission.Create, pod, nil, "jane", true},
		{"a node", "", "nodes", "", k8sadmission.Update, pod, pod, "jane", false},
		{"a node's status", "", "nodes", "status", k8sadmission.Update, pod, pod, "jane", false},
		{"somebody's own nodes", "example.com", "nodes", "", k8sadmission.Create, pod, nil, "jane", true},
		{"a kubelet's request", "certificates.k8s.io", csrs, "", k8sadmission.Create, csr("kubernetes.io/kubelet-serving"), nil, "jane", false},
		{"its approval", "certificates.k8s.io", csrs, "approval", k8sadmission.Update, csr("kubernetes.io/kubelet-serving"), csr("kubernetes.io/kubelet-serving"), "jane", false},
		{"its deletion", "certificates.k8s.io", csrs, "", k8sadmission.Delete, nil, csr("kubernetes.io/kubelet-serving"), "jane", false},
		{"another signer", "certificates.k8s.io", csrs, "", k8sadmission.Create, csr("example.com/kubernetes.io"), nil, "jane", true},
		{"a signer that only looks alike", "certificates.k8s.io", csrs, "", k8sadmission.Create, csr("kubernetes.iox/a"), nil, "jane", true},
		{"another signer's deletion", "certificates.k8s.io", csrs, "", k8sadmission.Delete, nil, csr("example.com/a"), "jane", true},
		{"a request without a signer", "certificates.k8s.io", csrs, "", k8sadmission.Create, csr(""), nil, "jane", true},
		{"neither object", "certificates.k8s.io", csrs, "", k8sadmission.Delete, nil, nil, "jane", true},
	}
	ofPolicy := engine.PolicyInfo{Validates: true, Match: definition.Match{Kinds: []admission.GroupVersionKind{{Group: definition.PolicyGroup, Kind: "*"}}}}
	for entry, policies := range map[string][]engine.PolicyInfo{"no policy names policies": nil, "a policy names policies": {ofPolicy}} {
		validating, _, err := registration.Configurations(policies, nil, nil, registration.Settings{})
		require.NoError(t, err)
		matcher := matcherOf(t, validating.Webhooks[1].MatchConditions)
		for _, test := range tests {
			t.Run(entry+"/"+test.name, func(t *testing.T) {
				kind := schema.GroupVersionKind{Group: test.group, Version: "v1", Kind: "Any"}
				attributes := k8sadmission.NewAttributesRecord(test.object, test.old, kind, "", "name",
					schema.GroupVersionResource{Group: test.group, Version: "v1", Resource: test.resource}, test.subresource,
					test.operation, nil, false, &user.DefaultInfo{Name: test.user})
				result := matcher.Match(t.Context(), &k8sadmission.VersionedAttributes{
					Attributes: attributes, VersionedKind: kind, VersionedObject: test.object, VersionedOldObject: test.old,
				}, nil, nil)
				require.NoError(t, result.Error)
				called := test.called && (policies != nil || test.group != definition.PolicyGroup)
				assert.Equal(t, called, result.Matches, result.FailedConditionName)
			})
		}
	}
}

// TestConditionsOfScopes: the conditions on the name of a namespace select what the engine
// takes as the namespaces of a scope.
func TestConditionsOfScopes(t *testing.T) {
	shop := hierarchy.Key{Level: hierarchy.Team, Name: "shop"}
	policy := engine.PolicyInfo{Validates: true, Scope: shop, Follows: true}
	own, above := []string{"shop", "shop-*", "*-shop", "a*b*c"}, []string{"shop*", "my-shop", "a*", "other"}
	pairs := registration.ScopeConfigurations([]engine.PolicyInfo{policy}, []engine.ScopeInfo{{Key: shop, Namespaces: own, Above: [][]string{above}}}, admission.BuiltinResources(), registration.Settings{})
	require.Len(t, pairs, 1)
	matcher := matcherOf(t, pairs[0].Validating.Webhooks[1].MatchConditions)
	matched := 0
	for _, namespace := range []string{"shop", "shop-", "shop-eu", "shops", "my-shop", "your-shop", "abc", "a-b-c", "ab", "abcd", "xabc", "other", "bank", ""} {
		kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
		for _, operation := range []k8sadmission.Operation{k8sadmission.Create, k8sadmission.Delete, k8sadmission.Connect} {
			attributes := k8sadmission.NewAttributesRecord(nil, nil, kind, namespace, "name",
				schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "", operation, nil, false, &user.DefaultInfo{Name: "jane"})
			result := matcher.Match(t.Context(), &k8sadmission.VersionedAttributes{Attributes: attributes, VersionedKind: kind}, nil, nil)
			require.NoError(t, result.Error)
			want := admission.MatchesAny(own, namespace) && admission.MatchesAny(above, namespace)
			require.Equal(t, want, result.Matches, namespace)
			if want {
				matched++
			}
		}
	}
	require.Equal(t, 6*3, matched)
}

// TestMaintenanceConditions: the API server does not call the entries of scopes below the
// enterprise for requests by which Kubernetes deletes objects.
func TestMaintenanceConditions(t *testing.T) {
	const kubernetes = "system:serviceaccount:kube-system:"
	shop := hierarchy.Key{Level: hierarchy.Team, Name: "shop"}
	policy := engine.PolicyInfo{Validates: true, Scope: shop, Follows: true, Match: definition.Match{Operations: []string{"CREATE", "UPDATE", "DELETE"}}}
	pairs := registration.ScopeConfigurations([]engine.PolicyInfo{policy}, []engine.ScopeInfo{{Key: shop, Namespaces: []string{"shop"}}}, admission.BuiltinResources(), registration.Settings{})
	require.Len(t, pairs, 1)
	ofScope := pairs[0].Validating.Webhooks[1].MatchConditions
	policy.Scope, policy.Follows = hierarchy.Key{Level: hierarchy.Enterprise}, false
	fixed, _, err := registration.Configurations([]engine.PolicyInfo{policy}, admission.BuiltinResources(), nil, registration.Settings{})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		enterprise            bool
		user, group           string
		operation             k8sadmission.Operation
		resource, subresource string
		called                bool
	}{
		"a user":                        {false, "jane", "dev", k8sadmission.Delete, "configmaps", "", true},
		"a user's Pod":                  {false, "jane", "dev", k8sadmission.Delete, "pods", "", true},
		"the namespace controller":      {false, kubernetes + "namespace-controller", "", k8sadmission.Delete, "configmaps", "", false},
		"the garbage collector":         {false, kubernetes + "generic-garbage-collector", "", k8sadmission.Update, "configmaps", "", false},
		"the controller manager":        {false, "system:kube-controller-manager", "", k8sadmission.Delete, "configmaps", "", false},
		"the controller manager's Pods": {false, "system:kube-controller-manager", "", k8sadmission.Create, "pods", "", true},
		"a user's eviction":             {false, "jane", "dev", k8sadmission.Create, "pods", "eviction", true},
		"an administrator's eviction":   {false, "admin", "system:masters", k8sadmission.Create, "pods", "eviction", false},
		"who drains nodes":              {false, "drainer", "dev", k8sadmission.Create, "pods", "eviction", false},
		"who drains nodes deletes":      {false, "drainer", "dev", k8sadmission.Delete, "pods", "", true},
		"an autoscaler's eviction":      {false, kubernetes + "cluster-autoscaler", "system:serviceaccounts:kube-system", k8sadmission.Create, "pods", "eviction", false},
		"a kubelet":                     {false, "system:node:n", "system:nodes", k8sadmission.Delete, "pods", "", false},
		"a kubelet's status":            {false, "system:node:n", "system:nodes", k8sadmission.Update, "pods", "status", false},
		"a kubelet's ConfigMap":         {false, "system:node:n", "system:nodes", k8sadmission.Delete, "configmaps", "", true},
		"an enterprise's alone":         {true, kubernetes + "namespace-controller", "", k8sadmission.Delete, "configmaps", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			conditions := ofScope
			if c.enterprise {
				conditions = fixed.Webhooks[1].MatchConditions
			}
			kind := schema.GroupVersionKind{Version: "v1", Kind: "Any"}
			attributes := k8sadmission.NewAttributesRecord(nil, nil, kind, "shop", "name", kind.GroupVersion().WithResource(c.resource), c.subresource,
				c.operation, nil, false, &user.DefaultInfo{Name: c.user, Groups: []string{c.group}})
			result := matcherOf(t, conditions).Match(t.Context(), &k8sadmission.VersionedAttributes{Attributes: attributes, VersionedKind: kind}, nil, mayPatchNodes)
			require.NoError(t, result.Error)
			assert.Equal(t, c.called, result.Matches, result.FailedConditionName)
		})
	}
}

// mayPatchNodes authorizes the user drainer to patch nodes, and denies everything to other
// users.
var mayPatchNodes = authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetUser().GetName() == "drainer" && a.GetVerb() == "patch" && a.GetResource() == "nodes" && a.GetAPIGroup() == "" && a.GetNamespace() == "" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
})

func matcherOf(t *testing.T, conditions []admissionregistrationv1.MatchCondition) matchconditions.Matcher {
	t.Helper()
	compiler, err := admissioncel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	require.NoError(t, err)
	var expressions []admissioncel.ExpressionAccessor
	for i := range conditions {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&conditions[i]))
	}
	evaluator := compiler.CompileCondition(expressions,
		admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
	require.Empty(t, evaluator.CompilationErrors())
	fail := admissionregistrationv1.Fail
	return matchconditions.NewMatcher(evaluator, &fail, "webhook", "validate", "lintel")
}
