package bounds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// shape is the type of a value. Equal types share one shape, so that a shape only takes the
// memory of its own parts, no matter how often they occur in each other.
type shape struct {
	kind  string
	keys  []string // of an object, those that are constant; the parts begin with their values
	parts []*shape
	id    int
	nodes int // of the type as a tree, at most maxTypeNodes+1
	// steps is how long it takes to compare it with one like it, at most maxTypeSteps+1:
	// each member of a union is compared with each of the other.
	steps int
}

// The kinds of shapes that have parts, and that of a value of any type.
const (
	shapeAny    = "any"
	shapeArray  = "array"  // of these elements
	shapeList   = "list"   // of any number of elements of one type
	shapeSet    = "set"    // of elements of one type
	shapeObject = "object" // behind the values of its keys, types of other keys and values in turn
	shapeUnion  = "union"  // of any of these types
)

// shape returns the shape of a kind with parts.
func (t *ruleTypes) shape(kind string, keys []string, parts ...*shape) *shape {
	var key strings.Builder
	fmt.Fprintf(&key, "%s %q", kind, keys)
	nodes, steps := 1+len(keys), 1
	for _, part := range parts {
		fmt.Fprintf(&key, " %d", part.id)
		nodes = min(nodes+part.nodes, maxTypeNodes+1)
		steps = min(steps+part.steps, maxTypeSteps+1)
	}
	if kind == shapeUnion {
		steps = min(steps*len(parts), maxTypeSteps+1)
	}
	known := t.shapes[key.String()]
	if known == nil {
		known = &shape{kind, keys, parts, len(t.shapes), nodes, steps}
		t.shapes[key.String()] = known
	}
	return known
}

// union is the shape of a value that has one of several shapes: any type if there are none.
func (t *ruleTypes) union(shapes []*shape) *shape {
	var members []*shape
	for _, one := range shapes {
		switch one.kind {
		case shapeAny:
			return one
		case shapeUnion:
			members = append(members, one.parts...)
		default:
			members = append(members, one)
		}
	}
	slices.SortFunc(members, func(a, b *shape) int { return a.id - b.id })
	members = slices.Compact(members)
	switch len(members) {
	case 0:
		return t.shape(shapeAny, nil)
	case 1:
		return members[0]
	default:
		return t.shape(shapeUnion, nil, members...)
	}
}

// part is the shape of the value at a key.
func (t *ruleTypes) part(whole *shape, key *ast.Term) *shape {
	if !ast.IsConstant(key.Value) {
		return t.values(whole)
	}
	switch whole.kind {
	case shapeArray:
		number, _ := key.Value.(ast.Number)
		if i, isIndex := number.Int(); isIndex && i >= 0 && i < len(whole.parts) {
			return whole.parts[i]
		}
	case shapeObject:
		if i := slices.Index(whole.keys, key.String()); i >= 0 {
			return whole.parts[i]
		}
	case shapeUnion:
		var found []*shape
		for _, member := range whole.parts {
			found = append(found, t.part(member, key))
		}
		return t.union(found)
	}
	return t.values(whole)
}

// values is the shape of the values at all keys.
func (t *ruleTypes) values(whole *shape) *shape {
	var found []*shape
	switch whole.kind {
	case shapeArray, shapeList, shapeSet:
		found = whole.parts
	case shapeObject:
		found = slices.Clone(whole.parts[:len(whole.keys)])
		for i := len(whole.keys) + 1; i < len(whole.parts); i += 2 {
			found = append(found, whole.parts[i])
		}
	case shapeUnion:
		for _, member := range whole.parts {
			found = append(found, t.values(member))
		}
	}
	return t.union(found)
}

// keysOf is the shape of the keys.
func (t *ruleTypes) keysOf(whole *shape) *shape {
	var found []*shape
	switch whole.kind {
	case shapeSet:
		found = whole.parts
	case shapeObject:
		for i := len(whole.keys); i < len(whole.parts); i += 2 {
			found = append(found, whole.parts[i])
		}
	case shapeUnion:
		for _, member := range whole.parts {
			found = append(found, t.keysOf(member))
		}
	}
	return t.union(found)
}
