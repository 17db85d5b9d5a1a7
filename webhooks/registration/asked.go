package registration

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// Asked says in which versions of their kinds the API server hands objects to the
// entries of user policies.
type Asked struct {
	entries   [][]admissionregistrationv1.RuleWithOperations
	resources *admission.Resources
}

// NewAsked reads the configurations that the policies are registered by. A conflict of
// versions leaves the entry with both.
func NewAsked(policies []engine.PolicyInfo, scopes []engine.ScopeInfo, resources *admission.Resources) Asked {
	asked := Asked{resources: resources}
	fixed, _ := fixedPair(ofEnterprise(policies), resources, nil, Settings{})
	for _, pair := range append([]Pair{fixed}, ScopeConfigurations(policies, scopes, resources, Settings{})...) {
		for _, webhook := range pair.Mutating.Webhooks {
			asked.entries = append(asked.entries, webhook.Rules)
		}
		for _, webhook := range pair.Validating.Webhooks {
			asked.entries = append(asked.entries, webhook.Rules)
		}
	}
	return asked
}

// Versions are those in which the entries get an object of a resource that arrives in
// the resource's version: none where no entry is called. The API server converts for an
// entry of which no rule takes the object as it is.
func (a Asked) Versions(resource admission.ServedResource, operation string) []string {
	var out []string
	for _, rules := range a.entries {
		version, called := a.version(rules, resource, operation)
		if called && !slices.Contains(out, version) {
			out = append(out, version)
		}
	}
	return out
}

// version honours earlier rules first, as the API server does.
func (a Asked) version(rules []admissionregistrationv1.RuleWithOperations, resource admission.ServedResource, operation string) (string, bool) {
	takes := func(rule admissionregistrationv1.RuleWithOperations, version string) bool {
		resource.Version = version
		return ruleTakes(rule, resource, operation)
	}
	for _, rule := range rules {
		if takes(rule, resource.Version) {
			return resource.Version, true
		}
	}
	for _, rule := range rules {
		for _, version := range a.resources.Versions(resource.Group, resource.Kind) {
			if takes(rule, version) {
				return version, true
			}
		}
	}
	return "", false
}

func ruleTakes(rule admissionregistrationv1.RuleWithOperations, resource admission.ServedResource, operation string) bool {
	if !slices.Contains(rule.Operations, admissionregistrationv1.OperationType(operation)) {
		return false
	}
	wanted := resourceTargets(resource, versionTable{{Group: resource.Group, Kind: resource.Kind}: {resource.Version}})[0]
	return slices.ContainsFunc(rule.Resources, func(name string) bool {
		return target{rule.APIGroups[0], rule.APIVersions[0], name, *rule.Scope}.covers(wanted)
	})
}
