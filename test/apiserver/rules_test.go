package apiserver

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

var (
	operations = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

	pod        = admission.GroupVersionKind{Kind: "Pod"}
	namespace  = admission.GroupVersionKind{Kind: "Namespace"}
	deployment = admission.GroupVersionKind{Group: "apps", Kind: "Deployment"}
	hpa        = admission.GroupVersionKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
)

// TestRulesAreNeverNarrowerThanPolicies draws policies and requests: what a policy
// matches, the API server's own matcher sends.
func TestRulesAreNeverNarrowerThanPolicies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	resources := admission.BuiltinResources()
	kinds := []admission.GroupVersionKind{
		pod, deployment, namespace, hpa, {Group: "apps", Kind: "*"}, {Group: "*", Kind: "*"}, {Group: "*", Kind: "Pod"},
		{Group: "example.com", Kind: "Widget"}, {Kind: "Secret"}, {Group: "batch", Kind: "Job"},
	}
	requested := []admission.ServedResource{
		{Group: "example.com", Version: "v7", Kind: "Widget", Name: "widgets", Namespaced: true},
	}
	for _, kind := range []admission.GroupVersionKind{pod, deployment, namespace, hpa, {Kind: "Secret"}, {Group: "batch", Kind: "Job"}, {Kind: "ReplicationController"}} {
		resource, known := resources.ByKind(kind.Group, kind.Kind)
		require.True(t, known)
		requested = append(requested, resource)
	}
	some := func(all []string) (out []string) {
		for _, one := range all {
			if random.IntN(3) == 0 {
				out = append(out, one)
			}
		}
		return out
	}
	matched := 0
	for range 3000 {
		var policies []engine.PolicyInfo
		for range random.IntN(4) + 1 {
			match := definition.Match{Operations: some(operations), Subresources: some([]string{"scale", "status"})}
			for range random.IntN(3) {
				match.Kinds = append(match.Kinds, kinds[random.IntN(len(kinds))])
			}
			if random.IntN(2) == 0 {
				match.Expand = definition.ExpandDeny
			}
			policies = append(policies, engine.PolicyInfo{Match: match, Validates: true, Mutates: true})
		}
		// Policies that disagree about a version are refused by the gate; those that got in
		// are called all the same.
		validating, mutating, err := registration.Configurations(policies, resources, nil, registration.Settings{})
		if err != nil {
			require.ErrorContains(t, err, "HorizontalPodAutoscaler.autoscaling in every version")
		}
		for _, resource := range requested {
			for _, operation := range operations {
				for _, subresource := range []string{"", "scale"} {
					request := attributes(resource, subresource, operation)
					for _, policy := range policies {
						if wantsValidation(policy.Match, resource, subresource, operation) {
							matched++
							require.True(t, sends(validating.Webhooks[1].Rules, request), "validate %s %s/%s for %+v by %v",
								operation, resource.Name, subresource, policy.Match, validating.Webhooks[1].Rules)
						}
						if wantsMutation(policy.Match, resource, subresource, operation) {
							matched++
							require.True(t, sends(mutating.Webhooks[1].Rules, request), "mutate %s %s/%s for %+v by %v",
								operation, resource.Name, subresource, policy.Match, mutating.Webhooks[1].Rules)
						}
					}
				}
			}
		}
	}
	require.Greater(t, matched, 10000, "the draw must have something to say")
}

func wantsValidation(match definition.Match, resource admission.ServedResource, subresource, operation string) bool {
	if len(match.Operations) == 0 {
		match.Operations = []string{"CREATE", "UPDATE"}
	}
	// A workload's Pods are created, whether the workload is created or updated.
	workload := slices.Contains(admission.WorkloadKinds(), admission.GroupVersionKind{Group: resource.Group, Kind: resource.Kind})
	if workload && match.Expands() && subresource == "" && slices.Contains(match.Operations, "CREATE") &&
		(operation == "CREATE" || operation == "UPDATE") {
		return true
	}
	return slices.Contains(match.Operations, operation) && wantsKind(match, resource) &&
		(subresource == "" || slices.Contains(match.Subresources, subresource))
}

func wantsMutation(match definition.Match, resource admission.ServedResource, subresource, operation string) bool {
	if subresource != "" || !wantsKind(match, resource) {
		return false
	}
	if len(match.Operations) == 0 {
		return operation == "CREATE"
	}
	return (operation == "CREATE" || operation == "UPDATE") && slices.Contains(match.Operations, operation)
}

func wantsKind(match definition.Match, resource admission.ServedResource) bool {
	return len(match.Kinds) == 0 || slices.ContainsFunc(match.Kinds, func(kind admission.GroupVersionKind) bool {
		return (kind.Group == "*" || kind.Group == resource.Group) && (kind.Kind == "*" || kind.Kind == resource.Kind)
	})
}

func attributes(resource admission.ServedResource, subresource, operation string) k8sadmission.Attributes {
	in := ""
	if resource.Namespaced {
		in = "shop"
	}
	return k8sadmission.NewAttributesRecord(nil, nil,
		schema.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}, in, "name",
		schema.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Name},
		subresource, k8sadmission.Operation(operation), nil, false, nil)
}

func sends(registered []admissionregistrationv1.RuleWithOperations, request k8sadmission.Attributes) bool {
	return slices.ContainsFunc(registered, func(rule admissionregistrationv1.RuleWithOperations) bool {
		matcher := rules.Matcher{Rule: rule, Attr: request}
		return matcher.Matches()
	})
}
