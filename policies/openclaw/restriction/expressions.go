package restriction

import "github.com/open-policy-agent/opa/v1/ast"

// body is the formula that all expressions hold, and that then holds for their bindings.
func (t *translation) body(rest ast.Body, env *environment, then withBinding) formula {
	t.step()
	if len(rest) == 0 {
		return then(env)
	}
	expr, rest := rest[0], rest[1:]
	if !binds(expr, env) {
		f, failure := t.attempt(func() formula { return t.expression(expr, env, always) })
		if failure != nil {
			t.note(failure)
			text := t.text(expr, env)
			f = atom{kind: isOpaque, left: opaque{text}}
			if t.fallible(expr) {
				f = and(t.mayFail(text), f)
			}
		}
		if f == false {
			return false
		}
		return and(f, t.body(rest, env, then))
	}
	return t.expression(expr, env, func(env *environment) formula { return t.body(rest, env, then) })
}

// binds reports whether an expression may bind a variable for later expressions. Any other
// expression is translated separately.
func binds(expr *ast.Expr, env *environment) bool {
	if expr.Negated || expr.IsEvery() || isDeclaration(expr) {
		return false
	}
	for name := range variables(expr) {
		if _, bound := env.lookup(name); !bound && !name.IsWildcard() {
			return true
		}
	}
	return false
}

func (t *translation) expression(expr *ast.Expr, env *environment, then withBinding) formula {
	t.step()
	if len(expr.With) > 0 {
		panic(unsupported{"with", expr.Location})
	}
	if expr.Negated {
		positive := *expr
		positive.Negated = false
		return and(not(t.negated(func() formula { return t.expression(&positive, env, always) })), then(env))
	}
	switch terms := expr.Terms.(type) {
	case *ast.SomeDecl:
		return then(env)
	case *ast.Every:
		return and(t.every(terms, env), then(env))
	case *ast.Term:
		return t.term(terms, env, func(value term, env *environment) formula { return and(truthy(value), then(env)) })
	case []*ast.Term:
		return t.call(expr, env, then)
	}
	panic(unsupported{"an expression", expr.Location})
}

// negated translates an expression that is negated.
func (t *translation) negated(translate func() formula) formula {
	t.negations++
	defer func() { t.negations-- }()
	return translate()
}

func (t *translation) every(every *ast.Every, env *environment) formula {
	return t.term(every.Domain, env, func(domain term, env *environment) formula {
		some := t.iterate(domain, every.Domain.Location, func(key, value term) formula {
			inside := env.with(every.Value.Value.(ast.Var), value)
			if every.Key != nil {
				inside = inside.with(every.Key.Value.(ast.Var), key)
			}
			return not(t.body(every.Body, inside, always))
		})
		collection := or(isOf("is_array", domain), isOf("is_object", domain), isOf("is_set", domain))
		return and(collection, not(some)) // of a scalar, every is undefined
	})
}

func isDeclaration(expr *ast.Expr) bool {
	_, ok := expr.Terms.(*ast.SomeDecl)
	return ok
}
