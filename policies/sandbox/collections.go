package sandbox

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// keysPerStep is how many keys of paths walk makes for a step.
const keysPerStep = 24

// maxPlacing is how many values may be compared to put the elements of collections into one set.
const maxPlacing = 1 << 16

// spread bounds functions that put the elements of the operands from one position up to
// another into a set, or look for them in one. OPA's set gives an element the first free
// place from its hash on, and compares it with all that are in its way. The hash of a
// number is its integer part, and that of a list the sum of its elements': among the first
// n integers, n halves are compared with n each.
func spread(from, to int) checkFunc {
	return func(operands []*ast.Term) (int, error) { return inOneSet(operands[from:to]) }
}

// spreadWithin is spread for the elements of the collections in an operand.
func spreadWithin(operands []*ast.Term) (int, error) { return inOneSet(elementsOf(operands[0])) }

// anyPart says whether something holds of an element of a collection, or of a value of an
// object.
func anyPart(term *ast.Term, holds func(*ast.Term) bool) bool {
	switch value := term.Value.(type) {
	case *ast.Array:
		return value.Until(holds)
	case ast.Set:
		return value.Until(holds)
	case ast.Object:
		return value.Until(func(_, value *ast.Term) bool { return holds(value) })
	}
	return false
}

// elementsOf are the elements of a list or set, and the keys of an object.
func elementsOf(term *ast.Term) []*ast.Term {
	switch value := term.Value.(type) {
	case *ast.Array:
		elements := make([]*ast.Term, value.Len())
		for i := range elements {
			elements[i] = value.Elem(i)
		}
		return elements
	case ast.Set:
		return value.Slice()
	case ast.Object:
		return value.Keys()
	}
	return nil
}

// inOneSet does what OPA does to put the elements of collections into a set, up to the
// bound.
func inOneSet(collections []*ast.Term) (int, error) {
	count := 0
	for _, collection := range collections {
		count += size(collection)
	}
	if count <= terms.MaxAlike { // so many may be put into a set however alike they are
		return 0, nil
	}
	work, places := 0, make(map[int]*ast.Term, count)
	for _, collection := range collections {
		for _, element := range elementsOf(collection) {
			place := element.Hash()
			for other := places[place]; other != nil && !ast.KeyHashEqual(other.Value, element.Value); other = places[place] {
				if work += weight(element); work > maxPlacing {
					return count/elementsPerStep + work*probeUnits, exceeds("too many of %d elements have the same hash, or hashes that follow each other; use strings", count)
				}
				place++
			}
			places[place] = element
		}
	}
	return count/elementsPerStep + work*probeUnits, nil
}

// probeUnits is the cost of a value that is in the way of another.
const probeUnits = 1

// weight is how many ordinary values a value is compared as long as: of collections their
// elements, and many for a number that OPA makes a fraction of large integers of.
func weight(term *ast.Term) int {
	if number, ok := term.Value.(ast.Number); ok && eval.IsLong(number) {
		return longNumber
	}
	return 1 + size(term)
}

// longNumber is how many values are compared as fast as one number that is long.
const longNumber = 200

// sought bounds looking for a value among those of a collection.
func sought(operands []*ast.Term) (int, error) {
	if size(operands[1]) <= terms.MaxAlike {
		return 0, nil
	}
	values, _ := nodes(operands[0])
	work := values * weight(operands[0]) * size(operands[1])
	if _, isSet := operands[1].Value.(ast.Set); isSet && values == 1 {
		work = 0 // found by its hash
	}
	if work > 2*MaxMatchWork {
		return 0, exceeds("looking for a value with %d values in it among %d is too much work", values, size(operands[1]))
	}
	return work / (nodesPerStep / 4), nil
}
