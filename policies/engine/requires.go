package engine

import (
	"maps"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
)

// Requires lists the kinds of cluster objects that the policies read, each once and
// without version.
func (s *PolicySet) Requires() []admission.GroupVersionKind {
	kinds := make([]admission.GroupVersionKind, 0, len(s.required))
	for _, key := range slices.Sorted(maps.Keys(s.required)) {
		kinds = append(kinds, s.required[key])
	}
	return kinds
}

// require notes kinds that a policy requires.
func (s *PolicySet) require(kinds []admission.GroupVersionKind) {
	for _, kind := range kinds {
		s.required[kind.String()] = kind
	}
}

// Projection returns the kinds that the policies require, with the fields that they read.
func (s *PolicySet) Projection() clusterdata.Projection { return s.projection }

// findReads puts together what the compiled rules of all units can read of the cluster
// objects that the policies require.
func (s *PolicySet) findReads() {
	s.projection = clusterdata.Projection{}
	for key, kind := range s.required {
		fields := &clusterdata.Fields{}
		for _, u := range s.units {
			for _, read := range []*clusterdata.Fields{u.clusters[key], u.clusters[""]} {
				if read != nil {
					fields = fields.Union(read)
				}
			}
		}
		s.projection[kind] = fields
	}
	for _, p := range s.policies {
		if p.form.foreign() { // the inventory is built from whole objects
			s.projection = s.projection.Union(clusterdata.Whole(p.meta.Requires...))
		}
	}
}

// lacks is the first kind a policy requires whose objects are not at hand.
func (e *evaluation) lacks(p *compiledPolicy) (admission.GroupVersionKind, bool) {
	for _, kind := range p.meta.Requires {
		if !e.options.Cluster.HasFields(kind, p.set.projection[kind.WithoutVersion()]) {
			return kind, true
		}
	}
	return admission.GroupVersionKind{}, false
}
