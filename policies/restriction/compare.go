package restriction

import (
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
}

func newComparison(decision string, child *sidecar.Policy, parents []*sidecar.Policy) *comparison {
	c := &comparison{decision: decision, ranks: sidecar.Ranks(decision), child: child, parents: parents}
	for _, p := range parents {
		if p.Defines(decision) {
			c.definers = append(c.definers, p)
		}
	}
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

// finding is what the sides decide on an input where the child permits more.
type finding struct {
	parent, child ast.Value       // nil where undefined
	by            *sidecar.Policy // the parent that permits less; nil if the child's value is invalid
	reason        string
}

// judge evaluates both sides for an input: nil if the child does not permit more.
func (c *comparison) judge(r *replay, input ast.Value) *finding {
	value := r.decide(c.child, c.decision, input)
	if value == nil {
		return nil
	}
	switch c.order {
	case sidecar.Grant:
		return c.judgeGrant(r, value, input)
	case sidecar.Word:
		return c.judgeWord(r, value, input)
	case sidecar.Subset:
		return c.judgeSubset(r, value, input)
	case sidecar.Unordered:
		return c.judgeUnordered(r, value, input)
	case unstated:
		return c.judgeUnstated(r, value, input)
	}
	return c.judgeNumber(r, value, input)
}

func (c *comparison) judgeGrant(r *replay, value, input ast.Value) *finding {
	if ast.Compare(value, ast.Boolean(true)) != 0 {
		return nil
	}
	for _, denial := range c.denials() {
		fired, err := r.evaluate(c.child, denial, input, nil)
		if err != nil || fired != nil && firing(fired) {
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

// firing is said of a denial that is neither false nor empty.
func firing(value ast.Value) bool {
	for _, nothing := range emptyValues {
		if ast.Compare(value, nothing) == 0 {
			return false
		}
	}
	return true
}

// emptyValues are the values with which a denial does not fire.
var emptyValues = []ast.Value{ast.Boolean(false), ast.String(""), ast.NewArray(), ast.NewObject(), ast.NewSet()}

func (c *comparison) invalid(value ast.Value, what string) *finding {
	return &finding{child: value, reason: fmt.Sprintf("%s of %s is %s, which is not %s: it is refused at admission", c.decision, c.child.Name, value, what)}
}

// copied says that a parent says the very same: whoever repeats it permits no more.
func (c *comparison) copied(r *replay, value, input ast.Value) bool {
	return slices.ContainsFunc(c.definers, func(p *sidecar.Policy) bool {
		said := r.decide(p, c.decision, input)
		return said != nil && ast.Compare(said, value) == 0
	})
}

func (c *comparison) exceeds(value, limit ast.Value, by *sidecar.Policy) *finding {
	return &finding{parent: limit, child: value, by: by, reason: fmt.Sprintf("%s of %s permits more than that of %s", c.decision, c.child.Name, by.Name)}
}

func (c *comparison) judgeWord(r *replay, value, input ast.Value) *finding {
	rankOf := func(value ast.Value) int {
		word, _ := value.(ast.String)
		return c.ranks[string(word)]
	}
	own := rankOf(value)
	if own == 0 {
		if c.copied(r, value, input) {
			return nil
		}
		return c.invalid(value, "one of "+strings.Join(c.words(), ", "))
	}
	var highest ast.Value
	var by *sidecar.Policy
	rooted := false
	for _, p := range c.definers {
		said := r.decide(p, c.decision, input)
		rank := rankOf(said)
		rooted = rooted || rank > 0 && p.Level == c.definers[0].Level
		if rank > rankOf(highest) {
			highest, by = said, p
		}
	}
	if !rooted || own >= rankOf(highest) {
		return nil
	}
	return c.exceeds(value, highest, by)
}

// words are in their order.
func (c *comparison) words() []string {
	return slices.SortedFunc(maps.Keys(c.ranks), func(a, b string) int {
		if c.ranks[a] != c.ranks[b] {
			return c.ranks[a] - c.ranks[b]
		}
		return strings.Compare(a, b)
	})
}

func isLimit(value ast.Value) bool {
	_, ok := value.(ast.Number)
	return ok && ast.Compare(value, ast.Number("0")) >= 0
}

func (c *comparison) judgeNumber(r *replay, value, input ast.Value) *finding {
	if !isLimit(value) {
		if c.copied(r, value, input) {
			return nil
		}
		return c.invalid(value, "a number from 0")
	}
	var strictest ast.Value
	var by *sidecar.Policy
	for p, said := range c.valid(r, input, isLimit) {
		comparison := ast.Compare(said, strictest)
		if strictest == nil || c.order == sidecar.Ceiling && comparison < 0 || c.order == sidecar.Floor && comparison > 0 {
			strictest, by = said, p
		}
	}
	if strictest == nil {
		return nil
	}
	if comparison := ast.Compare(value, strictest); c.order == sidecar.Ceiling && comparison <= 0 || c.order == sidecar.Floor && comparison >= 0 {
		return nil
	}
	return c.exceeds(value, strictest, by)
}

// valid are the values of the parents that count: none if all that the broadest of them
// say is invalid.
func (c *comparison) valid(r *replay, input ast.Value, isValid func(ast.Value) bool) func(func(*sidecar.Policy, ast.Value) bool) {
	type statement struct {
		by    *sidecar.Policy
		value ast.Value
	}
	var counting []statement
	rootSays, rootValid := false, false
	for _, p := range c.definers {
		said := r.decide(p, c.decision, input)
		if said == nil {
			continue
		}
		root := p.Level == c.definers[0].Level
		rootSays = rootSays || root
		if isValid(said) {
			rootValid = rootValid || root
			counting = append(counting, statement{p, said})
		}
	}
	if rootSays && !rootValid {
		counting = nil
	}
	return func(yield func(*sidecar.Policy, ast.Value) bool) {
		for _, s := range counting {
			if !yield(s.by, s.value) {
				return
			}
		}
	}
}

func isListed(value ast.Value) bool { return rank(value) == 6 || rank(value) == 8 }

func (c *comparison) judgeSubset(r *replay, value, input ast.Value) *finding {
	if !isListed(value) {
		if c.copied(r, value, input) {
			return nil
		}
		return c.invalid(value, "a list or set")
	}
	for p, said := range c.valid(r, input, isListed) {
		for _, e := range elements(value) {
			if !slices.ContainsFunc(elements(said), func(other ast.Value) bool { return ast.Compare(e, other) == 0 }) {
				return c.exceeds(value, said, p)
			}
		}
	}
	return nil
}

func elements(value ast.Value) []ast.Value {
	var out []ast.Value
	switch value := value.(type) {
	case *ast.Array:
		value.Foreach(func(t *ast.Term) { out = append(out, t.Value) })
	case ast.Set:
		value.Foreach(func(t *ast.Term) { out = append(out, t.Value) })
	}
	return out
}

// symbolic is judge as a formula, which is true of every input where judge finds
// something, and perhaps of others: errors of evaluation are only looked at where they
// keep a parent from granting.
func (c *comparison) symbolic(child *translation, parentOf func(*sidecar.Policy) *translation) formula {
	switch c.order {
	case sidecar.Grant:
		return c.symbolicGrant(child, parentOf)
	case sidecar.Unordered:
		return c.symbolicUnordered(child, parentOf)
	case unstated:
		return c.symbolicUnstated(child, parentOf)
	}
	return child.value(c.decision, func(own term) formula {
		var limits, copied []formula
		for _, p := range c.definers {
			parent := parentOf(p)
			limits = append(limits, and(not(parent.contradiction(c.decision)), parent.value(c.decision, func(said term) formula {
				return c.symbolicExcess(parent, own, said)
			})))
			parent.wantErrors = true
			same := parent.value(c.decision, func(said term) formula { return equal(said, own) })
			copied = append(copied, and(append([]formula{same, not(or(parent.errors...))}, not(parent.contradiction(c.decision)))...))
		}
		invalid := and(not(c.symbolicValid(own)), not(or(copied...)))
		return and(defined(own), not(child.contradiction(c.decision)), or(invalid, and(c.symbolicRoot(parentOf), or(limits...))))
	})
}

// symbolicRoot is the formula that the broadest scope that has a decision of words says
// one of them, without which nothing is answered.
func (c *comparison) symbolicRoot(parentOf func(*sidecar.Policy) *translation) formula {
	if c.order != sidecar.Word {
		return true
	}
	var said []formula
	for _, p := range c.definers {
		if p.Level == c.definers[0].Level {
			said = append(said, parentOf(p).value(c.decision, c.symbolicValid))
		}
	}
	return or(said...)
}

func (c *comparison) symbolicGrant(child *translation, parentOf func(*sidecar.Policy) *translation) formula {
	isTrue := func(value term) formula { return equal(value, constantTerm(ast.Boolean(true))) }
	granted := []formula{child.value(c.decision, isTrue), not(child.contradiction(c.decision))}
	for _, denial := range c.denials() {
		granted = append(granted, not(child.value(denial, symbolicFiring)))
	}
	var refused []formula
	for _, p := range c.definers {
		parent := parentOf(p)
		parent.wantErrors = true
		refused = append(refused, not(parent.value(c.decision, isTrue)))
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

// symbolicExcess is the formula that one valid value permits more than another.
func (c *comparison) symbolicExcess(parent *translation, own, said term) formula {
	switch c.order {
	case sidecar.Word:
		var some []formula
		for _, word := range c.words() {
			rank := c.ranks[word]
			some = append(some, and(
				equal(own, constantTerm(ast.String(word))),
				c.symbolicRank(said, func(other int) bool { return other > rank })))
		}
		return or(some...)
	case sidecar.Ceiling:
		return and(c.symbolicValid(said), less(said, own))
	case sidecar.Floor:
		return and(c.symbolicValid(said), less(own, said))
	}
	return and(c.symbolicValid(said), parent.iterate(own, nil, func(_, element term) formula {
		return not(parent.iterate(said, nil, func(_, other term) formula { return equal(element, other) }))
	}))
}
