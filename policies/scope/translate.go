package scope

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// maxSteps bounds the work, and with it the size, of a translation.
const maxSteps = 100_000

// translation turns the rules of one policy, as OPA has compiled them, into formulas.
type translation struct {
	ctx    context.Context
	policy *Policy
	steps  *int
	// errors are what may end the evaluation with an error: only collected for a
	// policy that must be known to answer.
	errors     []formula
	wantErrors bool
	iterations int // how often a value was gone through so far
	// stopped is the first construct that is not understood.
	stopped *ast.Location
	what    string

	supported map[*ast.Rule]bool
	fresh     *int
}

// unsupported stops a translation at a construct.
type unsupported struct {
	what     string
	location *ast.Location
}

// exhausted stops an analysis that has become too large, or is out of time.
type exhausted struct{ why string }

func newTranslation(ctx context.Context, p *Policy, steps, fresh *int) *translation {
	return &translation{ctx: ctx, policy: p, steps: steps, fresh: fresh, supported: map[*ast.Rule]bool{}}
}

func (t *translation) step() {
	*t.steps++
	if *t.steps > maxSteps {
		panic(exhausted{"the policies are too large to compare"})
	}
	if *t.steps%256 == 0 && t.ctx.Err() != nil {
		panic(exhausted{"there was no time left to compare the policies"})
	}
}

// environment binds variables to terms.
type environment struct {
	outer *environment
	name  ast.Var
	value term
}

func (e *environment) with(name ast.Var, value term) *environment {
	return &environment{e, name, value}
}

func (e *environment) lookup(name ast.Var) (term, bool) {
	for ; e != nil; e = e.outer {
		if e.name == name {
			return e.value, true
		}
	}
	return nil, false
}

type (
	withValue       func(term) formula
	withBinding     func(*environment) formula
	withValueInside func(term, *environment) formula
)

func yes(*environment) formula { return true }

// attempt returns the construct that stopped f, and undoes what f noted.
func (t *translation) attempt(f func() formula) (result formula, failure *unsupported) {
	errors := len(t.errors)
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(unsupported)
			if !ok {
				panic(r)
			}
			t.errors = t.errors[:errors]
			result, failure = nil, &u
		}
	}()
	return f(), nil
}

func (t *translation) note(u *unsupported) {
	if t.what == "" {
		t.what, t.stopped = u.what, u.location
	}
}

// value is the formula that a rule of the policy has a value of which then holds.
func (t *translation) value(name string, then withValue) formula {
	rules := t.policy.rules(name)
	if len(rules) == 0 {
		return false
	}
	if made, ok := t.partial(name, rules); ok {
		return then(made)
	}
	return t.complete(rules, nil, nil, then)
}

// partial is the collection that partial rules make.
func (t *translation) partial(name string, rules []*ast.Rule) (collection, bool) {
	head := rules[0].Head
	if head.RuleKind() != ast.MultiValue && len(head.Ref()) == 1 {
		return collection{}, false
	}
	set := head.RuleKind() == ast.MultiValue
	for _, rule := range rules {
		if length := len(rule.Head.Ref()); set && length > 1 || !set && length != 2 {
			panic(unsupported{"rules with a path as their name", rule.Location})
		}
	}
	made := collection{text: t.text(ast.NewTerm(t.policy.ref(name)), nil), kind: "is_set", fallible: !set}
	if !set {
		made.kind = "is_object"
	}
	for _, rule := range rules {
		made.fallible = made.fallible || t.fallible(rule)
	}
	made.each = func(then func(key, value term) formula) formula {
		var all []formula
		for _, rule := range rules {
			all = append(all, t.body(rule.Body, nil, func(env *environment) formula {
				if set {
					return t.term(rule.Head.Key, env, func(key term, _ *environment) formula { return then(key, key) })
				}
				return t.term(rule.Head.Ref()[1], env, func(key term, env *environment) formula {
					return t.term(rule.Head.Value, env, func(value term, _ *environment) formula { return then(key, value) })
				})
			}))
		}
		return or(all...)
	}
	if made.fallible {
		t.mayFail()
	}
	return made, true
}

