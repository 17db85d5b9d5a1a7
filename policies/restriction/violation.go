package restriction

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/sidecar"
)

// candidate is an input on which the child has been seen to permit more.
type candidate struct {
	input ast.Value // nil if it is undefined
	*finding
}

// finding is what child and parent decide on an input where the child permits more.
type finding struct {
	parent, child ast.Value       // nil where undefined
	by            *sidecar.Policy // the parent that permits less; nil if the child's value is invalid
	reason        string
}

// judge evaluates both sides for an input: nil if the child does not permit more, or where
// evaluations are not sure.
func (c *comparison) judge(r *replay, input ast.Value) *finding {
	r.unsure = false
	found := c.judged(r, input)
	if r.unsure {
		return nil
	}
	return found
}

// confirmed is judge, but nil where the outcome depends on which rules and conditions OPA
// evaluates, and in which order.
func (c *comparison) confirmed(r *replay, input ast.Value) *finding {
	found := c.judge(r, input)
	if found == nil || c.judge(r.inEveryOrder(), input) == nil {
		return nil
	}
	return found
}

func (c *comparison) judged(r *replay, input ast.Value) *finding {
	value := r.decide(c.child, c.decision, input)
	if value == nil {
		return nil
	}
	switch c.order {
	case sidecar.Grant:
		return c.judgeGrant(r, value, input)
	case unstated:
		return c.judgeUnstated(r, value, input)
	}
	return c.judgeOrdered(r, value, input)
}

func (c *comparison) judgeGrant(r *replay, value, input ast.Value) *finding {
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
			return &finding{parent: granted, child: value, by: p, reason: fmt.Sprintf("%s grants %s where %s does not", c.child.Name, c.decision, p.Name)}
		}
	}
	if c.ungrantable {
		return &finding{child: value, by: c.parents[0], reason: fmt.Sprintf(
			"the %s scope has no rule %s, so nobody below it can grant it", c.parents[0].Level, c.decision)}
	}
	return nil
}

// copied says whether a parent gives the same value: to repeat it permits no more.
func (c *comparison) copied(r *replay, value, input ast.Value) bool {
	return slices.ContainsFunc(c.definers, func(p *sidecar.Policy) bool {
		other := r.decide(p, c.decision, input)
		return other != nil && ast.Compare(other, value) == 0
	})
}

// judgeOrdered compares a value with those of the parents.
func (c *comparison) judgeOrdered(r *replay, value, input ast.Value) *finding {
	if c.symbolicValid(constantTerm(value)) == false {
		if c.copied(r, value, input) {
			return nil
		}
		return &finding{child: value, reason: fmt.Sprintf("%s of %s is %s, which is not %s: it is refused at admission", c.decision, c.child.Name, value, c.domain())}
	}
	var found *finding
	for _, limit := range c.limits(r, input) {
		if c.exceeds(value, limit.value) && (found == nil || c.isTotal() && c.exceeds(found.parent, limit.value)) {
			found = &finding{parent: limit.value, child: value, by: limit.by, reason: c.excess(limit.by)}
		}
	}
	return found
}

// excess says in words that the child permits more than a parent.
func (c *comparison) excess(parent *sidecar.Policy) string {
	if c.order == sidecar.Unordered {
		return fmt.Sprintf("values of %s have no known order: where policies of one scope differ, gateways are told nothing; say it in one of them, or the same in both", c.decision)
	}
	return fmt.Sprintf("%s of %s permits more than that of %s", c.decision, c.child.Name, parent.Name)
}

// domain is what a valid value is, in words.
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

// limits are the values of the parents that count. None does if all values of the broadest
// of them are invalid, or if these have no word.
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

// exceeds says whether one valid value permits more than another.
func (c *comparison) exceeds(value, limit ast.Value) bool {
	elements := func(of term, then func(key, value term) formula) formula {
		return or(elementsOf(of.(constant).value, then)...)
	}
	return c.symbolicExcess(constantTerm(value), constantTerm(limit), elements) == true
}

// judgeUnstated finds that no parent answers.
func (c *comparison) judgeUnstated(r *replay, value, input ast.Value) *finding {
	for _, p := range c.definers {
		if r.decide(p, c.decision, input) != nil {
			return nil
		}
	}
	return &finding{child: value, by: c.parents[0], reason: "no broader scope says any"}
}
