package inert

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// NeverOn returns the condition that keeps a compiled rule from firing for an operation. ok is
// false if the rule may fire. The operation is input.request.operation or, in a template,
// input.review.operation.
func NeverOn(rule *ast.Rule, operation string, compiler *ast.Compiler) (at definition.CompileError, path string, ok bool) {
	r := &reader{compiler: compiler, budget: maxNeeds}
	found, _ := r.rule(rule, nil).first(func(a *atom) string {
		about := a.path == "request.operation" || a.path == "review.operation"
		if !about || len(a.values) == 0 || slices.Contains(a.values, operation) != a.not {
			return ""
		}
		return "input." + a.path + " is another"
	})
	if found == nil {
		return at, "", false
	}
	return found.at, "input." + found.path, true
}