// mayFail notes an error that cannot be told from the input.
func (t *translation) mayFail() {
	if t.wantErrors {
		*t.fresh++
		t.errors = append(t.errors, atom{kind: isOpaque, left: opaque{fmt.Sprintf("error %d", *t.fresh)}})
	}
}

// complete is the formula that one of the rules of a name, which stand for a function
// if there are arguments, has a value of which then holds.
func (t *translation) complete(rules []*ast.Rule, arguments []term, env *environment, then withValue) formula {
	t.step()
	var fallback *ast.Rule
	var chains []*ast.Rule
	for _, rule := range rules {
		if rule.Default {
			fallback = rule
		} else {
			chains = append(chains, rule)
		}
	}
	t.conflicts(chains, arguments)
	var all []formula
	for _, rule := range chains {
		all = append(all, t.chain(rule, arguments, then))
	}
	if fallback != nil {
		var none []formula
		for _, rule := range chains {
			none = append(none, not(t.chain(rule, arguments, func(term) formula { return true })))
		}
		none = append(none, t.term(fallback.Head.Value, env, func(value term, _ *environment) formula { return then(value) }))
		all = append(all, and(none...))
	}
	return or(all...)
}

// chain is a rule and what follows it by else.
func (t *translation) chain(rule *ast.Rule, arguments []term, then withValue) formula {
	if !t.supports(rule, arguments) {
		made := opaque{t.text(rule, nil) + " of " + keys(arguments)}
		value, constant := constantOf(rule.Head.Value)
		constant = constant && rule.Else == nil
		if !constant || t.fallible(rule) {
			t.mayFail() // it may have two values at once
		}
		if constant {
			return and(atom{kind: isOpaque, left: made}, then(value))
		}
		return and(defined(made), then(made))
	}
	return t.links(rule, arguments, then)
}

func (t *translation) links(rule *ast.Rule, arguments []term, then withValue) formula {
	var all, before []formula
	for link := rule; link != nil; link = link.Else {
		matches := append(slices.Clone(before), t.apply(link, arguments, func(env *environment) formula {
			return t.term(link.Head.Value, env, func(value term, _ *environment) formula { return then(value) })
		}))
		all = append(all, and(matches...))
		if link.Else != nil {
			before = append(before, not(t.apply(link, arguments, yes)))
		}
	}
	return or(all...)
}

// supports tries the rule once without a continuation, so that what stops it is not
// taken for what stops its user.
func (t *translation) supports(rule *ast.Rule, arguments []term) bool {
	if known, tried := t.supported[rule]; tried && (len(arguments) == 0 || !known) {
		return known
	}
	t.supported[rule] = false // until it has been tried
	wanted := t.wantErrors
	t.wantErrors = false
	_, failure := t.attempt(func() formula { return t.links(rule, arguments, func(term) formula { return true }) })
	t.wantErrors = wanted
	if failure != nil {
		t.note(failure)
	}
	t.supported[rule] = failure == nil
	return failure == nil
}

// apply binds the arguments and goes through the body.
func (t *translation) apply(rule *ast.Rule, arguments []term, then withBinding) formula {
	return t.matchAll(rule.Head.Args, arguments, nil, func(env *environment) formula {
		return t.body(rule.Body, env, then)
	})
}

func (t *translation) matchAll(patterns []*ast.Term, values []term, env *environment, then withBinding) formula {
	if len(patterns) == 0 {
		return then(env)
	}
	return t.match(patterns[0], values[0], env, func(env *environment) formula {
		return t.matchAll(patterns[1:], values[1:], env, then)
	})
}

// conflicts notes where rules have two values at once, which is an error in Rego.
func (t *translation) conflicts(chains []*ast.Rule, arguments []term) {
	if !t.wantErrors || sameConstant(chains) {
		return
	}
	t.wantErrors = false
	var found []formula
	for i, a := range chains {
		for j := i; j < len(chains); j++ {
			iterations := t.iterations
			f := t.chain(a, arguments, func(one term) formula {
				return t.chain(chains[j], arguments, func(other term) formula {
					return not(equal(one, other))
				})
			})
			if i != j || t.iterations > iterations || !t.supported[a] {
				found = append(found, f)
			}
		}
	}
	t.wantErrors = true
	if f := or(found...); f != false {
		t.errors = append(t.errors, f)
	}
}

