package restriction

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// value is the formula that a rule of the policy has a value for which then holds.
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

// answer is the formula that a decision has exactly one defined value, and that then holds
// for it.
func (t *translation) answer(name string, then withValue) formula {
	hasValue := t.value(name, whole, func(value term) formula { return and(defined(value), then(value)) })
	return and(not(t.contradiction(name)), hasValue)
}

// partial is the collection of partial rules, of which a reference reads a part.
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
	return made, t.evaluationSucceeds(made, node, nil, read)
}

// complete is the formula that one of the rules of a name has a value for which then holds.
// The rules define a function if there are arguments.
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

// chain translates a rule with its else branches.
func (t *translation) chain(rule *ast.Rule, arguments []term, then withValue) formula {
	if !t.supports(rule, arguments) {
		made := opaque{t.text(rule, nil) + " of " + keys(arguments)}
		value, constant := constantOf(rule.Head.Value)
		constant = constant && rule.Else == nil
		var succeeds formula = true
		if !constant || t.fallible(rule) {
			succeeds = t.mayFail(made.text) // the rule may have two values
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

// supports reports whether a rule can be translated. It translates the rule without a
// continuation, so that an unsupported construct in a user of the rule does not count.
func (t *translation) supports(rule *ast.Rule, arguments []term) bool {
	if known, tried := t.supported[rule]; tried && (len(arguments) == 0 || !known) {
		return known
	}
	t.supported[rule] = false // for a recursive call
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

// apply binds the arguments and translates the body.
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

// conflicts records the errors of rules of one name that have two different values on one
// input.
func (t *translation) conflicts(chains []*ast.Rule, arguments []term) {
	if !t.wantErrors || sameConstant(chains) {
		return
	}
	var conflicting []formula
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
					conflicting = append(conflicting, f)
				}
			}
		}
	})
	if f := or(conflicting...); f != false {
		t.errors = append(t.errors, f)
	}
}

// constantConflict is the formula that two rules with constant values conflict. It does not
// relate the values of both rules.
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

// contradiction is the formula that the rules of a decision have two values on one input,
// which makes the decision undefined.
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
