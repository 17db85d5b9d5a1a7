package restriction

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/sandbox"
)

// valuation returns the values of terms, as far as they are known. A known value is nil if the
// term is undefined.
type valuation func(term) (value ast.Value, known bool)

// decide evaluates an atom with the known values of terms.
func decide(a atom, given valuation) (holds, known bool) {
	if a.kind == isOpaque {
		return false, false
	}
	left, known := evaluate(a.left, given)
	switch a.kind {
	case isDefined:
		return left != nil, known
	case isTrue:
		return left != nil && ast.Compare(left, ast.Boolean(true)) == 0, known
	}
	right, rightKnown := evaluate(a.right, given)
	switch {
	case known && left == nil, rightKnown && right == nil:
		return false, true
	case !known || !rightKnown:
		return false, false
	case a.kind == isEqual:
		return ast.Compare(left, right) == 0, true
	}
	return ast.Compare(left, right) < 0, true
}

// evaluate is the value of a term.
func evaluate(t term, given valuation) (value ast.Value, known bool) {
	if value, known := given(t); known {
		return value, true
	}
	switch t := t.(type) {
	case constant:
		return t.value, true
	case member:
		of, known := evaluate(t.of, given)
		if of == nil || ast.IsScalar(of) {
			return nil, known
		}
		at, known := evaluate(t.at, given)
		if at == nil {
			return nil, known
		}
		element, _ := of.Find(ast.Ref{ast.NewTerm(at)}) // nil where there is none
		return element, true
	case application:
		return evaluateCall(t, given)
	case list:
		elements, known := evaluateAll(t.elements, given)
		if elements == nil {
			return nil, known
		}
		return ast.NewArray(elements...), true
	}
	return nil, false
}

// evaluateAll returns the values of terms: nil unless all are defined and known.
func evaluateAll(terms []term, given valuation) (values []*ast.Term, known bool) {
	values = []*ast.Term{}
	for _, t := range terms {
		value, known := evaluate(t, given)
		if value == nil {
			return nil, known
		}
		values = append(values, ast.NewTerm(value))
	}
	return values, true
}

func evaluateCall(call application, given valuation) (value ast.Value, known bool) {
	if !sandbox.Allows(call.function) {
		return nil, false
	}
	operands, known := evaluateAll(call.operands, given)
	if operands == nil {
		return nil, known
	}
	value, failed := run(call.function, operands)
	return value, !failed || isFolded(call.function) // other functions may fail because of a limit
}