// sameConstant says that all rules, with what follows by else, have one value.
func sameConstant(chains []*ast.Rule) bool {
	var first ast.Value
	for _, rule := range chains {
		for ; rule != nil; rule = rule.Else {
			value, ok := constantOf(rule.Head.Value)
			if !ok {
				return false
			}
			if first == nil {
				first = value.value
			}
			if ast.Compare(first, value.value) != 0 {
				return false
			}
		}
	}
	return true
}

// body is the formula that all expressions hold, under bindings that then goes on with.
func (t *translation) body(body ast.Body, env *environment, then withBinding) formula {
	return t.expressions(body, env, then)
}

func (t *translation) expressions(rest ast.Body, env *environment, then withBinding) formula {
	t.step()
	if len(rest) == 0 {
		return then(env)
	}
	expr, rest := rest[0], rest[1:]
	if !binds(expr, env) {
		f, failure := t.attempt(func() formula { return t.expression(expr, env, yes) })
		if failure != nil {
			t.note(failure)
			if t.fallible(expr) {
				t.mayFail()
			}
			f = atom{kind: isOpaque, left: opaque{t.text(expr, env)}}
		}
		if f == false {
			return false
		}
		return and(f, t.expressions(rest, env, then))
	}
	return t.expression(expr, env, func(env *environment) formula { return t.expressions(rest, env, then) })
}

// binds says whether an expression may bind a variable that somebody needs: one that
// does not may stand in a formula of its own.
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

// variables are all names of an expression that a value can be bound to.
func variables(node any) ast.VarSet {
	visitor := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{
		SkipRefCallHead: true, SkipClosures: true,
	})
	visitor.Walk(node)
	found := visitor.Vars()
	for name := range found {
		if name == ast.InputRootDocument.Value || name == ast.DefaultRootDocument.Value {
			delete(found, name)
		}
	}
	return found
}

