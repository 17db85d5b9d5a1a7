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

// Scopes lists the scopes below the enterprise, broadest first.
func (s *Snapshot) Scopes() []ScopeInfo { return s.scopes }

// Scope returns the scope with an ID, of those that have sources in the snapshot.
func (s *Snapshot) Scope(id string) (hierarchy.Key, bool) {
	if enterprise := (hierarchy.Key{Level: hierarchy.Enterprise}); id == enterprise.ID() {
		return enterprise, true
	}
	for _, scope := range s.scopes {
		if scope.ID() == id {
			return scope.Key, true
		}
	}
	return hierarchy.Key{}, false
}

func scopesOf(sets []*PolicySet) (scopes []ScopeInfo) {
	for _, set := range sets {
		key := set.source.Scope.Key()
		own, above := set.place.Namespaces()
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
