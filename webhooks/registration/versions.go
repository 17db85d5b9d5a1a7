package registration

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// versionConflict says that two policies of one entry want different versions of
// one kind. The API server converts an object only where no rule names its version,
// so one of the two would be handed shapes that it was not written for. A policy whose
// rule takes every version is such a policy for all others.
type versionConflict struct {
	Entry       string
	Group, Kind string
	// Policies and Versions are the two sides: a package with its source, and the version that it
	// expects: "*" where its rule accepts every version.
	Policies, Versions [2]string
}

// Error names both policies.
func (c versionConflict) Error() string {
	kind := admission.GroupVersionKind{Group: c.Group, Kind: c.Kind}
	if c.Versions[0] == anything {
		return fmt.Sprintf("policy %s takes %s in every version, since it names no kinds, \"*\" or a kind that the cluster does not have, and policy %s is written for %s of it: name kinds in the first, or version \"*\" in the second if it reads all versions (entry %s)",
			c.Policies[0], kind, c.Policies[1], c.Versions[1], c.Entry)
	}
	return fmt.Sprintf("policies %s and %s want %s in two versions, %s and %s: name the same version in both (entry %s)",
		c.Policies[0], c.Policies[1], kind, c.Versions[0], c.Versions[1], c.Entry)
}

// versionTable is the versions to register of the kinds that policies name: one,
// unless there is a conflict.
type versionTable map[admission.GroupVersionKind][]string // by kind without version

func (v versionTable) of(resource admission.ServedResource) []string {
	if versions := v[admission.GroupVersionKind{Group: resource.Group, Kind: resource.Kind}]; len(versions) > 0 {
		return versions
	}
	return []string{resource.Version}
}

// kindVersions finds the version of each kind: the one a policy names, else the preferred one.
// A policy that names "*" copes with any. Kinds that are not known are registered in every
// version, so there is nothing to choose. Policies that follow are not considered, nor are
// those that evaluate any version: kinds that only they name are registered in every version.
func kindVersions(policies []engine.PolicyInfo, resources *admission.Resources) (versionTable, []versionConflict) {
	table := versionTable{}
	first := map[admission.GroupVersionKind]string{} // the policy that chose
	var conflicts []versionConflict
	for _, policy := range policies {
		if policy.Follows || policy.AnyVersion {
			continue
		}
		for _, kind := range policy.Match.Kinds {
			resource, known := resources.ByKind(kind.Group, kind.Kind)
			if !known || kind.Version == anything {
				continue
			}
			version := cmp.Or(kind.Version, resource.Version)
			key := admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}
			switch {
			case len(table[key]) == 0:
				table[key], first[key] = []string{version}, nameWithSource(policy)
			case !slices.Contains(table[key], version):
				conflicts = append(conflicts, versionConflict{
					Group: kind.Group, Kind: kind.Kind,
					Policies: [2]string{first[key], nameWithSource(policy)},
					Versions: [2]string{table[key][0], version},
				})
				table[key] = append(table[key], version)
			}
		}
	}
	table.open(policies)
	return table, conflicts
}

// open registers every version of kinds that are only named by policies that evaluate any
// version.
func (v versionTable) open(policies []engine.PolicyInfo) {
	for _, policy := range policies {
		if !policy.AnyVersion {
			continue
		}
		for _, kind := range policy.Match.Kinds {
			one := func(other engine.PolicyInfo) bool { return !other.AnyVersion && other.Match.NamesKind(kind) }
			if !slices.ContainsFunc(policies, one) {
				v[admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}] = []string{anything}
			}
		}
	}
}

// wideRuleSet are the rules of the enterprise that take every version. Policies that follow
// get the kinds that they take as they arrive, too: a patch is compared with those of the
// enterprise in the version that these get.
type wideRuleSet []wideRule

type wideRule struct {
	group      string // "*" is every group
	operations []string
}

func wideRulesOf(above []engine.PolicyInfo, resources *admission.Resources, operations func(definition.Match) []string) (wide wideRuleSet) {
	for _, policy := range above {
		for _, t := range namedTargets(policy.Match.Kinds, resources, nil) {
			if t.version == anything {
				wide = append(wide, wideRule{t.group, operations(policy.Match)})
			}
		}
	}
	return wide
}

// apply returns the table for a policy.
func (w wideRuleSet) apply(table versionTable, policy engine.PolicyInfo, resources *admission.Resources, operations []string) versionTable {
	if !policy.Follows || len(w) == 0 {
		return table
	}
	own := maps.Clone(table)
	for _, resource := range resources.All() {
		kind := admission.GroupVersionKind{Group: resource.Group, Kind: resource.Kind}
		takes := func(rule wideRule) bool {
			return (rule.group == anything || rule.group == kind.Group) && len(only(rule.operations, operations...)) > 0
		}
		if policy.Match.NamesKind(kind) && slices.ContainsFunc(w, takes) {
			own[kind] = []string{anything}
		}
	}
	return own
}

// openConflicts finds the policies written for one version of a kind that has several, together
// with another whose rule accepts every version of the kind.
func openConflicts(policies []engine.PolicyInfo, resources *admission.Resources, operations func(definition.Match) []string) []versionConflict {
	var conflicts []versionConflict
	for _, policy := range policies {
		if policy.Follows || policy.AnyVersion {
			continue
		}
		for _, kind := range policy.Match.Kinds {
			resource, known := resources.ByKind(kind.Group, kind.Kind)
			version := cmp.Or(kind.Version, resource.Version)
			if !known || version == anything || onlyVersion(resources, kind, version) || readsEveryVersion(policy.Match, kind) {
				continue
			}
			wanted := operations(policy.Match)
			j := slices.IndexFunc(policies, func(other engine.PolicyInfo) bool {
				return !other.Follows && takesEveryVersion(other.Match, resource, resources) && len(only(operations(other.Match), wanted...)) > 0
			})
			if j < 0 {
				continue
			}
			conflicts = append(conflicts, versionConflict{
				Group: kind.Group, Kind: kind.Kind,
				Policies: [2]string{nameWithSource(policies[j]), nameWithSource(policy)},
				Versions: [2]string{anything, version},
			})
		}
	}
	return conflicts
}

func onlyVersion(resources *admission.Resources, kind admission.GroupVersionKind, version string) bool {
	return slices.Equal(resources.Versions(kind.Group, kind.Kind), []string{version})
}

// readsEveryVersion says whether a policy names the kind by "*" or in version "*", too.
func readsEveryVersion(match definition.Match, kind admission.GroupVersionKind) bool {
	names := func(mine, its string) bool { return mine == anything || mine == its }
	return slices.ContainsFunc(match.Kinds, func(other admission.GroupVersionKind) bool {
		return names(other.Group, kind.Group) && names(other.Kind, kind.Kind) &&
			(other.Version == anything || other.Version == "" && (other.Group == anything || other.Kind == anything))
	})
}

// takesEveryVersion says whether a rule of the match names no version of a resource.
func takesEveryVersion(match definition.Match, resource admission.ServedResource, resources *admission.Resources) bool {
	return slices.ContainsFunc(namedTargets(match.Kinds, resources, nil), func(t target) bool {
		return t.version == anything && (t.group == anything || t.group == resource.Group)
	})
}

func nameWithSource(policy engine.PolicyInfo) string {
	return fmt.Sprintf("%s (%s)", policy.Package, policy.Source)
}