func (t *translation) expression(expr *ast.Expr, env *environment, then withBinding) formula {
	t.step()
	if len(expr.With) > 0 {
		panic(unsupported{"with", expr.Location})
	}
	if expr.Negated {
		positive := *expr
		positive.Negated = false
		return and(not(t.expression(&positive, env, yes)), then(env))
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

func (t *translation) every(every *ast.Every, env *environment) formula {
	return t.term(every.Domain, env, func(domain term, env *environment) formula {
		some := t.iterate(domain, every.Domain.Location, func(key, value term) formula {
			inside := env.with(every.Value.Value.(ast.Var), value)
			if every.Key != nil {
				inside = inside.with(every.Key.Value.(ast.Var), key)
			}
			return not(t.body(every.Body, inside, yes))
		})
		collection := or(isOf("is_array", domain), isOf("is_object", domain), isOf("is_set", domain))
		return and(collection, not(some)) // of a scalar, every is undefined
	})
}

// call is the formula of an operator, a builtin or a function of the policy.
func (t *translation) call(expr *ast.Expr, env *environment, then withBinding) formula {
	operator, operands := expr.Operator().String(), expr.Operands()
	if operator == ast.Equality.Name && len(operands) == 2 {
		return t.unify(operands[0], operands[1], env, then)
	}
	arity, function, err := t.function(expr)
	if err != nil {
		panic(*err)
	}
	return t.terms(operands[:arity], env, func(values []term, env *environment) formula {
		result := func(value term) formula {
			if len(operands) > arity {
				return t.match(operands[arity], value, env, then)
			}
			return and(truthy(value), then(env))
		}
		var all []formula
		for _, value := range values {
			all = append(all, defined(value))
		}
		return and(append(all, function(values, result))...)
	})
}

// function finds what is called. The result of the function is given to a continuation.
func (t *translation) function(expr *ast.Expr) (int, func([]term, withValue) formula, *unsupported) {
	operator := expr.Operator()
	if operator.HasPrefix(t.policy.module.Package.Path) {
		name, ok := t.policy.ruleName(operator)
		rules := t.policy.rules(name)
		if !ok || len(rules) == 0 || len(operator) != len(t.policy.module.Package.Path)+1 {
			return 0, nil, &unsupported{"a call of " + operator.String(), expr.Location}
		}
		return len(rules[0].Head.Args), func(arguments []term, then withValue) formula {
			return t.complete(rules, arguments, nil, then)
		}, nil
	}
	builtin, known := ast.BuiltinMap[operator.String()]
	if !known || builtin.Relation || builtin.Nondeterministic {
		return 0, nil, &unsupported{"a call of " + operator.String(), expr.Location}
	}
	arity := len(builtin.Decl.FuncArgs().Args)
	return arity, func(operands []term, then withValue) formula {
		if f, known := t.relation(builtin.Name, operands, expr.Location); known {
			return or(and(f, then(constantTerm(ast.Boolean(true)))), and(not(f), then(constantTerm(ast.Boolean(false)))))
		}
		if builtin.Name == ast.ObjectGet.Name {
			return t.objectGet(operands, expr.Location, then)
		}
		result := apply(builtin, operands)
		if result == nil {
			return false
		}
		c, folded := result.(constant)
		if !folded {
			t.unknownOperands(operands, expr.Location)
			if !slices.Contains(understood, builtin.Name) {
				t.note(&unsupported{"a call of " + builtin.Name, expr.Location})
			}
		}
		if !folded && types.Compare(builtin.Decl.Result(), types.B) == 0 {
			holds := atom{kind: isTrue, left: result}
			return and(defined(result), or(
				and(holds, then(constantTerm(ast.Boolean(true)))),
				and(not(holds), then(constantTerm(ast.Boolean(false))))))
		} else if folded {
			return then(c)
		}
		return and(defined(result), then(result))
	}, nil
}

// unknownOperands notes that a function looks into what is only known by its text.
func (t *translation) unknownOperands(operands []term, location *ast.Location) {
	for _, operand := range operands {
		parts(operand, func(part term) {
			if made, ok := part.(collection); ok && made.fallible {
				t.mayFail()
			}
			switch part.(type) {
			case opaque, collection:
				t.note(&unsupported{"a function of a collection", location})
			}
		})
	}
}

// relation is the formula of an operator that compares, whatever its operands are.
// They are defined.
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

func (t *translation) objectGet(operands []term, location *ast.Location, then withValue) formula {
	key, ok := operands[1].(constant)
	if !ok || !ofInput(operands[0]) || rank(key.value) != 3 {
		panic(unsupported{"object.get of a computed object or key", location})
	}
	found := memberTerm(operands[0], key)
	return and(isOf("is_object", operands[0]), or(
		and(defined(found), then(found)),
		and(not(defined(found)), then(operands[2]))))
}

// folded are the functions of which the result is computed where the operands are
// known: none of them takes long.
var folded = []string{
	"lower", "upper", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "trim_space",
	"startswith", "endswith", "contains", "count", "abs", "plus", "minus", "round", "ceil", "floor",
}

// understood are the functions of which more is known than that the same call has the
// same result.
var understood = []string{"startswith", "endswith", "contains", "count", "lower", "upper", "sprintf"}

// apply is the result of a builtin: nil where it is undefined.
func apply(builtin *ast.Builtin, operands []term) term {
	var values []*ast.Term
	for _, operand := range operands {
		if c, ok := operand.(constant); ok {
			values = append(values, ast.NewTerm(c.value))
		}
	}
	if len(values) < len(operands) || !isFolded(builtin.Name) {
		return application{builtin.Name, operands}
	}
	if value, _ := run(builtin.Name, values); value != nil {
		return constantTerm(value)
	}
	return nil
}

func isFolded(function string) bool {
	return slices.Contains(folded, function) || strings.HasPrefix(function, "is_")
}

// run calls a builtin of OPA.
func run(name string, operands []*ast.Term) (result ast.Value, failed bool) {
	err := topdown.GetBuiltin(name)(topdown.BuiltinContext{Context: context.Background()}, operands, func(t *ast.Term) error {
		result = t.Value
		return nil
	})
	return result, err != nil
}

// unify is the formula that two sides are equal, with the variables of either bound.
func (t *translation) unify(left, right *ast.Term, env *environment, then withBinding) formula {
	if t.unbound(left, env) && !t.unbound(right, env) {
		left, right = right, left
	}
	return t.term(left, env, func(value term, env *environment) formula {
		return and(defined(value), t.match(right, value, env, then))
	})
}

// unbound says that a term has variables to bind, other than in references, which
// find their own.
func (t *translation) unbound(pattern *ast.Term, env *environment) bool {
	switch v := pattern.Value.(type) {
	case ast.Var:
		_, bound := env.lookup(v)
		return !bound
	case *ast.Array, ast.Object:
		for name := range variables(pattern) {
			if _, bound := env.lookup(name); !bound {
				return true
			}
		}
	}
	return false
}

// match binds a pattern to a value that is defined.
func (t *translation) match(pattern *ast.Term, value term, env *environment, then withBinding) formula {
	t.step()
	if name, ok := pattern.Value.(ast.Var); ok {
		if _, bound := env.lookup(name); !bound {
			return then(env.with(name, value))
		}
	}
	if array, ok := pattern.Value.(*ast.Array); ok && t.unbound(pattern, env) {
		return t.matchArray(array, value, pattern.Location, env, then)
	}
	if t.unbound(pattern, env) {
		panic(unsupported{"a pattern", pattern.Location})
	}
	return t.term(pattern, env, func(other term, env *environment) formula {
		return and(defined(other), equal(value, other), then(env))
	})
}

func (t *translation) matchArray(array *ast.Array, value term, location *ast.Location, env *environment, then withBinding) formula {
	length := application{"count", []term{value}}
	var shape formula
	switch v := value.(type) {
	case list:
		shape = len(v.elements) == array.Len()
	case constant:
		other, ok := v.value.(*ast.Array)
		shape = ok && other.Len() == array.Len()
	default:
		shape = and(isOf("is_array", value), equal(length, constantTerm(ast.Number(fmt.Sprint(array.Len())))))
	}
	if shape == false {
		return false
	}
	var element func(i int, env *environment) formula
	element = func(i int, env *environment) formula {
		if i == array.Len() {
			return then(env)
		}
		return t.at(value, constantTerm(ast.Number(fmt.Sprint(i))), location, func(found term) formula {
			return and(defined(found), t.match(array.Elem(i), found, env, func(env *environment) formula { return element(i+1, env) }))
		})
	}
	return and(shape, element(0, env))
}

func (t *translation) terms(list []*ast.Term, env *environment, then func([]term, *environment) formula) formula {
	if len(list) == 0 {
		return then(nil, env)
	}
	return t.term(list[0], env, func(first term, env *environment) formula {
		return t.terms(list[1:], env, func(others []term, env *environment) formula {
			return then(append([]term{first}, others...), env)
		})
	})
}

// constantOf is a term of Rego without variables, references and calls.
func constantOf(t *ast.Term) (constant, bool) {
	plain := true
	ast.WalkTerms(t, func(part *ast.Term) bool {
		switch part.Value.(type) {
		case ast.Var, ast.Ref, ast.Call, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.TemplateString:
			plain = false
		}
		return !plain
	})
	return constantTerm(t.Value), plain
}

// term is the formula that an expression has a value of which then holds. The value
// may still be undefined.
func (t *translation) term(node *ast.Term, env *environment, then withValueInside) formula {
	t.step()
	if value, ok := constantOf(node); ok {
		return then(value, env)
	}
	switch v := node.Value.(type) {
	case ast.Var:
		value, bound := env.lookup(v)
		if !bound {
			panic(unsupported{"a variable without a value", node.Location})
		}
		return then(value, env)
	case ast.Ref:
		return t.reference(v, node.Location, env, then)
	case *ast.Array:
		var elements []*ast.Term
		v.Foreach(func(e *ast.Term) { elements = append(elements, e) })
		return t.list(elements, env, then)
	case ast.Set:
		// Whether OPA finds a member of such a set depends on its release.
		panic(unsupported{"a set whose members are not constant", node.Location})
	case *ast.SetComprehension:
		return then(t.comprehension(node, "is_set", v.Body, v.Term, nil, env), env)
	case *ast.ArrayComprehension:
		return then(t.comprehension(node, "is_array", v.Body, v.Term, nil, env), env)
	case *ast.ObjectComprehension:
		return then(t.comprehension(node, "is_object", v.Body, v.Value, v.Key, env), env)
	case ast.Object:
		return t.object(node, v, env, then)
	}
	panic(unsupported{"a value such as " + node.String(), node.Location})
}

func (t *translation) list(elements []*ast.Term, env *environment, then withValueInside) formula {
	return t.terms(elements, env, func(values []term, env *environment) formula {
		var all []formula
		for _, value := range values {
			all = append(all, defined(value))
		}
		return and(append(all, then(list{values}, env))...)
	})
}

// object is one that is written out, with constant keys.
func (t *translation) object(node *ast.Term, object ast.Object, env *environment, then withValueInside) formula {
	var nodes []*ast.Term
	for _, key := range object.Keys() {
		if _, ok := constantOf(key); !ok {
			panic(unsupported{"an object with computed keys", node.Location})
		}
		nodes = append(nodes, object.Get(key))
	}
	return t.terms(nodes, env, func(values []term, env *environment) formula {
		var all []formula
		text := "object"
		for i, key := range object.Keys() {
			all = append(all, defined(values[i]))
			text += fmt.Sprintf(" %s: %s", key, values[i].key())
		}
		made := collection{text: text, kind: "is_object", each: func(then func(key, value term) formula) formula {
			var each []formula
			for i, key := range object.Keys() {
				each = append(each, then(constantTerm(key.Value), values[i]))
			}
			return or(each...)
		}}
		return and(append(all, then(made, env))...)
	})
}

func (t *translation) comprehension(node *ast.Term, kind string, body ast.Body, value, key *ast.Term, env *environment) collection {
	made := collection{text: t.text(node, env), kind: kind, fallible: t.fallible(node)}
	if made.fallible {
		t.mayFail()
	}
	made.each = func(then func(key, value term) formula) formula {
		return t.body(body, env, func(env *environment) formula {
			return t.term(value, env, func(found term, env *environment) formula {
				if key == nil {
					if kind == "is_array" {
						*t.fresh++
						return and(defined(found), then(opaque{fmt.Sprintf("index %d", *t.fresh)}, found))
					}
					return and(defined(found), then(found, found))
				}
				return t.term(key, env, func(at term, _ *environment) formula { return then(at, found) })
			})
		})
	}
	return made
}

// reference follows a path from a variable, input or a rule.
func (t *translation) reference(ref ast.Ref, location *ast.Location, env *environment, then withValueInside) formula {
	own := t.policy.module.Package.Path
	head, isVar := ref[0].Value.(ast.Var)
	switch {
	case !isVar:
		return t.term(ref[0], env, func(from term, env *environment) formula { return t.path(from, ref[1:], location, env, then) })
	case ref.HasPrefix(own):
		name, ok := t.policy.ruleName(ref)
		rules := t.policy.rules(name)
		if !ok || len(rules) == 0 || len(rules[0].Head.Args) > 0 {
			panic(unsupported{ref.String(), location})
		}
		return t.value(name, func(from term) formula { return t.path(from, ref[len(own)+1:], location, env, then) })
	case ref.HasPrefix(ast.InputRootRef):
		return t.path(document{"input"}, ref[1:], location, env, then)
	case ref.HasPrefix(ast.DefaultRootRef):
		return t.path(document{"data"}, ref[1:], location, env, then)
	}
	from, bound := env.lookup(head)
	if !bound {
		panic(unsupported{"a variable without a value", location})
	}
	return t.path(from, ref[1:], location, env, then)
}

func (t *translation) path(from term, rest ast.Ref, location *ast.Location, env *environment, then withValueInside) formula {
	if len(rest) == 0 {
		return then(from, env)
	}
	if name, ok := rest[0].Value.(ast.Var); ok {
		if _, bound := env.lookup(name); !bound {
			return t.iterate(from, location, func(key, value term) formula {
				return t.path(value, rest[1:], location, env.with(name, key), then)
			})
		}
	}
	return t.term(rest[0], env, func(key term, env *environment) formula {
		return t.at(from, key, location, func(found term) formula { return t.path(found, rest[1:], location, env, then) })
	})
}

// at is the formula that there is something at a key of which then holds.
func (t *translation) at(from, key term, location *ast.Location, then withValue) formula {
	t.step()
	switch from := from.(type) {
	case constant, list, collection:
		if made, ok := from.(collection); ok && made.kind == "is_array" {
			panic(unsupported{"an index into a comprehension", location})
		}
		return t.iterate(from, location, func(at, value term) formula { return and(equal(at, key), then(value)) })
	case application, opaque:
		// What a function gives may be a set, whose members are their own keys.
		panic(unsupported{"a path into the result of a function", location})
	}
	if from.key() == "data" {
		// Nothing is known of other documents but their names.
		t.note(&unsupported{"a document of data", location})
	}
	found := memberTerm(from, key)
	return and(defined(found), then(found))
}

// iterate is the formula that then holds of one of the elements of a value.
func (t *translation) iterate(in term, location *ast.Location, then func(key, value term) formula) formula {
	t.step()
	t.iterations++
	switch in := in.(type) {
	case constant:
		return or(t.constants(in.value, then)...)
	case list:
		var all []formula
		for i, element := range in.elements {
			all = append(all, then(constantTerm(ast.Number(fmt.Sprint(i))), element))
		}
		return or(all...)
	case collection:
		return in.each(then)
	}
	if !ofInput(in) {
		panic(unsupported{"going through the result of a function or a document of data", location})
	}
	return t.existence(in, then)
}

func (t *translation) constants(value ast.Value, then func(key, value term) formula) (all []formula) {
	switch value := value.(type) {
	case *ast.Array:
		for i := range value.Len() {
			all = append(all, then(constantTerm(ast.Number(fmt.Sprint(i))), constantTerm(value.Elem(i).Value)))
		}
	case ast.Object:
		value.Foreach(func(k, v *ast.Term) { all = append(all, then(constantTerm(k.Value), constantTerm(v.Value))) })
	case ast.Set:
		value.Foreach(func(e *ast.Term) { all = append(all, then(constantTerm(e.Value), constantTerm(e.Value))) })
	}
	return all
}

// existence goes through the body once for an element like any other, so that errors
// and what is not understood come up here.
func (t *translation) existence(in term, then func(key, value term) formula) formula {
	outer := t.errors
	t.errors = nil
	*t.fresh++
	any := witnessTerm(-*t.fresh)
	body := then(any, memberTerm(in, any))
	inside := t.errors
	t.errors = outer
	if len(inside) > 0 {
		t.errors = append(t.errors, existence{in, func(key, value term) formula {
			before, wanted := t.errors, t.wantErrors
			t.errors, t.wantErrors = nil, true
			then(key, value)
			found := or(t.errors...)
			t.errors, t.wantErrors = before, wanted
			return found
		}})
	}
	if body == false {
		return false
	}
	return existence{in, func(key, value term) formula {
		before := t.errors
		defer func() { t.errors = before }()
		return then(key, value)
	}}
}

// fallible says that evaluating a node may end with an error: by two values for one
// rule or one key.
func (t *translation) fallible(node any) bool {
	found := false
	seen := map[string]bool{}
	var visit func(any)
	visit = func(node any) {
		ast.WalkNodes(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.With:
				found = true
			case *ast.Term:
				if _, object := n.Value.(*ast.ObjectComprehension); object {
					found = true
				}
			}
			return found
		})
		ast.WalkRefs(node, func(ref ast.Ref) bool {
			name, own := t.policy.ruleName(ref)
			if !own && ref.HasPrefix(t.policy.module.Package.Path) {
				found = true
			}
			if !own || seen[name] || found {
				return found
			}
			seen[name] = true
			rules := t.policy.rules(name)
			if len(rules) == 0 {
				found = true
				return true
			}
			single := rules[0].Head.RuleKind() == ast.SingleValue
			var chains []*ast.Rule
			for _, rule := range rules {
				if !rule.Default {
					chains = append(chains, rule)
				}
			}
			if single && (len(rules[0].Head.Ref()) > 1 || !sameConstant(chains)) {
				found = true
			}
			for _, rule := range rules {
				visit(rule)
			}
			return found
		})
	}
	visit(node)
	return found
}

