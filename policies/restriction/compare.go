package restriction

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/sidecar"
)

// comparison is one decision of a child and of its parents.
type comparison struct {
	decision string
	order    sidecar.Order
	ranks    map[string]int
	child    *sidecar.Policy
	// parents are broadest first, definers those of them that have the decision.
	parents, definers []*sidecar.Policy
	// ungrantable says that the broadest scope does not have the grant.
	ungrantable bool
	// changes is how many inputs are tried that are made of others.
	changes int
	// bounds are those of the formulas.
	bounds bounds
}

func newComparison(decision string, child *sidecar.Policy, parents []*sidecar.Policy) *comparison {
	c := &comparison{decision: decision, ranks: sidecar.Ranks(decision), child: child, parents: parents, changes: maxChanges, bounds: defaultBounds}
	c.definers = slices.DeleteFunc(slices.Clone(parents), func(p *sidecar.Policy) bool { return !p.Defines(decision) })
	c.order = sidecar.OrderAmong(decision, append(slices.Clone(c.definers), child))
	root := parents[0].Level
	c.ungrantable = c.order == sidecar.Grant && child.Level != root && (len(c.definers) == 0 || c.definers[0].Level != root)
	return c
}

// denials are the decisions of the child whose firing takes its grant back.
func (c *comparison) denials() []string {
	var names []string
	for _, name := range []string{"deny", "deny" + strings.TrimPrefix(c.decision, "allow")} {
		if c.child.Defines(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
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

// emptyValues are the values with which a denial does not fire.
var emptyValues = []ast.Value{ast.Boolean(false), ast.String(""), ast.NewArray(), ast.NewObject(), ast.NewSet()}

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

// isTotal says whether one of any two values is stricter.
func (c *comparison) isTotal() bool { return c.order != sidecar.Subset && c.order != sidecar.Unordered }

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

// words are in their order.
func (c *comparison) words() []string {
	return slices.SortedFunc(maps.Keys(c.ranks), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.ranks[a], c.ranks[b]), cmp.Compare(a, b))
	})
}

// symbolic is the condition of judge as a formula. It is true of every input where judge
// finds something, and perhaps of others: it takes notice of errors of evaluation only where
// they keep a parent from granting.
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

// differing are the parents whose rules of the decision, and of all that these refer to, are
// not those of the child. Others always decide as the child does.
func (c *comparison) differing(child *translation) []*sidecar.Policy {
	text := func(t *translation) string { return t.text(ast.NewTerm(t.policy.Ref(c.decision)), nil) }
	own := text(child)
	return slices.DeleteFunc(slices.Clone(c.definers), func(p *sidecar.Policy) bool {
		return text(newTranslation(child.ctx, p, child.steps, child.fresh)) == own
	})
}

// symbolicInvalid is the formula that a value is not what the order compares, and that no
// parent gives the same.
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

// symbolicRoot is the formula that the broadest scope gives a valid word. Without one, a
// decision of words is undefined.
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

// symbolicValid is the formula that a defined value is what the order compares.
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

func (c *comparison) symbolicRank(value term, wanted func(rank int) bool) formula {
	var some []formula
	for _, word := range c.words() {
		if wanted(c.ranks[word]) {
			some = append(some, equal(value, constantTerm(ast.String(word))))
		}
	}
	return or(some...)
}

// symbolicExcess is the formula that one valid value permits more than another, or differs
// from it where there is no order. iterate is the formula that something holds of one of
// the elements of a list or set.
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
