package webhooks

import (
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/policies/engine"
)

// VersionConflict says that two policies of one entry want different versions of
// one kind. The API server converts an object only where no rule names its version,
// so one of the two would be handed shapes that it was not written for.
type VersionConflict struct {
	Entry       string
	Group, Kind string
	// Policies and Versions are the two sides: a package with its source, and what
	// it wants.
	Policies, Versions [2]string
}

// Error names both policies.
func (c VersionConflict) Error() string {
	kind := engine.GroupVersionKind{Group: c.Group, Kind: c.Kind}
	return fmt.Sprintf("policies %s and %s want %s in two versions, %s and %s: name the same version in both (entry %s)",
		c.Policies[0], c.Policies[1], kind, c.Versions[0], c.Versions[1], c.Entry)
}

// versionTable is the versions to register of the kinds that policies name: one,
// unless there is a conflict.
type versionTable map[engine.GroupVersionKind][]string // by kind without version

func (v versionTable) of(resource engine.Resource) []string {
	if versions := v[engine.GroupVersionKind{Group: resource.Group, Kind: resource.Kind}]; len(versions) > 0 {
		return versions
	}
	return []string{resource.Version}
}

// kindVersions finds the version of each kind: the one a policy names, else the
// preferred one. A policy that names "*" copes with any. Kinds that are not known
// are registered in every version, so there is nothing to choose.
func kindVersions(policies []engine.PolicyInfo, resources *engine.Resources) (versionTable, []VersionConflict) {
	table := versionTable{}
	first := map[engine.GroupVersionKind]string{} // the policy that chose
	var conflicts []VersionConflict
	for _, policy := range policies {
		for _, kind := range policy.Match.Kinds {
			resource, known := resources.ByKind(kind.Group, kind.Kind)
			if !known || kind.Version == anything {
				continue
			}
			version := kind.Version
			if version == "" {
				version = resource.Version
			}
			key := engine.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}
			switch {
			case len(table[key]) == 0:
				table[key], first[key] = []string{version}, nameWithSource(policy)
			case !slices.Contains(table[key], version):
				conflicts = append(conflicts, VersionConflict{
					Group: kind.Group, Kind: kind.Kind,
					Policies: [2]string{first[key], nameWithSource(policy)},
					Versions: [2]string{table[key][0], version},
				})
				table[key] = append(table[key], version)
			}
		}
	}
	return table, conflicts
}

func nameWithSource(policy engine.PolicyInfo) string {
	return fmt.Sprintf("%s (%s)", policy.Package, policy.Source)
}
