package restriction

import (
	"context"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/sidecar"
)

// maxSteps bounds the work, and with it the size, of a translation.
const maxSteps = 100_000

// translation turns the rules of one policy, as OPA has compiled them, into formulas.
type translation struct {
	ctx    context.Context
	policy *sidecar.Policy
	steps  *int
	// errors are what may end the evaluation with an error: only collected for a
	// policy that must be known to answer.
	errors     []formula
	wantErrors bool
	iterations int // how often a value was gone through so far
	// firstOnly counts the negations and every expressions around the current expression. OPA
	// stops there at the first result, so a release may or may not meet a conflict.
	firstOnly int
	// notUnderstood is the first construct that is not.
	notUnderstood *unsupported

	writer *writer

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

var (
	outOfTime = exhausted{"there was no time left to compare the policies"}
	tooLarge  = exhausted{"the policies are too large to compare"}
)

func newTranslation(ctx context.Context, p *sidecar.Policy, steps, fresh *int) *translation {
	return &translation{ctx: ctx, policy: p, steps: steps, fresh: fresh, writer: &writer{prefix: "element"}, supported: map[*ast.Rule]bool{}}
}

func (t *translation) step() {
	*t.steps++
	if *t.steps > maxSteps {
		panic(tooLarge)
	}
	if *t.steps%256 == 0 && t.ctx.Err() != nil {
		panic(outOfTime)
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
	withValue           func(term) formula
	withBinding         func(*environment) formula
	withValueAndBinding func(term, *environment) formula
)

func always(*environment) formula { return true }

func anyValue(term) formula { return true }

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

// collectErrors runs f, which notes errors if they are wanted, and gives those that it has
// noted.
func (t *translation) collectErrors(wanted bool, f func()) []formula {
	outer, before := t.errors, t.wantErrors
	defer func() { t.errors, t.wantErrors = outer, before }()
	t.errors, t.wantErrors = nil, wanted
	f()
	return t.errors
}

func (t *translation) note(u *unsupported) {
	if t.notUnderstood == nil {
		t.notUnderstood = u
	}
}

// reading is how a reference reads the value of a rule: all of it where text is "", else a
// part. at is the first key of the path if it is known.
type reading struct {
	text string
	at   term
}

// whole reads all of a value.
var whole = reading{}

// value is the formula that a rule of the policy has a value of which then holds.
func (t *translation) value(name string, read reading, then withValue) formula {
	rules := t.policy.Rules(name)
	if len(rules) == 0 {
		return false
	}
	if made, succeeds := t.partial(name, read, rules); succeeds != nil {
		return and(succeeds, then(made))
	}
	return t.complete(rules, nil, then)
}

// answer is the formula that a decision has a defined value of which then holds, and no
// second value at once.
func (t *translation) answer(name string, then withValue) formula {
	found := t.value(name, whole, func(value term) formula { return and(defined(value), then(value)) })
	return and(not(t.contradiction(name)), found)
}

// partial is the collection that partial rules make, of which read is read.
func (t *translation) partial(name string, read reading, rules []*ast.Rule) (collection, formula) {
	head := rules[0].Head
	if head.RuleKind() != ast.MultiValue && len(head.Ref()) == 1 {
		return collection{}, nil
	}
	set := head.RuleKind() == ast.MultiValue
	for _, rule := range rules {
		length := len(rule.Head.Ref())
		if set && length > 1 || !set && length != 2 || set != (rule.Head.RuleKind() == ast.MultiValue) ||
			rule.Default || rule.Else != nil || len(rule.Head.Args) > 0 {
			panic(unsupported{"rules with a path as their name", rule.Location})
		}
	}
	made := collection{kind: "is_set"}
	if !set {
		made.kind = "is_object"
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
	node := ast.NewTerm(t.policy.Ref(name))
	made.text = t.textOf(made, node, nil)
	return made, t.made(made, node, nil, read)
}

// mayFail is the formula that evaluating what a text stands for does not end with an error,
// where nothing is known of when it does. The error is noted.
func (t *translation) mayFail(text string) formula {
	failed := atom{kind: isOpaque, left: opaque{"error of " + text}}
	if t.wantErrors {
		t.errors = append(t.errors, failed)
	}
	return not(failed)
}

// made is the formula that evaluating a collection does not end with an error. Errors are
// noted. Where a reference reads one key, two values for another key are no error. An error
// in the bodies of the rules may or may not end the evaluation then: OPA evaluates only what
// is read, and Lintel evaluates the whole collection. References with one text have one
// outcome.
func (t *translation) made(c collection, node *ast.Term, env *environment, read reading) formula {
	if !t.fallible(node) {
		return true
	}
	var failure *unsupported
	var conflict formula = false
	inside := or(t.collectErrors(true, func() {
		_, failure = t.attempt(func() formula {
			if c.kind != "is_object" {
				return c.any()
			}
			conflict = c.each(func(key, value term) formula {
				return c.each(func(other, its term) formula {
					if substitute(its, other, key).key() == value.key() {
						return false
					}
					differ := not(equal(value, its))
					if read.at != nil {
						return and(equal(key, read.at), equal(other, read.at), differ)
					}
					return and(equal(key, other), differ)
				})
			})
			return true
		})
	})...)
	if failure != nil {
		return t.mayFail(t.text(node, env) + read.text)
	}
	if read.text != "" {
		unsure := atom{kind: isOpaque, left: opaque{"error of " + read.text}}
		inside = and(inside, unsure)
		if read.at == nil {
			conflict = and(conflict, unsure)
		}
	}
	inside = or(inside, conflict)
	if t.firstOnly > 0 && inside != false {
		inside = and(inside, atom{kind: isOpaque, left: opaque{"first result of " + t.text(node, env) + read.text}})
	}
	if t.wantErrors && inside != false {
		t.errors = append(t.errors, inside)
	}
	return not(inside)
}

// complete is the formula that one of the rules of a name, which stand for a function
// if there are arguments, has a value of which then holds.
func (t *translation) complete(rules []*ast.Rule, arguments []term, then withValue) formula {
	t.step()
	chains, fallback := chainsOf(rules)
	t.conflicts(chains, arguments)
	var all []formula
	for _, rule := range chains {
		all = append(all, t.chain(rule, arguments, then))
	}
	if fallback != nil {
		var none []formula
		for _, rule := range chains {
			none = append(none, not(t.chain(rule, arguments, anyValue)))
		}
		none = append(none, t.term(fallback.Head.Value, nil, func(value term, _ *environment) formula { return then(value) }))
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
		var succeeds formula = true
		if !constant || t.fallible(rule) {
			succeeds = t.mayFail(made.text) // it may have two values at once
		}
		if constant {
			return and(succeeds, atom{kind: isOpaque, left: made}, then(value))
		}
		return and(succeeds, defined(made), then(made))
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
			before = append(before, not(t.apply(link, arguments, always)))
		}
	}
	return or(all...)
}

// supports says whether a rule can be translated. It tries that without a continuation, so
// that an unsupported construct in what uses the rule is not taken for one in the rule.
func (t *translation) supports(rule *ast.Rule, arguments []term) bool {
	if known, tried := t.supported[rule]; tried && (len(arguments) == 0 || !known) {
		return known
	}
	t.supported[rule] = false // until it has been tried
	var failure *unsupported
	t.collectErrors(false, func() {
		_, failure = t.attempt(func() formula { return t.links(rule, arguments, anyValue) })
	})
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

// conflicts notes as errors where rules of one name have two different values on one input.
func (t *translation) conflicts(chains []*ast.Rule, arguments []term) {
	if !t.wantErrors || sameConstant(chains) {
		return
	}
	var found []formula
	t.collectErrors(false, func() {
		for i, a := range chains {
			for _, b := range chains[i:] {
				iterations := t.iterations
				f, constant := t.constantConflict(a, b, arguments)
				if !constant {
					f = t.chain(a, arguments, func(one term) formula {
						return t.chain(b, arguments, func(other term) formula { return not(equal(one, other)) })
					})
				}
				if constant || a != b || t.iterations > iterations || !t.supported[a] {
					found = append(found, f)
				}
			}
		}
	})
	if f := or(found...); f != false {
		t.errors = append(t.errors, f)
	}
}

// constantConflict is the formula that two rules of constant values conflict, which
// needs no look at the values of both at once.
func (t *translation) constantConflict(a, b *ast.Rule, arguments []term) (formula, bool) {
	one, ok := constantOf(a.Head.Value)
	other, okToo := constantOf(b.Head.Value)
	if !ok || !okToo || a.Else != nil || b.Else != nil {
		return nil, false
	}
	if ast.Compare(one.value, other.value) == 0 {
		return false, true
	}
	return and(t.chain(a, arguments, anyValue), t.chain(b, arguments, anyValue)), true
}

// contradiction is the formula that the rules of a decision have two values at once,
// with which it has none.
func (t *translation) contradiction(name string) formula {
	rules := t.policy.Rules(name)
	if slices.ContainsFunc(rules, func(rule *ast.Rule) bool {
		return len(rule.Head.Ref()) > 1 || rule.Head.RuleKind() == ast.MultiValue
	}) {
		return false
	}
	chains, _ := chainsOf(rules)
	return or(t.collectErrors(true, func() { t.conflicts(chains, nil) })...)
}

// chainsOf parts rules of one name, with what follows them by else, from their default,
// which is nil where there is none.
func chainsOf(rules []*ast.Rule) (chains []*ast.Rule, fallback *ast.Rule) {
	for _, rule := range rules {
		if rule.Default {
			fallback = rule
		} else {
			chains = append(chains, rule)
		}
	}
	return chains, fallback
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
		return and(not(t.firstResult(func() formula { return t.expression(&positive, env, always) })), then(env))
	}
	switch terms := expr.Terms.(type) {
	case *ast.SomeDecl:
		return then(env)
	case *ast.Every:
		return and(t.firstResult(func() formula { return t.every(terms, env) }), then(env))
	case *ast.Term:
		return t.term(terms, env, func(value term, env *environment) formula { return and(truthy(value), then(env)) })
	case []*ast.Term:
		return t.call(expr, env, then)
	}
	panic(unsupported{"an expression", expr.Location})
}

// firstResult translates an expression of which OPA needs one result only.
func (t *translation) firstResult(translate func() formula) formula {
	t.firstOnly++
	defer func() { t.firstOnly-- }()
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
