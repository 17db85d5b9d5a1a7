package clusterdata

import (
	"maps"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Projection maps kinds of cluster objects to the fields that are read of them.
type Projection map[admission.GroupVersionKind]*Fields

// Whole is the projection that leaves nothing of some kinds out.
func Whole(kinds ...admission.GroupVersionKind) Projection {
	reads := Projection{}
	for _, kind := range kinds {
		reads[kind] = nil
	}
	return reads
}

// Union returns the fields in either projection.
func (r Projection) Union(other Projection) Projection {
	out := maps.Clone(r)
	if out == nil {
		out = Projection{}
	}
	for kind, fields := range other {
		if mine, ok := out[kind]; ok {
			fields = mine.Union(fields)
		}
		out[kind] = fields
	}
	return out
}
