package inert

import "github.com/open-policy-agent/opa/v1/ast"

// negatedOperators are the operators that hold where others do not.
var negatedOperators = map[string]string{
	ast.GreaterThan.Name: ast.LessThanEq.Name, ast.GreaterThanEq.Name: ast.LessThan.Name,
	ast.LessThan.Name: ast.GreaterThanEq.Name, ast.LessThanEq.Name: ast.GreaterThan.Name,
	ast.Equal.Name: ast.NotEqual.Name, ast.Equality.Name: ast.NotEqual.Name, ast.NotEqual.Name: ast.Equal.Name,
}

// fails returns the conditions under which an expression does not hold, apart from its negation:
// nil if it may not hold in any case.
func (r *reader) fails(expr *ast.Expr, known bindings) *need {
	if r.budget--; r.budget < 0 || len(expr.With) > 0 {
		return nil
	}
	if term, ok := expr.Terms.(*ast.Term); ok {
		ref, isRef := r.resolve(term, known).Value.(ast.Ref)
		if !isRef || !ref[0].Equal(ast.DefaultRootDocument) {
			return nil
		}
		return r.failsRules(r.compiler.GetRulesExact(ref), nil)
	}
	if !expr.IsCall() {
		return nil
	}
	if operator := expr.Operator(); operator[0].Equal(ast.DefaultRootDocument) {
		var args []*ast.Term
		for _, operand := range expr.Operands() {
			args = append(args, r.resolve(operand, known))
		}
		return r.failsRules(r.compiler.GetRulesExact(operator), args)
	}
	negated := negatedOperators[expr.Operator().String()]
	if negated == "" || len(expr.Operands()) != 2 {
		return nil
	}
	opposite := ast.NewExpr([]*ast.Term{ast.NewTerm(ast.BuiltinMap[negated].Ref()), expr.Operand(0), expr.Operand(1)})
	opposite.Location = expr.Location
	return r.elements(opposite, known)
}

// failsRules returns the conditions under which none of the rules is true.
func (r *reader) failsRules(rules []*ast.Rule, args []*ast.Term) *need {
	if r.depth > maxDepth {
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	var all []*need
	for _, rule := range rules {
		value := rule.Head.Value
		switch {
		case rule.Default && value != nil && value.Value.Compare(ast.Boolean(false)) == 0:
			continue
		case rule.Head.RuleKind() != ast.SingleValue || value == nil || value.Value.Compare(ast.Boolean(true)) != 0 || rule.Else != nil || rule.Default || len(args) > len(rule.Head.Args):
			continue // it may fail
		}
		known := bindingsOf(rule, args)
		r.bind(rule.Body, known)
		var one []*need
		for _, expr := range rule.Body {
			switch {
			case r.alwaysHolds(expr, known):
			case expr.Negated:
				positive := *expr
				positive.Negated = false
				one = append(one, r.body(ast.NewBody(&positive), known.clone()))
			default:
				one = append(one, r.fails(expr, known))
			}
		}
		all = append(all, anyOf(one))
	}
	return allOf(all...)
}

// alwaysHolds reports whether an expression only names a value that is always defined.
func (r *reader) alwaysHolds(expr *ast.Expr, known bindings) bool {
	if expr.Negated || len(expr.With) > 0 || !expr.IsCall() || len(expr.Operands()) != 2 {
		return false
	}
	name, isVar := expr.Operand(0).Value.(ast.Var)
	switch operator := expr.Operator().String(); {
	case operator == ast.Equality.Name && isVar:
		return known[name] != nil && known[name].Equal(expr.Operand(1)) && r.collectionKind(expr.Operand(1)) != ""
	case operator == ast.Count.Name:
		return r.collectionKind(r.resolve(expr.Operand(0), known)) != ""
	}
	return false
}