// text is all that the value of a node depends on: itself with the names of variables
// taken out or replaced by their values, and the rules that it refers to.
func (t *translation) text(node any, env *environment) string {
	seen := map[string]string{}
	text := t.canonical(node, env)
	t.dependencies(node, seen)
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		text += "\n" + name + ": " + seen[name]
	}
	return text
}

func (t *translation) dependencies(node any, seen map[string]string) {
	ast.WalkRefs(node, func(ref ast.Ref) bool {
		t.step()
		if _, foreign := t.nondeterministic(ref); foreign {
			*t.fresh++
			seen[fmt.Sprintf("~%d", *t.fresh)] = fmt.Sprintf("%s once %d", ref, *t.fresh)
		}
		name, own := t.policy.ruleName(ref)
		if !own {
			if ref.HasPrefix(t.policy.module.Package.Path) {
				*t.fresh++
				seen[fmt.Sprintf("~%d", *t.fresh)] = fmt.Sprintf("package %d", *t.fresh)
			}
			return false
		}
		if _, done := seen[name]; !done {
			seen[name] = ""
			var texts []string
			for _, rule := range t.policy.rules(name) {
				texts = append(texts, t.canonical(rule, nil))
				t.dependencies(rule, seen)
			}
			seen[name] = strings.Join(texts, "\n")
		}
		return false
	})
}

