package restriction

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// call translates a call of an operator, a builtin or a function of the policy.
func (t *translation) call(expr *ast.Expr, env *environment, then withBinding) formula {
	operator, operands := expr.Operator().String(), expr.Operands()
	if operator == ast.Equality.Name && len(operands) == 2 {
		return t.unify(operands[0], operands[1], env, then)
	}
	arity, function := t.function(expr)
	return t.terms(operands[:arity], env, func(values []term, env *environment) formula {
		result := func(value term) formula {
			if len(operands) > arity {
				return t.match(operands[arity], value, env, then)
			}
			return and(truthy(value), then(env))
		}
		return and(forAll(values, defined), function(values, result))
	})
}

// function resolves the called function, which passes its result to a continuation.
func (t *translation) function(expr *ast.Expr) (arity int, function func([]term, withValue) formula) {
	operator := expr.Operator()
	if operator.HasPrefix(t.policy.Path) {
		name, ok := t.policy.RuleName(operator)
		rules := t.policy.Rules(name)
		if !ok || len(rules) == 0 || len(operator) != len(t.policy.Path)+1 {
			panic(unsupported{"a call of " + operator.String(), expr.Location})
		}
		return len(rules[0].Head.Args), func(arguments []term, then withValue) formula {
			return t.complete(rules, arguments, then)
		}
	}
	builtin, known := ast.BuiltinMap[operator.String()]
	if !known || builtin.Relation || builtin.Nondeterministic {
		panic(unsupported{"a call of " + operator.String(), expr.Location})
	}
	return len(builtin.Decl.FuncArgs().Args), func(operands []term, then withValue) formula {
		if f, known := t.relation(builtin.Name, operands, expr.Location); known {
			return eitherWay(f, then)
		}
		if builtin.Name == ast.ObjectGet.Name {
			return t.objectGet(operands, expr.Location, then)
		}
		if made, known := t.setOperation(builtin.Name, operands); known {
			return then(made)
		}
		if f, known := extreme(builtin.Name, operands, then); known {
			return f
		}
		if slices.Contains(commutative, builtin.Name) && operands[1].key() < operands[0].key() {
			operands = []term{operands[1], operands[0]}
		}
		result := apply(builtin, operands)
		if result == nil {
			return false
		}
		if _, folded := result.(constant); folded {
			return then(result)
		}
		t.unknownOperands(operands, expr.Location)
		if !slices.Contains(modeled, builtin.Name) {
			t.note(&unsupported{"a call of " + builtin.Name, expr.Location})
		}
		if types.Compare(builtin.Decl.Result(), types.B) == 0 {
			return and(defined(result), eitherWay(atom{kind: isTrue, left: result}, then))
		}
		return and(defined(result), then(result))
	}
}

// eitherWay is the formula that then holds for the truth value of a formula.
func eitherWay(f formula, then withValue) formula {
	return or(and(f, then(constantTerm(ast.Boolean(true)))), and(not(f), then(constantTerm(ast.Boolean(false)))))
}

// unknownOperands records that a function inspects a value that is known only by its text.
func (t *translation) unknownOperands(operands []term, location *ast.Location) {
	for part := range parts(operands...) {
		switch part.(type) {
		case opaque, collection:
			t.note(&unsupported{"a function of a collection", location})
		}
	}
}

// relation translates a comparison of two defined operands of any type.
func (t *translation) relation(name string, operands []term, location *ast.Location) (formula, bool) {
	switch name {
	case ast.Equal.Name:
		return equal(operands[0], operands[1]), true
	case ast.NotEqual.Name:
		return not(equal(operands[0], operands[1])), true
	case ast.LessThan.Name:
		return less(operands[0], operands[1]), true
	case ast.LessThanEq.Name:
		return or(less(operands[0], operands[1]), equal(operands[0], operands[1])), true
	case ast.GreaterThan.Name:
		return less(operands[1], operands[0]), true
	case ast.GreaterThanEq.Name:
		return or(less(operands[1], operands[0]), equal(operands[0], operands[1])), true
	case ast.Member.Name:
		return t.iterate(operands[1], location, func(_, value term) formula { return equal(value, operands[0]) }), true
	case ast.MemberWithKey.Name:
		return t.iterate(operands[2], location, func(key, value term) formula {
			return and(equal(key, operands[0]), equal(value, operands[1]))
		}), true
	case "is_null", "is_boolean", "is_number", "is_string", "is_array", "is_object", "is_set":
		return isOf(name, operands[0]), true
	}
	return nil, false
}

// setOperation is the result of a set operator.
func (t *translation) setOperation(name string, operands []term) (collection, bool) {
	if len(operands) != 2 || !isSet(operands[0]) || !isSet(operands[1]) {
		return collection{}, false
	}
	left, right := operands[0], operands[1]
	made := collection{kind: "is_set"}
	switch name {
	case ast.And.Name:
		made.each = func(then func(key, value term) formula) formula {
			return forSome(left, func(e term) formula { return and(memberOf(right, e), then(e, e)) })
		}
	case ast.Minus.Name:
		made.each = func(then func(key, value term) formula) formula {
			return forSome(left, func(e term) formula { return and(not(memberOf(right, e)), then(e, e)) })
		}
	case ast.Or.Name:
		made.each = func(then func(key, value term) formula) formula {
			both := func(e term) formula { return then(e, e) }
			return or(forSome(left, both), forSome(right, both))
		}
	default:
		return collection{}, false
	}
	made.text = t.writer.collection(made)
	return made, true
}

func (t *translation) objectGet(operands []term, location *ast.Location, then withValue) formula {
	key, ok := operands[1].(constant)
	if !ok || !ofInput(operands[0]) || typeOf(key.value) != "is_string" {
		panic(unsupported{"object.get of a computed object or key", location})
	}
	element := memberTerm(operands[0], key)
	return and(isOf("is_object", operands[0]), or(
		and(defined(element), then(element)),
		and(not(defined(element)), then(operands[2]))))
}

// extreme translates max or min of an array literal: the result is one of its elements.
func extreme(name string, operands []term, then withValue) (formula, bool) {
	if name != ast.Max.Name && name != ast.Min.Name {
		return nil, false
	}
	written, ok := operands[0].(list)
	if !ok || len(written.elements) > 4 {
		return nil, false
	}
	var all []formula
	for i, element := range written.elements {
		first := []formula{then(element)}
		for j, other := range written.elements {
			further := less(element, other)
			if name == ast.Min.Name {
				further = less(other, element)
			}
			if j < i { // of equal ones, the first
				further = or(further, equal(element, other))
			}
			if j != i {
				first = append(first, not(further))
			}
		}
		all = append(all, and(first...))
	}
	return or(all...), true
}
