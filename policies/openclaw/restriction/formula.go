package restriction

import (
	"iter"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A formula is true or false for an input.
type formula any

type (
	negation    struct{ of formula }
	conjunction []formula
	disjunction []formula
	// existence is true if body is true for an element of a collection of the input.
	existence struct {
		in   term
		body func(key, value term) formula
	}
)

// atomKind is the predicate of an atom.
type atomKind string

const (
	isDefined atomKind = "defined" // the first is defined
	isEqual   atomKind = "equal"   // both are defined and equal
	isLess    atomKind = "less"    // both are defined, and the first comes before the second
	isTrue    atomKind = "true"    // a function of boolean result is defined and true
	isOpaque  atomKind = "opaque"  // an untranslated condition holds
	isElement atomKind = "element" // the first, or the second at the first, is in the collection that is being serialized
)

// atom is a formula without subformulas. Atoms with equal keys are equivalent.
type atom struct {
	kind        atomKind
	left, right term
}

// parts are the terms of an atom and their subterms.
func (a atom) parts() iter.Seq[term] { return parts(a.left, a.right) }

func (a atom) key() string {
	text := string(a.kind) + " " + a.left.key()
	if a.right != nil {
		text += " | " + a.right.key()
	}
	return text
}

func not(f formula) formula {
	switch f := f.(type) {
	case bool:
		return !f
	case negation:
		return f.of
	}
	return negation{f}
}

// and omits formulas that are true, and is false if a term equals two constants.
func and(formulas ...formula) formula {
	out, isFalse := flatten[conjunction](formulas, false)
	switch {
	case isFalse || contradicts(out):
		return false
	case len(out) == 0:
		return true
	case len(out) == 1:
		return out[0]
	}
	return out
}

// flatten merges nested formulas of the same kind and omits constants, unless one of them
// determines the result.
func flatten[T ~[]formula](formulas []formula, decides bool) (out T, decided bool) {
	for _, f := range formulas {
		switch f := f.(type) {
		case bool:
			if f == decides {
				return nil, true
			}
		case T:
			out = append(out, f...)
		default:
			out = append(out, f)
		}
	}
	return out, false
}

// contradicts checks equalities with constants only. It keeps formulas small, because the
// exclusive cases of a function are removed early.
func contradicts(all conjunction) bool {
	values := map[string]ast.Value{}
	for _, f := range all {
		a, ok := f.(atom)
		if !ok || a.kind != isEqual {
			continue
		}
		c, ok := a.right.(constant)
		if !ok {
			continue
		}
		if before, found := values[a.left.key()]; found && ast.Compare(before, c.value) != 0 {
			return true
		}
		values[a.left.key()] = c.value
	}
	return false
}

// forAll is the formula that a condition holds for each of the terms.
func forAll(of []term, holds func(term) formula) formula {
	var formulas []formula
	for _, t := range of {
		formulas = append(formulas, holds(t))
	}
	return and(formulas...)
}

func or(formulas ...formula) formula {
	out, isTrue := flatten[disjunction](formulas, true)
	switch {
	case isTrue:
		return true
	case len(out) == 0:
		return false
	case len(out) == 1:
		return out[0]
	}
	return out
}

// definedAs has the operand types with which a function of OPA has a result. Whether a
// function that is not listed has a result is an atom.
var definedAs = map[string][]string{
	"lower": {"is_string"}, "upper": {"is_string"}, "trim_space": {"is_string"},
	"trim": {"is_string"}, "trim_left": {"is_string"}, "trim_right": {"is_string"},
	"trim_prefix": {"is_string"}, "trim_suffix": {"is_string"}, "split": {"is_string"},
	"startswith": {"is_string"}, "endswith": {"is_string"}, "contains": {"is_string"},
	"plus": {"is_number"}, "mul": {"is_number"}, "abs": {"is_number"},
	"round": {"is_number"}, "ceil": {"is_number"}, "floor": {"is_number"},
	"count": {"is_string", "is_array", "is_object", "is_set"}, "array.concat": {"is_array"}, "sort": {"is_array", "is_set"},
	"is_null": {}, "is_boolean": {}, "is_number": {}, "is_string": {}, "is_array": {}, "is_object": {}, "is_set": {},
}

// resultOf is the type of the result of some functions.
var resultOf = map[string]string{
	"lower": "is_string", "upper": "is_string", "trim_space": "is_string", "trim": "is_string",
	"trim_left": "is_string", "trim_right": "is_string", "trim_prefix": "is_string", "trim_suffix": "is_string",
	"sprintf": "is_string", "concat": "is_string", "replace": "is_string", "format_int": "is_string", "to_number": "is_number", "split": "is_array", "sort": "is_array", "array.concat": "is_array", "array.reverse": "is_array", "array.slice": "is_array", "plus": "is_number", "mul": "is_number", "abs": "is_number",
	"round": "is_number", "ceil": "is_number", "floor": "is_number", "count": "is_number",
}

func defined(t term) formula {
	switch t := t.(type) {
	case constant, list, collection, witness:
		return true
	case application:
		types, known := definedAs[t.function]
		switch {
		case t.function == "sprintf":
			if format, ok := t.operands[0].(constant); ok && typeOf(format.value) == "is_string" {
				if _, ok := t.operands[1].(list); ok {
					return true
				}
			}
		case known && len(types) == 0:
			return defined(t.operands[0])
		case known:
			return forAll(t.operands, func(operand term) formula {
				var some []formula
				for _, name := range types {
					some = append(some, isOf(name, operand))
				}
				return or(some...)
			})
		}
	}
	return atom{kind: isDefined, left: t}
}

// isOf is the formula that a value is defined and of a type.
func isOf(name string, t term) formula {
	switch t := t.(type) {
	case constant:
		return typeOf(t.value) == name
	case list:
		return name == "is_array"
	case collection:
		return name == t.kind
	case application:
		if result, known := resultOf[t.function]; known {
			if result != name {
				return false
			}
			return defined(t)
		}
	}
	return atom{kind: isTrue, left: applicationTerm(name, t)}
}

// collection is the value of a comprehension, of a partial rule, or of an object that is
// not constant. each is true if then is true for one of its elements.
type collection struct {
	storedKey
	kind string // is_array, is_object or is_set
	each func(then func(key, value term) formula) formula
}

// any is the formula that the collection is not empty.
func (c collection) any() formula {
	return c.each(func(term, term) formula { return true })
}