func (t *translation) nondeterministic(ref ast.Ref) (*ast.Builtin, bool) {
	builtin, known := ast.BuiltinMap[ref.String()]
	return builtin, known && builtin.Nondeterministic
}

// canonical writes a node without what differs between equal nodes.
func (t *translation) canonical(node any, env *environment) string {
	switch n := node.(type) {
	case *ast.Rule:
		node = n.Copy()
	case *ast.Expr:
		node = n.Copy()
	case *ast.Term:
		node = n.Copy()
	}
	names := map[ast.Var]ast.Var{}
	renamed, err := ast.TransformVars(node, func(name ast.Var) (ast.Value, error) {
		if name == ast.InputRootDocument.Value || name == ast.DefaultRootDocument.Value || isFunctionName(name) {
			return name, nil
		}
		if value, bound := env.lookup(name); bound {
			return ast.Var(fmt.Sprintf("<%q>", value.key())), nil
		}
		if names[name] == "" {
			names[name] = ast.Var(fmt.Sprintf("_%d", len(names)))
		}
		return names[name], nil
	})
	if err == nil {
		renamed, err = ast.TransformRefs(renamed, func(ref ast.Ref) (ast.Value, error) {
			if own := t.policy.module.Package.Path; ref.HasPrefix(own) {
				return append(ast.Ref{ast.VarTerm("<own>")}, ref[len(own):]...), nil
			}
			return ref, nil
		})
	}
	if err != nil {
		*t.fresh++
		return fmt.Sprintf("node %d", *t.fresh)
	}
	return fmt.Sprint(renamed)
}

// isFunctionName says that the name of a builtin begins with it, such as json.
func isFunctionName(name ast.Var) bool { return functionNames()[string(name)] }

var functionNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name := range ast.BuiltinMap {
		first, _, _ := strings.Cut(name, ".")
		names[first] = true
	}
	return names
})

func isDeclaration(expr *ast.Expr) bool {
	_, ok := expr.Terms.(*ast.SomeDecl)
	return ok
}
