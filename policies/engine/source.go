package engine

import (
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// PolicySet is a compiled source, of which snapshots consist.
type PolicySet = policyset.Set

// source is a policy set in a snapshot, with its scope in the hierarchy.
type source struct {
	definition.Pinned
	document   *policyset.Document
	projection clusterdata.Projection
	place      hierarchy.Place
	dataDigest string // of the data files
	// anyEntry reports that the policies are evaluated in the entries of both failure policies.
	anyEntry bool
}

// newSource returns the source of a set. If the source of a parent cannot decide, it denies:
// otherwise the requests that the parent forbids would pass.
func newSource(set *PolicySet, place hierarchy.Place) *source {
	s := &source{Pinned: set.Pinned(), document: set.Document(), projection: set.Projection(), place: place, dataDigest: set.DataDigest()}
	if place.Parent && s.FailurePolicy == definition.Ignore {
		// Until the registration is updated, the API server calls the other entry.
		s.FailurePolicy, s.anyEntry = definition.Fail, true
	}
	return s
}

// sourcesOf returns the sources of sets, in their order.
func sourcesOf(sets []*PolicySet) []*source {
	scopes := make([]hierarchy.Scope, len(sets))
	for i, set := range sets {
		scopes[i] = set.Pinned().Scope
	}
	places := hierarchy.PlacesOf(scopes)
	if places == nil { // no scope is below the enterprise
		places = make([]hierarchy.Place, len(sets))
	}
	sources := make([]*source, len(sets))
	for i, set := range sets {
		sources[i] = newSource(set, places[i])
	}
	return sources
}

// inScope reports whether a review is within the namespaces of the source's scope. For the
// enterprise, all namespaces, or none named, is the whole cluster. A scope below it has the
// objects in its namespaces that all scopes above have, too, and never a Namespace itself, which
// belongs to the administrators.
func (s *source) inScope(r *admission.Review) bool {
	if s.place.Below {
		return r.Namespace != "" && !r.IsNamespace() && s.place.Has(r.Namespace)
	}
	globs := s.Scope.Namespaces
	return len(globs) == 0 || slices.Contains(globs, "*") || r.InNamespaces(globs)
}

// visibility returns the namespaces of a kind of cluster objects that a source may read; nil is
// all.
func (s *source) visibility() func(kind admission.GroupVersionKind, namespace string) bool {
	if !s.place.Below {
		return nil
	}
	return s.place.Sees
}
