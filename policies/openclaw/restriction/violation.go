package restriction

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// candidate is an input on which the child permits more in an evaluation.
type candidate struct {
	input ast.Value // nil if it is undefined
	*violation
}

// violation has the values of child and parent on an input where the child permits more.
type violation struct {
	parent, child ast.Value       // nil where undefined
	by            *sidecar.Policy // the parent that permits less; nil if the child's value is invalid
	reason        string
}

// findViolation evaluates both sides on an input. The result is nil if the child does not
// permit more, or if an evaluation is inconclusive.
func (c *comparison) findViolation(r *replay, input ast.Value) *violation {
	r.inconclusive = false
	v := c.compareValues(r, input)
	if r.inconclusive {
		return nil
	}
	return v
}

// confirmViolation calls findViolation. The result is also nil if the outcome depends on the
// rules and conditions that OPA evaluates, or on their order.
func (c *comparison) confirmViolation(r *replay, input ast.Value) *violation {
	v := c.findViolation(r, input)
	if v == nil || c.findViolation(r.inEveryOrder(), input) == nil {
		return nil
	}
	return v
}

func (c *comparison) compareValues(r *replay, input ast.Value) *violation {
	value := r.decide(c.child, c.decision, input)
	if value == nil {
		return nil
	}
	switch c.order {
	case sidecar.Grant:
		return c.compareGrant(r, value, input)
	case unstated:
		return c.compareUnstated(r, value, input)
	}
	return c.compareOrdered(r, value, input)
}

func (c *comparison) compareGrant(r *replay, value, input ast.Value) *violation {
	if ast.Compare(value, ast.Boolean(true)) != 0 {
		return nil
	}
	for _, denial := range c.denials() {
		fired, err := r.run(c.child, denial, input, nil)
		if err != nil || fired != nil && symbolicFiring(constantTerm(fired)) == true {
			return nil
		}
	}
	for _, p := range c.definers {
		if granted := r.decide(p, c.decision, input); granted == nil || ast.Compare(granted, ast.Boolean(true)) != 0 {
			return &violation{parent: granted, child: value, by: p, reason: fmt.Sprintf("%s grants %s where %s does not", c.child.Name, c.decision, p.Name)}
		}
	}
	if c.ungrantable {
		return &violation{child: value, by: c.parents[0], reason: fmt.Sprintf(
			"the %s scope has no rule %s, so narrower scopes cannot grant it", c.parents[0].Level, c.decision)}
	}
	return nil
}

// copied reports whether a parent has the same value. Repeating a value permits no more.
func (c *comparison) copied(r *replay, value, input ast.Value) bool {
	return slices.ContainsFunc(c.definers, func(p *sidecar.Policy) bool {
		other := r.decide(p, c.decision, input)
		return other != nil && ast.Compare(other, value) == 0
	})
}

// compareOrdered compares a value with the values of the parents.
func (c *comparison) compareOrdered(r *replay, value, input ast.Value) *violation {
	if c.symbolicValid(constantTerm(value)) == false {
		if c.copied(r, value, input) {
			return nil
		}
		return &violation{child: value, reason: fmt.Sprintf("%s of %s is %s, which is not %s: it is refused at admission", c.decision, c.child.Name, value, c.domain())}
	}
	var worst *violation
	for _, limit := range c.limits(r, input) {
		if c.exceeds(value, limit.value) && (worst == nil || c.isTotal() && c.exceeds(worst.parent, limit.value)) {
			worst = &violation{parent: limit.value, child: value, by: limit.by, reason: c.excess(limit.by)}
		}
	}
	return worst
}

// excess is the message that the child permits more than a parent.
func (c *comparison) excess(parent *sidecar.Policy) string {
	if c.order == sidecar.Unordered {
		return fmt.Sprintf("values of %s have no known order: where policies of one scope differ, gateways receive no value; define it in one policy, or with the same value in both", c.decision)
	}
	return fmt.Sprintf("%s of %s permits more than that of %s", c.decision, c.child.Name, parent.Name)
}

// domain describes the valid values.
func (c *comparison) domain() string {
	switch c.order {
	case sidecar.Word:
		return "one of " + strings.Join(c.words(), ", ")
	case sidecar.Subset:
		return "a list or set"
	}
	return "a number from 0"
}

// limit is a valid value of a parent.
type limit struct {
	by    *sidecar.Policy
	value ast.Value
}

// limits are the effective values of the parents. There are none if all values of the
// broadest scope are invalid, or if a decision of words is undefined there.
func (c *comparison) limits(r *replay, input ast.Value) []limit {
	var limits []limit
	broadestAnswers, broadestIsValid := c.order == sidecar.Word, false
	for _, p := range c.definers {
		value := r.decide(p, c.decision, input)
		if value == nil {
			continue
		}
		broadest := p.Level == c.definers[0].Level
		broadestAnswers = broadestAnswers || broadest
		if c.symbolicValid(constantTerm(value)) == true {
			broadestIsValid = broadestIsValid || broadest
			limits = append(limits, limit{p, value})
		}
	}
	if broadestAnswers && !broadestIsValid {
		return nil
	}
	return limits
}

// exceeds reports whether one valid value permits more than another.
func (c *comparison) exceeds(value, limit ast.Value) bool {
	elements := func(of term, then func(key, value term) formula) formula {
		return or(elementsOf(of.(constant).value, then)...)
	}
	return c.symbolicExcess(constantTerm(value), constantTerm(limit), elements) == true
}

// compareUnstated returns a violation if the decision is undefined in all parents.
func (c *comparison) compareUnstated(r *replay, value, input ast.Value) *violation {
	for _, p := range c.definers {
		if r.decide(p, c.decision, input) != nil {
			return nil
		}
	}
	return &violation{child: value, by: c.parents[0], reason: "no broader scope defines a value"}
}
