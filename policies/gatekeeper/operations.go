package gatekeeper

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

var operationRef = ast.MustParseRef("input.review.operation")

// unaskedOperations finds conditions that are only true for operations for which neither the
// template nor one of its constraints is evaluated.
func (t *template) unaskedOperations() (found definition.CompileErrorList) {
	asked := slices.Clone(t.operations)
	for _, c := range t.constraints {
		asked = append(asked, c.Match.Operations...)
	}
	negated := t.negatedRules()
	for _, module := range t.modules {
		for _, rule := range module.Rules {
			if negated[rule.Head.Name.String()] {
				continue
			}
			ast.WalkExprs(rule, func(expr *ast.Expr) bool {
				wanted := comparedOperations(expr)
				if len(wanted) > 0 && !expr.Negated && !slices.ContainsFunc(wanted, func(one string) bool { return slices.Contains(asked, one) }) {
					err := definition.ErrorAt(expr.Location, "the rule wants the operation %s, and the template is evaluated for %s: add %s to spec.targets[0].operations",
						strings.Join(wanted, " or "), strings.Join(t.operations, " and "), strings.Join(wanted, ", "))
					err.Column = 0 // it counts from the block's indentation
					found = append(found, err)
				}
				return expr.Negated
			})
		}
	}
	return found
}

// negatedRules are the names of rules that others want not to hold.
func (t *template) negatedRules() map[string]bool {
	names := map[string]bool{}
	for _, module := range t.modules {
		ast.WalkExprs(module, func(expr *ast.Expr) bool {
			if expr.Negated {
				ast.WalkVars(expr, func(name ast.Var) bool {
					names[string(name)] = true
					return false
				})
			}
			return false
		})
	}
	return names
}

// comparedOperations returns the operations that an expression compares the request's operation
// with: none if it is any other expression.
func comparedOperations(expr *ast.Expr) []string {
	if !expr.IsCall() || len(expr.Operands()) != 2 {
		return nil
	}
	left, right := expr.Operand(0), expr.Operand(1)
	if operationRef.Equal(right.Value) {
		left, right = right, left
	}
	if !operationRef.Equal(left.Value) {
		return nil
	}
	var values []*ast.Term
	switch name := expr.Operator().String(); name {
	case ast.Equal.Name, ast.Equality.Name:
		values = []*ast.Term{right}
	case ast.Member.Name:
		switch list := right.Value.(type) {
		case *ast.Array:
			list.Foreach(func(one *ast.Term) { values = append(values, one) })
		case ast.Set:
			values = list.Slice()
		}
	}
	var out []string
	for _, value := range values {
		text, ok := value.Value.(ast.String)
		if !ok || !slices.Contains(allOperations, string(text)) {
			return nil
		}
		out = append(out, string(text))
	}
	return out
}
