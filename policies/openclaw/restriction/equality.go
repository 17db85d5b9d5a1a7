package restriction

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// truthy is the formula that an expression holds: it is defined and not false.
func truthy(t term) formula {
	switch t := t.(type) {
	case constant:
		return ast.Compare(t.value, ast.Boolean(false)) != 0
	case list, collection:
		return true
	}
	return and(defined(t), not(equal(t, constantTerm(ast.Boolean(false)))))
}

func equal(a, b term) formula {
	ca, aConstant := a.(constant)
	cb, bConstant := b.(constant)
	switch {
	case aConstant && bConstant:
		return ast.Compare(ca.value, cb.value) == 0
	case a.key() == b.key():
		return defined(a)
	case aConstant:
		a, b = b, a
	case !bConstant && b.key() < a.key():
		a, b = b, a
	}
	if f, known := equalCollections(a, b); known {
		return f
	}
	if n, made, ok := counted(a, b); ok {
		if some, known := made.atLeast(n); known {
			if more, known := made.atLeast(n + 1); known {
				return and(some, not(more))
			}
		}
	}
	return atom{kind: isEqual, left: a, right: b}
}

// counted is the collection in a comparison of count with a small number.
func counted(size, number term) (n int, made collection, ok bool) {
	a, isCall := size.(application)
	c, isConstant := number.(constant)
	if !isCall || !isConstant || a.function != "count" {
		return 0, collection{}, false
	}
	limit, isNumber := c.value.(ast.Number)
	if !isNumber {
		return 0, collection{}, false
	}
	n, isInt := limit.Int()
	made, isMade := a.operands[0].(collection)
	return n, made, isInt && isMade && n >= 0
}

// equalCollections compares literals and computed collections. A constant is the second
// operand.
func equalCollections(a, b term) (formula, bool) {
	one, other := kindOf(a), kindOf(b)
	_, isConstant := b.(constant)
	switch {
	case one != "" && one != other && (other != "" || isConstant), isSet(a) && ofInput(b), isSet(b) && ofInput(a): // JSON has no sets
		return false, true
	case isSet(a) && isSet(b):
		return and(within(a, b), within(b, a)), true
	case isArrayMade(a) && isArrayMade(b): // which must also be in order
		return and(atom{kind: isEqual, left: a, right: b}, within(a, b), within(b, a)), true
	}
	left, leftIs := written(a)
	right, rightIs := written(b)
	if !leftIs || !rightIs {
		return nil, false
	}
	if len(left) != len(right) {
		return false, true
	}
	var all []formula
	for i := range left {
		all = append(all, equal(left[i], right[i]))
	}
	return and(all...), true
}

// less is the formula that a comes before b in OPA's order of all values.
func less(a, b term) formula {
	ca, aConstant := a.(constant)
	cb, bConstant := b.(constant)
	switch {
	case aConstant && bConstant:
		return ast.Compare(ca.value, cb.value) < 0
	case a.key() == b.key():
		return false
	case aConstant || !bConstant && b.key() < a.key():
		return and(defined(a), defined(b), not(less(b, a)), not(equal(a, b)))
	}
	if n, made, ok := counted(a, b); ok {
		if some, known := made.atLeast(n); known {
			return not(some)
		}
	}
	return atom{kind: isLess, left: a, right: b}
}

// This file compares terms, including set literals and the sets of comprehensions, partial
// rules and operators.

// kindOf is the type of a literal or computed collection, and "" for other terms.
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

// isArrayMade reports whether a term is a constant array or an array comprehension.
func isArrayMade(t term) bool {
	_, isList := t.(list)
	return !isList && kindOf(t) == "is_array"
}

// forSome is the formula that then holds for an element of a set or array.
func forSome(of term, then func(term) formula) formula {
	each := func(_, value term) formula { return then(value) }
	if made, ok := of.(collection); ok {
		return made.each(each)
	}
	return or(elementsOf(of.(constant).value, each)...)
}

// written returns the elements of a constant array or an array literal.
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

// within is the formula that a set is a subset of another.
func within(set, other term) formula {
	return not(forSome(set, func(e term) formula { return not(memberOf(other, e)) }))
}

// maxCounted limits the sizes that are expressed as the existence of elements.
const maxCounted = 3

// atLeast is the formula that a collection has at least n elements, if it can be expressed.
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
	// An array has an element for each solution. The key of the iteration distinguishes the
	// solutions.
	iteration, ok := c.each(func(term, term) formula { return atom{kind: isElement, left: opaque{}} }).(existence)
	if !ok {
		return nil, false
	}
	any := witness{storedKey{"any"}}
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

// several is the formula that there are n elements whose keys differ from each other and from
// the keys in before. The keys of a set are its elements.
func several(n int, before []term, each func(then func(key term) formula) formula) formula {
	if n == 0 {
		return true
	}
	return each(func(key term) formula {
		differs := forAll(before, func(other term) formula { return not(equal(other, key)) })
		return and(differs, several(n-1, append(slices.Clone(before), key), each))
	})
}

// unmarked returns a formula without its isElement atom, which must be one part of a
// conjunction.
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

// elementsOf applies then to the elements of a constant. A scalar has no elements.
func elementsOf(value ast.Value, then func(key, value term) formula) (all []formula) {
	switch value := value.(type) {
	case *ast.Array:
		for i := range value.Len() {
			all = append(all, then(constantTerm(ast.Number(fmt.Sprint(i))), constantTerm(value.Elem(i).Value)))
		}
	case ast.Object:
		value.Foreach(func(k, v *ast.Term) { all = append(all, then(constantTerm(k.Value), constantTerm(v.Value))) })
	case ast.Set:
		value.Foreach(func(e *ast.Term) { all = append(all, then(constantTerm(e.Value), constantTerm(e.Value))) })
	}
	return all
}
