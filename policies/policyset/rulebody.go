package policyset

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
)

// RuleBody is a rule of an entry point as it was written, with the order in which
// its conditions are evaluated.
type RuleBody struct {
	Entry      string
	Rule       *ast.Rule
	Conditions []*ast.Expr
	Order      []int // the positions of the conditions in the evaluation order
}

// readBodies finds the rules of the entry points in the modules as they were parsed,
// and the order of their conditions in those that were compiled.
func readBodies(parsed []*ast.Module, compiled map[string]*ast.Module, entryOf func(*ast.Rule) string) (found []RuleBody) {
	bodies := map[string][]ast.Body{} // by file
	for _, name := range slices.Sorted(maps.Keys(compiled)) {
		ast.WalkRules(compiled[name], func(rule *ast.Rule) bool {
			bodies[rule.Location.File] = append(bodies[rule.Location.File], rule.Body)
			return false
		})
	}
	for _, module := range parsed {
		for _, rule := range module.Rules {
			entry := entryOf(rule)
			if entry == "" || rule.Default {
				continue
			}
			for branch := rule; branch != nil; branch = branch.Else {
				if entry == definition.EntryViolation {
					entry = definition.EntryDeny // as findings call it
				}
				found = append(found, RuleBody{Entry: entry, Rule: branch})
				one := &found[len(found)-1]
				for _, expr := range branch.Body {
					if isWritten(expr) {
						one.Conditions = append(one.Conditions, expr)
					}
				}
				one.orderBy(bodies[rule.Location.File])
			}
		}
	}
	return found
}

// isWritten reports whether an expression is a condition in the source text, not a body that OPA
// adds to a rule without one, nor a declaration of variables.
func isWritten(expr *ast.Expr) bool {
	if declared, ok := expr.Terms.(*ast.SomeDecl); ok {
		if _, isIn := declared.Symbols[0].Value.(ast.Call); !isIn {
			return false
		}
	}
	return expr.Location != nil && len(expr.Location.Text) > 0 && string(expr.Location.Text) != "true"
}

// orderBy finds the compiled body of the rule. A condition is evaluated where the last of its
// parts is. A condition without compiled parts keeps its own position.
func (r *RuleBody) orderBy(bodies []ast.Body) {
	r.Order = make([]int, len(r.Conditions))
	for i, condition := range r.Conditions {
		r.Order[i] = i
		for _, body := range bodies {
			for at, expr := range body {
				if l := expr.Location; l != nil && (eval.Place{File: l.File, Line: l.Row, Column: l.Col}).IsWithin(condition.Location) {
					r.Order[i] = at
				}
			}
		}
	}
}
