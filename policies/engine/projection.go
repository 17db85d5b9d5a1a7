package engine

import "maps"

// Reads are, for each kind of cluster objects, what is read of them.
type Reads map[GroupVersionKind]*Fields

// WholeObjects are Reads of everything of some kinds.
func WholeObjects(kinds ...GroupVersionKind) Reads {
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
