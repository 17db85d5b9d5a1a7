package engine

import (
	"maps"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Reads are, for each kind of cluster objects, what is read of them.
type Reads map[admission.GroupVersionKind]*Fields

// WholeObjects are Reads of everything of some kinds.
func WholeObjects(kinds ...admission.GroupVersionKind) Reads {
	reads := Reads{}
	for _, kind := range kinds {
		reads[kind] = nil
	}
	return reads
}

// Union is what either reads.
func (r Reads) Union(other Reads) Reads {
	out := maps.Clone(r)
	if out == nil {
		out = Reads{}
	}
	for kind, fields := range other {
		if mine, ok := out[kind]; ok {
			fields = mine.Union(fields)
		}
		out[kind] = fields
	}
	return out
}
