package registration

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

const anything = "*"

// operationOrder is how operations are written in a rule.
var operationOrder = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

// target is one resource, or subresource, that an entry is called for.
type target struct {
	group, version, resource string
	scope                    admissionregistrationv1.ScopeType
}

// interest is what an entry wants to be called for: operations by target.
type interest map[target]sets.Set[string]

func (i interest) add(t target, operations []string) {
	if len(operations) == 0 {
		return
	}
	if i[t] == nil {
		i[t] = sets.New[string]()
	}
	i[t].Insert(operations...)
}

// validateOperations are those of deny and warn.
func validateOperations(match definition.Match) []string {
	if len(match.Operations) == 0 {
		return []string{"CREATE", "UPDATE"}
	}
	return match.Operations
}

// mutateOperations are those of patch and defaults: CREATE unless the policy names
// UPDATE, and never another.
func mutateOperations(match definition.Match) []string {
	if len(match.Operations) == 0 {
		return []string{"CREATE"}
	}
	return only(match.Operations, "CREATE", "UPDATE")
}

func only(operations []string, wanted ...string) []string {
	return slices.DeleteFunc(slices.Clone(operations), func(o string) bool { return !slices.Contains(wanted, o) })
}

// validatingRules are the union of the matches of policies that deny or warn, and of those
// whose patches are checked. above are the policies of the enterprise that decide in which
// versions policies that follow get objects.
func validatingRules(policies, above []engine.PolicyInfo, resources *admission.Resources) ([]admissionregistrationv1.RuleWithOperations, []versionConflict) {
	versions, conflicts := kindVersions(slices.Concat(above, policies), resources)
	conflicts = append(conflicts, openConflicts(policies, resources, validateOperations)...)
	wide := wideRulesOf(above, resources, validateOperations)
	wanted := interest{}
	for _, policy := range policies {
		match := policy.Match
		operations := validateOperations(match)
		targets := policyTargets(policy, resources, wide.apply(versions, policy, resources, operations))
		if policy.Mutates && policy.Parent {
			for _, t := range targets {
				wanted.add(t, mutateOperations(match))
			}
		}
		if !policy.Validates {
			continue
		}
		for _, t := range targets {
			wanted.add(t, operations)
			for _, subresource := range match.Subresources {
				sub := t
				sub.resource += "/" + subresource
				wanted.add(sub, operations)
			}
		}
		for _, carrier := range match.Carriers {
			parent, known := resources.ByName(carrier.Group, carrier.Resource)
			if !known || policy.Follows && !parent.Namespaced {
				continue
			}
			verbs := []string{"CREATE", "UPDATE"}
			if carrier.Connect {
				verbs = []string{"CONNECT"}
			}
			for _, t := range resourceTargets(parent, versions) {
				t.resource += "/" + carrier.Name
				wanted.add(t, only(operations, verbs...))
			}
		}
		// The Pods of a workload are evaluated as created, for any operation on the workload.
		if match.Expands() && slices.Contains(operations, "CREATE") {
			for _, t := range namedTargets(admission.WorkloadKinds(), resources, versions) {
				wanted.add(t, []string{"CREATE", "UPDATE"})
			}
		}
	}
	return wanted.rules(), conflicts
}

// mutatingRules are the union of the matches of policies that patch or default.
func mutatingRules(policies, above []engine.PolicyInfo, resources *admission.Resources) ([]admissionregistrationv1.RuleWithOperations, []versionConflict) {
	versions, conflicts := kindVersions(slices.Concat(above, policies), resources)
	conflicts = append(conflicts, openConflicts(policies, resources, mutateOperations)...)
	wide := wideRulesOf(above, resources, mutateOperations)
	wanted := interest{}
	for _, policy := range policies {
		for _, t := range policyTargets(policy, resources, wide.apply(versions, policy, resources, mutateOperations(policy.Match))) {
			resource, known := resources.ByName(t.group, t.resource)
			if policy.Follows && known && !policy.MutatesKind(admission.GroupVersionKind{Group: t.group, Kind: resource.Kind}) {
				continue
			}
			wanted.add(t, mutateOperations(policy.Match))
		}
	}
	return wanted.rules(), conflicts
}

