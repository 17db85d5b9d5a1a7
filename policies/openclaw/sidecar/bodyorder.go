package sidecar

import (
	"context"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// AskOPAInEveryOrder is AskOPA with an error wherever a release of OPA may end with one. Which
// of several rules of one value are evaluated, and which conditions of a body before others,
// depends on the release, and so does whether the conflict of a helper is met. Therefore, this
// evaluates all rules: as they are written, and with the conditions first that refer to other
// rules, forwards and backwards.
func (p *Policy) AskOPAInEveryOrder(ctx context.Context, decision string, input ast.Value, now time.Time) (value ast.Value, err error) {
	for _, order := range []bodyOrder{allAsWritten, rulesFirst, rulesFirstBackwards} {
		if value, err = p.askOPA(ctx, decision, input, now, order); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// bodyOrder is in which order conditions are evaluated, where their variables allow it.
type bodyOrder int

const (
	asWritten bodyOrder = iota
	// allAsWritten evaluates all rules, those too that the index or the values of others make
	// unnecessary, and so do the following.
	allAsWritten
	rulesFirst
	rulesFirstBackwards
)

func (o bodyOrder) reorders() bool { return o > allAsWritten }

// apply changes the order of conditions in all bodies of a module of a package.
func (o bodyOrder) apply(path ast.Ref, module *ast.Module) {
	ast.WalkBodies(module, func(body ast.Body) bool {
		o.place(path, body)
		return false
	})
}

// place moves the conditions that refer to rules before all others, except those that bind their
// variables: otherwise, OPA would move them behind all conditions.
func (o bodyOrder) place(path ast.Ref, body ast.Body) {
	given := slices.Clone(body)
	placed := map[*ast.Expr]bool{}
	next := 0
	var add func(*ast.Expr)
	add = func(expr *ast.Expr) {
		if placed[expr] {
			return
		}
		placed[expr] = true
		visitor := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{SkipRefCallHead: true})
		visitor.Walk(expr)
		for _, other := range given {
			if binds(other, visitor.Vars()) {
				add(other)
			}
		}
		body[next] = expr
		next++
	}
	rules := slices.DeleteFunc(slices.Clone(given), func(expr *ast.Expr) bool { return !refersTo(path, expr) })
	if o == rulesFirstBackwards {
		slices.Reverse(rules)
	}
	for _, expr := range slices.Concat(rules, given) {
		add(expr)
	}
}

// refersTo reports whether an expression refers to rules of a package.
func refersTo(path ast.Ref, expr *ast.Expr) (found bool) {
	ast.WalkRefs(expr, func(ref ast.Ref) bool {
		found = found || ref.HasPrefix(path)
		return found
	})
	return found
}

// binds reports whether an expression may bind one of the variables.
func binds(expr *ast.Expr, vars ast.VarSet) bool {
	if expr.Negated {
		return false
	}
	has := func(node any) (found bool) {
		ast.WalkVars(node, func(v ast.Var) bool {
			found = found || vars.Contains(v)
			return found
		})
		return found
	}
	switch terms := expr.Terms.(type) {
	case *ast.Term:
		ref, isRef := terms.Value.(ast.Ref)
		return isRef && slices.ContainsFunc(ref[1:], func(t *ast.Term) bool { return has(t) })
	case []*ast.Term:
		operands := expr.Operands()
		if expr.IsEquality() || expr.IsAssignment() {
			return has(operands[0]) || has(operands[1])
		}
		builtin := ast.BuiltinMap[expr.Operator().String()]
		if builtin != nil && len(operands) <= builtin.Decl.Arity() {
			return false
		}
		return len(operands) > 0 && has(operands[len(operands)-1])
	}
	return false
}
