package restriction

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// symbolic is the condition of findViolation as a formula. It is true for every input with a
// violation, and may be true for others: it covers errors of evaluation only if they prevent
// a grant of a parent.
func (c *comparison) symbolic(child *translation, parentOf func(*sidecar.Policy) *translation) formula {
	switch c.order {
	case sidecar.Grant:
		return c.symbolicGrant(child, parentOf)
	case unstated:
		return c.symbolicUnstated(child, parentOf)
	}
	return child.answer(c.decision, func(own term) formula {
		var exceeded []formula
		for _, p := range c.differing(child) {
			parent := parentOf(p)
			exceeded = append(exceeded, parent.answer(c.decision, func(limit term) formula {
				return c.symbolicExcess(own, limit, func(of term, then func(key, value term) formula) formula {
					return parent.iterate(of, nil, then)
				})
			}))
		}
		return or(c.symbolicInvalid(child, own, parentOf), and(c.symbolicRoot(parentOf), or(exceeded...)))
	})
}

// differing are the parents whose rules of the decision, or of a rule that they reference,
// differ from those of the child. Other parents always have the value of the child.
func (c *comparison) differing(child *translation) []*sidecar.Policy {
	text := func(t *translation) string { return t.text(ast.NewTerm(t.policy.Ref(c.decision)), nil) }
	own := text(child)
	return slices.DeleteFunc(slices.Clone(c.definers), func(p *sidecar.Policy) bool {
		return text(newTranslation(child.ctx, p, child.steps, child.fresh)) == own
	})
}

// symbolicInvalid is the formula that a value is not valid for the order, and that no parent
// has the same value.
func (c *comparison) symbolicInvalid(child *translation, own term, parentOf func(*sidecar.Policy) *translation) formula {
	invalid := not(c.symbolicValid(own))
	if invalid == false || len(c.differing(child)) < len(c.definers) {
		return false
	}
	all := []formula{invalid}
	for _, p := range c.definers {
		parent := parentOf(p)
		parent.wantErrors = true
		same := parent.answer(c.decision, func(value term) formula { return equal(value, own) })
		all = append(all, not(and(same, not(or(parent.errors...)))))
	}
	return and(all...)
}

// symbolicRoot is the formula that the broadest scope has a valid word. Otherwise, a decision
// of words is undefined.
func (c *comparison) symbolicRoot(parentOf func(*sidecar.Policy) *translation) formula {
	if c.order != sidecar.Word {
		return true
	}
	var valid []formula
	for _, p := range c.definers {
		if p.Level == c.definers[0].Level {
			valid = append(valid, parentOf(p).value(c.decision, whole, c.symbolicValid))
		}
	}
	return or(valid...)
}

func (c *comparison) symbolicGrant(child *translation, parentOf func(*sidecar.Policy) *translation) formula {
	isTrue := func(value term) formula { return equal(value, constantTerm(ast.Boolean(true))) }
	granted := []formula{child.answer(c.decision, isTrue)}
	for _, denial := range c.denials() {
		granted = append(granted, not(child.value(denial, whole, symbolicFiring)))
	}
	var refused []formula
	for _, p := range c.differing(child) {
		parent := parentOf(p)
		parent.wantErrors = true
		refused = append(refused, not(parent.value(c.decision, whole, isTrue)))
		refused = append(refused, parent.errors...)
	}
	if c.ungrantable {
		refused = append(refused, true)
	}
	return and(append(granted, or(refused...))...)
}

func (c *comparison) symbolicUnstated(child *translation, parentOf func(*sidecar.Policy) *translation) formula {
	return child.answer(c.decision, func(term) formula {
		var all []formula
		for _, p := range c.definers {
			parent := parentOf(p)
			parent.wantErrors = true
			silent := not(parent.value(c.decision, whole, defined))
			all = append(all, or(append([]formula{silent}, parent.errors...)...))
		}
		return and(all...)
	})
}

// emptyValues are the values with which a denial does not fire.
var emptyValues = []ast.Value{ast.Boolean(false), ast.String(""), ast.NewArray(), ast.NewObject(), ast.NewSet()}

func symbolicFiring(value term) formula {
	if made, ok := value.(collection); ok {
		return made.any()
	}
	all := []formula{defined(value)}
	for _, nothing := range emptyValues {
		all = append(all, not(equal(value, constantTerm(nothing))))
	}
	return and(all...)
}

// symbolicValid is the formula that a defined value is valid for the order.
func (c *comparison) symbolicValid(value term) formula {
	switch c.order {
	case sidecar.Word:
		return c.symbolicRank(value, func(int) bool { return true })
	case sidecar.Subset:
		return or(isOf("is_array", value), isOf("is_set", value))
	case sidecar.Unordered:
		return true
	}
	return and(isOf("is_number", value), not(less(value, constantTerm(ast.Number("0")))))
}

func (c *comparison) symbolicRank(value term, accepts func(rank int) bool) formula {
	var some []formula
	for _, word := range c.words() {
		if accepts(c.ranks[word]) {
			some = append(some, equal(value, constantTerm(ast.String(word))))
		}
	}
	return or(some...)
}

// symbolicExcess is the formula that one valid value permits more than another, or differs
// from it if the decision has no order. iterate is the formula that a condition holds for at
// least one element of a list or set.
func (c *comparison) symbolicExcess(own, limit term, iterate func(of term, then func(key, value term) formula) formula) formula {
	switch c.order {
	case sidecar.Word:
		var some []formula
		for _, word := range c.words() {
			rank := c.ranks[word]
			some = append(some, and(
				equal(own, constantTerm(ast.String(word))),
				c.symbolicRank(limit, func(other int) bool { return other > rank })))
		}
		return or(some...)
	case sidecar.Ceiling:
		return and(c.symbolicValid(limit), less(limit, own))
	case sidecar.Floor:
		return and(c.symbolicValid(limit), less(own, limit))
	case sidecar.Unordered:
		return not(equal(own, limit))
	}
	return and(c.symbolicValid(limit), iterate(own, func(_, element term) formula {
		return not(iterate(limit, func(_, other term) formula { return equal(element, other) }))
	}))
}
