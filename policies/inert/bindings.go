package inert

import (
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// bindings are the terms that variables stand for.
type bindings map[ast.Var]*ast.Term

// bindingsOf binds the arguments of a function to its operands, except those with variables whose
// names the function uses, too.
func bindingsOf(rule *ast.Rule, args []*ast.Term) bindings {
	known, own := bindings{}, map[ast.Var]bool{}
	if len(args) > 0 {
		ast.WalkVars(rule, func(name ast.Var) bool {
			own[name] = !name.Equal(ast.InputRootDocument.Value) && !name.Equal(ast.DefaultRootDocument.Value)
			return false
		})
	}
	for i, arg := range rule.Head.Args {
		name, ok := arg.Value.(ast.Var)
		if !ok || i >= len(args) {
			continue
		}
		shared := false
		ast.WalkVars(args[i], func(free ast.Var) bool {
			shared = shared || own[free]
			return shared
		})
		if !shared {
			known[name] = args[i]
		}
	}
	return known
}

// clone is for an inner scope.
func (b bindings) clone() bindings { return maps.Clone(b) }

// bind finds the values of a body's variables: of several terms, which have to be equal, the
// first.
func (r *reader) bind(body ast.Body, known bindings) {
	add := func(name, value *ast.Term) {
		if variable, ok := name.Value.(ast.Var); ok && known[variable] == nil {
			known[variable] = value
		}
	}
	for _, expr := range body {
		if expr.Negated || len(expr.With) > 0 || !expr.IsCall() {
			continue
		}
		if output := r.output(expr); output != nil {
			call := ast.Call{ast.NewTerm(expr.Operator())}
			for _, operand := range expr.Operands()[:len(expr.Operands())-1] {
				call = append(call, r.resolve(operand, known))
			}
			add(output, ast.NewTerm(call))
			continue
		}
		if !expr.Operator().Equal(ast.Equality.Ref()) || len(expr.Operands()) != 2 {
			continue
		}
		a, b := expr.Operand(0), expr.Operand(1)
		if _, isVar := a.Value.(ast.Var); isVar {
			add(a, b)
		} else {
			add(b, a)
		}
	}
}

// output is the operand of a call that receives the result: nil if there is none.
func (r *reader) output(expr *ast.Expr) *ast.Term {
	arity, operands := -1, expr.Operands()
	if operator := expr.Operator(); operator[0].Equal(ast.DefaultRootDocument) {
		if rules := r.compiler.GetRulesExact(operator); len(rules) > 0 {
			arity = len(rules[0].Head.Args)
		}
	} else if builtin := ast.BuiltinMap[operator.String()]; builtin != nil {
		arity = builtin.Decl.Arity()
	}
	if arity < 0 || len(operands) != arity+1 {
		return nil
	}
	return operands[arity]
}

// resolve replaces variables by their values.
func (r *reader) resolve(term *ast.Term, known bindings) *ast.Term {
	for range maxDepth {
		switch value := term.Value.(type) {
		case ast.Var:
			if known[value] == nil {
				return term
			}
			term = known[value]
		case ast.Ref:
			name, ok := value[0].Value.(ast.Var)
			if !ok || known[name] == nil {
				return r.constantRule(term)
			}
			head := r.constantRule(known[name])
			switch inner := head.Value.(type) {
			case ast.Ref:
				term = ast.NewTerm(inner.Concat(value[1:]))
			case ast.Var:
				term = ast.NewTerm(append(ast.Ref{head}, value[1:]...))
				if known[inner] == nil {
					return term
				}
			default:
				return ast.NewTerm(append(ast.Ref{head}, value[1:]...))
			}
		default:
			return term
		}
	}
	return term
}

// constantRule replaces a reference to a constant rule by its value.
func (r *reader) constantRule(term *ast.Term) *ast.Term {
	ref, ok := term.Value.(ast.Ref)
	if !ok || !ref[0].Equal(ast.DefaultRootDocument) {
		return term
	}
	for n := 2; n <= len(ref); n++ {
		rules := r.compiler.GetRulesExact(ref[:n])
		if len(rules) != 1 || rules[0].Else != nil || len(rules[0].Head.Args) > 0 || rules[0].Head.Value == nil || !rules[0].Head.Value.IsGround() ||
			rules[0].Head.RuleKind() != ast.SingleValue || !rules[0].Body.Equal(ast.NewBody(ast.NewExpr(ast.BooleanTerm(true)))) {
			continue
		}
		if n == len(ref) {
			return rules[0].Head.Value
		}
		return ast.NewTerm(append(ast.Ref{rules[0].Head.Value}, ref[n:]...))
	}
	return term
}