// policyTargets are what a policy is called for. One that follows is called for kinds
// that are known, each in the one version that is registered: a rule for every version
// would take the others' conversions away, and its kinds are namespaced.
func policyTargets(policy engine.PolicyInfo, resources *admission.Resources, versions versionTable) []target {
	if !policy.Follows {
		return namedTargets(policy.Match.Kinds, resources, versions)
	}
	var out []target
	for _, resource := range resources.All() {
		if resource.Namespaced && policy.Match.NamesKind(admission.GroupVersionKind{Group: resource.Group, Kind: resource.Kind}) {
			out = append(out, resourceTargets(resource, versions)...)
		}
	}
	return out
}

// namedTargets are the resources of kinds. A kind that nothing is known about may be
// any resource of its group, in any version, unless its objects come with subresources.
func namedTargets(kinds []admission.GroupVersionKind, resources *admission.Resources, versions versionTable) []target {
	if len(kinds) == 0 {
		return []target{{anything, anything, anything, admissionregistrationv1.AllScopes}}
	}
	var out []target
	for _, kind := range kinds {
		resource, known := resources.ByKind(kind.Group, kind.Kind)
		switch {
		case resources.OnlyInSubresources(kind):
			continue
		case !known:
			out = append(out, target{kind.Group, anything, anything, admissionregistrationv1.AllScopes})
			continue
		}
		out = append(out, resourceTargets(resource, versions)...)
	}
	return out
}

func resourceTargets(resource admission.ServedResource, versions versionTable) []target {
	scope := admissionregistrationv1.ClusterScope
	if resource.Namespaced {
		scope = admissionregistrationv1.NamespacedScope
	}
	var out []target
	for _, version := range versions.of(resource) {
		out = append(out, target{resource.Group, version, resource.Name, scope})
	}
	return out
}

// rules groups the targets into few rules, always in the same order, so that
// applying the same policies again changes nothing.
func (i interest) rules() []admissionregistrationv1.RuleWithOperations {
	type group struct {
		group, version, operations string
		scope                      admissionregistrationv1.ScopeType
	}
	resources := map[group][]string{}
	for t, operations := range i {
		if i.covered(t) {
			continue
		}
		key := group{t.group, t.version, strings.Join(only(operationOrder, operations.UnsortedList()...), ","), t.scope}
		resources[key] = append(resources[key], t.resource)
	}
	keys := slices.SortedFunc(maps.Keys(resources), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.version, b.version),
			cmp.Compare(a.scope, b.scope), cmp.Compare(a.operations, b.operations))
	})
	var out []admissionregistrationv1.RuleWithOperations
	for _, key := range keys {
		slices.Sort(resources[key])
		rule := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
			APIGroups:   []string{key.group},
			APIVersions: []string{key.version},
			Resources:   resources[key],
			Scope:       new(key.scope),
		}}
		for _, operation := range strings.Split(key.operations, ",") {
			rule.Operations = append(rule.Operations, admissionregistrationv1.OperationType(operation))
		}
		out = append(out, rule)
	}
	return out
}

// covered says whether another target already asks for all of this one.
func (i interest) covered(t target) bool {
	for other, operations := range i {
		if other != t && other.covers(t) && operations.IsSuperset(i[t]) {
			return true
		}
	}
	return false
}

func (t target) covers(other target) bool {
	matches := func(mine, its string) bool { return mine == anything || mine == its }
	if !matches(t.group, other.group) || !matches(t.version, other.version) || !matches(string(t.scope), string(other.scope)) {
		return false
	}
	// "*" is every resource but no subresource, "pods/*" every subresource but not
	// the resource, and "*/*" both.
	name, sub, _ := strings.Cut(t.resource, "/")
	otherName, otherSub, _ := strings.Cut(other.resource, "/")
	switch {
	case !matches(name, otherName):
		return false
	case sub == anything && otherSub == "":
		return name == anything
	default:
		return matches(sub, otherSub)
	}
}
