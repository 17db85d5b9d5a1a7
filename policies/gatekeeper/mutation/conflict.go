package mutation

import (
	"fmt"
	"slices"
	"strings"
)

// Conflict is a mutator whose location implies another type of a field than the location of
// another mutator.
type Conflict struct {
	Mutator, Other *Mutator
	// At is the location that both have.
	At Location
}

// String describes the conflict.
func (c Conflict) String() string {
	return fmt.Sprintf("its location and that of %s imply different types at %s; neither is applied until one of them is changed", c.Other.ID, c.At)
}

// shape is the type that a location implies for a field.
type shape string

const (
	shapeUnknown shape = "unknown"
	shapeObject  shape = "object"
	shapeSet     shape = "set"
	shapeString  shape = "string"
)

// shapeAt is the implied type of the value at a segment.
func (m *Mutator) shapeAt(at int) shape {
	if at < len(m.Location)-1 {
		if next := m.Location[at+1]; next.isList() {
			return shape("list by " + next.key)
		}
		return shapeObject
	}
	switch m.ID.Kind {
	case KindModifySet:
		return shapeSet
	case KindAssignImage:
		return shapeString
	}
	return shapeUnknown
}

// FindConflicts returns the conflicts of mutators that are applied to the same kinds: one for each
// mutator that has any. As in Gatekeeper, they depend on the locations alone.
func FindConflicts(mutators []*Mutator) []Conflict {
	var found []Conflict
	for _, m := range mutators {
		for _, other := range mutators {
			if at, conflict := m.conflicts(other); conflict {
				found = append(found, Conflict{m, other, m.Location[:at+1]})
				break
			}
		}
	}
	return found
}

// conflicts returns the index of the segment at which the implied types of two mutators differ.
func (m *Mutator) conflicts(other *Mutator) (at int, conflict bool) {
	if m == other || !slices.ContainsFunc(m.Bindings, func(b Binding) bool { return slices.Contains(other.Bindings, b) }) {
		return 0, false
	}
	for at := range min(len(m.Location), len(other.Location)) {
		if m.Location[at].name() != other.Location[at].name() || m.Location[at].isList() != other.Location[at].isList() {
			return 0, false
		}
		mine, theirs := m.shapeAt(at), other.shapeAt(at)
		if mine != theirs && mine != shapeUnknown && theirs != shapeUnknown {
			return at, true
		}
		if m.endsBelow(other, at) || other.endsBelow(m, at) {
			return at, true
		}
	}
	return 0, false
}

// endsBelow reports whether the location ends at a segment with a type that has no parts, and the
// other location continues.
func (m *Mutator) endsBelow(other *Mutator, at int) bool {
	return m.ID.Kind == KindAssignImage && at == len(m.Location)-1 && len(other.Location) > len(m.Location)
}

// String is the location as it is written.
func (l Location) String() string {
	var b strings.Builder
	for i, s := range l {
		switch {
		case s.isGlob():
			fmt.Fprintf(&b, "[%s: *]", s.key)
		case s.isList():
			fmt.Fprintf(&b, "[%s: %v]", s.key, s.value)
		default:
			if i > 0 {
				b.WriteString(".")
			}
			b.WriteString(s.field)
		}
	}
	return b.String()
}
