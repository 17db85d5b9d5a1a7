package engine

import (
	"cmp"
	"slices"

	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// ScopeInfo describes a scope below the enterprise that has sources in a snapshot.
type ScopeInfo struct {
	hierarchy.Key
	// Namespaces are the names and globs of all sources of the scope, sorted.
	Namespaces []string
	// Above are the names and globs of the scopes above that do not have all namespaces:
	// policies of the scope are evaluated only in namespaces that each list matches.
	Above [][]string
}

// scopesOf describes the scopes of sources.
func scopesOf(sources []*source) (scopes []ScopeInfo) {
	for _, source := range sources {
		key := source.Scope.Key()
		own, above := source.place.Namespaces()
		i := slices.IndexFunc(scopes, func(scope ScopeInfo) bool { return scope.Key == key })
		if i < 0 {
			scopes = append(scopes, ScopeInfo{Key: key, Namespaces: slices.Clone(own), Above: above})
			continue
		}
		scopes[i].Namespaces = append(scopes[i].Namespaces, own...)
		// Sources of one scope differ in the scopes above them only while they disagree.
		scopes[i].Above = slices.DeleteFunc(slices.Clone(scopes[i].Above), func(list []string) bool {
			return !slices.ContainsFunc(above, func(other []string) bool { return slices.Equal(list, other) })
		})
	}
	for i := range scopes {
		slices.Sort(scopes[i].Namespaces)
		scopes[i].Namespaces = slices.Compact(scopes[i].Namespaces)
	}
	slices.SortFunc(scopes, func(a, b ScopeInfo) int {
		return cmp.Or(cmp.Compare(a.Level.Rank(), b.Level.Rank()), cmp.Compare(a.Name, b.Name))
	})
	return scopes
}
