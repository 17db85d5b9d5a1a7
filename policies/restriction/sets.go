package restriction

import "slices"

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
		for _, kind := range []string{"is_array", "is_object", "is_set"} {
			if rank(t.value) == typeRanks[kind] {
				return kind
			}
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

// some is the formula that then holds of an element of a set or array.
func some(of term, then func(term) formula) formula {
	each := func(_, value term) formula { return then(value) }
	if made, ok := of.(collection); ok {
		return made.each(each)
	}
	return or(elementsOf(of.(constant).value, each)...)
}

func memberOf(set, element term) formula {
	return some(set, func(e term) formula { return equal(e, element) })
}

// within is the formula that all elements of a set are those of another.
func within(set, other term) formula {
	return not(some(set, func(e term) formula { return not(memberOf(other, e)) }))
}

// maxCounted is the largest number that sizes are compared with element by element.
const maxCounted = 3

// atLeast is the formula that a collection has so many elements, where that can be said
// by naming them.
func (c collection) atLeast(n int) (formula, bool) {
	switch {
	case n == 0:
		return true, true
	case n == 1:
		return c.any(), true
	case n > maxCounted:
		return nil, false
	case c.kind != "is_array":
		return c.others(n, nil), true
	}
	// An array has an element for each solution. Those of one iteration are told apart
	// by its keys.
	iteration, ok := c.each(func(term, term) formula { return atom{kind: isElement, left: opaque{}} }).(existence)
	if !ok {
		return nil, false
	}
	any := witness{text: "any"}
	if _, ok := unmarked(iteration.body(any, memberTerm(iteration.in, any))); !ok {
		return nil, false
	}
	return iteration.others(n, nil), true
}

// others is the formula that there are so many elements with keys, which for a set are
// the elements themselves, that differ from those before and from each other.
func (c collection) others(n int, before []term) formula {
	if n == 0 {
		return true
	}
	return c.each(func(key, _ term) formula {
		return and(differs(key, before), c.others(n-1, append(slices.Clone(before), key)))
	})
}

func (e existence) others(n int, before []term) formula {
	if n == 0 {
		return true
	}
	return existence{e.in, func(key, value term) formula {
		holds, ok := unmarked(e.body(key, value))
		if !ok {
			holds = atom{kind: isOpaque, left: opaque{"whether an element is counted: " + memberTerm(e.in, key).key()}}
		}
		return and(holds, differs(key, before), e.others(n-1, append(slices.Clone(before), key)))
	}}
}

func differs(key term, before []term) formula {
	var all []formula
	for _, other := range before {
		all = append(all, not(equal(other, key)))
	}
	return and(all...)
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
