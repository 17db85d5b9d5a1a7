package inert

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// NeverOn returns the condition that keeps a compiled rule from firing for an operation: a
// comparison of the operation, or the requirement of a part of the object that is null for it. ok
// is false if the rule may fire. The operation is input.request.operation or, in a template,
// input.review.operation.
func NeverOn(rule *ast.Rule, operation string, compiler *ast.Compiler) (at definition.CompileError, path string, ok bool) {
	r := &reader{compiler: compiler, budget: maxNeeds}
	found, _ := r.rule(rule, nil, nil).first(func(a *atom) string {
		if a.neverOn(operation) {
			return "input." + a.path + " is undefined or another"
		}
		return ""
	})
	if found == nil {
		return at, "", false
	}
	return found.at, "input." + found.path, true
}

// neverOn reports whether the condition is not met for an operation.
func (a *atom) neverOn(operation string) bool {
	about := a.path == "request.operation" || a.path == "review.operation"
	return a.needsNull(operation) || about && len(a.values) > 0 && slices.Contains(a.values, operation) == a.not
}

// needsNull reports whether the condition is not met because an object is null for an operation:
// nothing is defined below null.
func (a *atom) needsNull(operation string) bool {
	null := map[string]string{"CREATE": "oldObject", "DELETE": "object"}[operation]
	if null == "" {
		return false
	}
	for _, root := range []string{"request", "review"} {
		if object := root + "." + null; strings.HasPrefix(a.path, object+".") || a.nonNull && a.path == object {
			return true
		}
	}
	return false
}

// nonNull is the condition that a part of the input is not null, which an expression may be: a
// comparison with null, or a test of the type. nil for others.
func (r *reader) nonNull(expr *ast.Expr, known bindings) *atom {
	if !expr.IsCall() || len(expr.With) > 0 || len(expr.Operands()) == 0 {
		return nil
	}
	operand, isNull := r.resolve(expr.Operand(0), known), func(term *ast.Term) bool { return term.Value.Compare(ast.Null{}) == 0 }
	switch operator := expr.Operator().String(); {
	case operator == ast.IsObject.Name && !expr.Negated, operator == ast.IsNull.Name && expr.Negated:
	case operator == ast.NotEqual.Name && !expr.Negated, operator == ast.Equal.Name && expr.Negated, operator == ast.Equality.Name && expr.Negated:
		other := r.resolve(expr.Operand(1), known)
		if isNull(operand) {
			operand, other = other, operand
		}
		if !isNull(other) {
			return nil
		}
	default:
		return nil
	}
	if path := inputPath(operand); path != "" {
		return &atom{at: definition.ErrorAt(expr.Location, ""), path: path, nonNull: true}
	}
	return nil
}
