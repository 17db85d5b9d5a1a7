package restriction

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// This file has what is known of sets: those that are written out, and those that are
// made by comprehensions, partial rules and operators.

// kindOf is the type of what is written out or made: "" of other terms and of scalars.
func kindOf(t term) string {
	switch t := t.(type) {
	case collection:
		return t.kind
	case list:
		return "is_array"
	case constant:
		if !ast.IsScalar(t.value) {
			return typeOf(t.value)
		}
	}
	return ""
}

func isSet(t term) bool { return kindOf(t) == "is_set" }

// isArrayMade says that an array is constant, or made by a comprehension.
func isArrayMade(t term) bool {
	_, isList := t.(list)
	return !isList && kindOf(t) == "is_array"
}

// forSome is the formula that then holds of an element of a set or array.
func forSome(of term, then func(term) formula) formula {
	each := func(_, value term) formula { return then(value) }
	if made, ok := of.(collection); ok {
		return made.each(each)
	}
	return or(elementsOf(of.(constant).value, each)...)
}

// written are the elements of an array that is constant or written out.
func written(t term) (elements []term, ok bool) {
	switch t := t.(type) {
	case list:
		return t.elements, true
	case constant:
		if array, isArray := t.value.(*ast.Array); isArray {
			array.Foreach(func(e *ast.Term) { elements = append(elements, constantTerm(e.Value)) })
			return elements, true
		}
	}
	return nil, false
}

func memberOf(set, element term) formula {
	return forSome(set, func(e term) formula { return equal(e, element) })
}

// within is the formula that all elements of a set are those of another.
func within(set, other term) formula {
	return not(forSome(set, func(e term) formula { return not(memberOf(other, e)) }))
}

// maxCounted is the largest number that sizes are compared with element by element.
const maxCounted = 3

// atLeast is the formula that a collection has at least n elements, where that can be
// expressed.
func (c collection) atLeast(n int) (formula, bool) {
	switch {
	case n == 0:
		return true, true
	case n == 1:
		return c.any(), true
	case n > maxCounted:
		return nil, false
	case c.kind != "is_array":
		return several(n, nil, func(then func(term) formula) formula {
			return c.each(func(key, _ term) formula { return then(key) })
		}), true
	}
	// An array has an element for each solution. Those of one iteration are told apart
	// by its keys.
	iteration, ok := c.each(func(term, term) formula { return atom{kind: isElement, left: opaque{}} }).(existence)
	if !ok {
		return nil, false
	}
	any := witness{named{"any"}}
	if _, ok := unmarked(iteration.body(any, memberTerm(iteration.in, any))); !ok {
		return nil, false
	}
	return several(n, nil, func(then func(term) formula) formula {
		return existence{iteration.in, func(key, value term) formula {
			holds, ok := unmarked(iteration.body(key, value))
			if !ok {
				holds = atom{kind: isOpaque, left: opaque{"whether an element is counted: " + memberTerm(iteration.in, key).key()}}
			}
			return and(holds, then(key))
		}}
	}), true
}

// several is the formula that there are so many elements with keys, which for a set are
// the elements themselves, that differ from those before and from each other.
func several(n int, before []term, each func(then func(key term) formula) formula) formula {
	if n == 0 {
		return true
	}
	return each(func(key term) formula {
		differs := forAll(before, func(other term) formula { return not(equal(other, key)) })
		return and(differs, several(n-1, append(slices.Clone(before), key), each))
	})
}

// unmarked is a formula without the mark that there is an element, which must be one of
// the parts that all hold.
func unmarked(f formula) (formula, bool) {
	isMark := func(f formula) bool {
		a, ok := f.(atom)
		return ok && a.kind == isElement
	}
	if f == false || isMark(f) {
		return f != false, true
	}
	parts, _ := f.(conjunction)
	var rest []formula
	for _, part := range parts {
		if !isMark(part) {
			rest = append(rest, part)
		}
	}
	return and(rest...), len(rest) == len(parts)-1
}
