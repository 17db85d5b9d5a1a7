package engine

import (
	"slices"

	"github.com/lintel-policy/lintel/policies/external"
)

// WithExternal returns the snapshot with the data of DataSources. Policies that name others cannot
// be evaluated.
func (s *Snapshot) WithExternal(data external.Set) *Snapshot {
	return &Snapshot{
		candidateIndex: candidateIndex{resources: s.resources, policies: s.policies, byKind: s.byKind, wildcards: s.wildcards, expanded: s.expanded},
		scoped:         s.scoped, scopes: s.scopes, policyDigest: s.policyDigest, external: data,
		exceptions: s.exceptions, allExceptions: s.allExceptions,
	}
}

// External is the data of DataSources by their names; not to be changed.
func (s *Snapshot) External() external.Set { return s.external }

// externalNames lists the DataSources that the policies name, sorted.
func (s *Snapshot) externalNames() (names []string) {
	for _, p := range s.policies {
		names = append(names, p.Meta.External...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
