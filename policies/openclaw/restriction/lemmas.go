package restriction

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// assert adds a formula and the lemmas of its atoms.
func (p *problem) assert(f formula) {
	p.solver.Add(p.literal(f, true))
	p.instantiate()
	p.addLemmas()
}

// addLemmas adds the clauses about atoms that are true for every input. A missing lemma loses
// proofs; an incorrect lemma makes proofs unsound.
func (p *problem) addLemmas() {
	for done := 0; done < len(p.list); {
		for ; done < len(p.list); done++ {
			p.lemmasOf(p.list[done])
			for i := range done {
				p.lemmasOfTwo(p.list[i], p.list[done])
				p.lemmasOfTwo(p.list[done], p.list[i])
			}
			if p.ctx.Err() != nil {
				panic(outOfTime)
			}
		}
		p.instantiate()
	}
}

// lemmasOf adds the lemmas of a single atom.
func (p *problem) lemmasOf(g grounded) {
	switch g.kind {
	case isEqual, isLess:
		p.imply(g.variable, defined(g.left))
		p.imply(g.variable, defined(g.right))
	case isTrue:
		p.imply(g.variable, defined(g.left))
		p.typeLemmas(g)
	case isDefined:
		if m, ok := g.left.(member); ok {
			p.imply(g.variable, defined(m.of))
			p.imply(g.variable, defined(m.at))
			p.memberLemmas(g.variable, m)
		}
	}
	value, ok := g.constantRight()
	if !ok {
		return
	}
	p.inverseLemmas(g, value)
	if g.kind == isLess {
		switch {
		case ast.Compare(value, ast.NullTerm().Value) <= 0:
			p.solver.Add(-g.variable)
		case ast.Compare(value, ast.Boolean(false)) == 0:
			p.imply(g.variable, constantAtom(isEqual, g.left, ast.NullTerm().Value))
		case ast.Compare(value, ast.Boolean(true)) == 0:
			p.imply(g.variable, constantAtom(isEqual, g.left, ast.NullTerm().Value), constantAtom(isEqual, g.left, ast.Boolean(false)))
		}
	}
	if a, ok := g.left.(application); ok && g.kind == isEqual && slices.Contains(idempotent, a.function) {
		if again, _ := run(a.function, []*ast.Term{ast.NewTerm(value)}); again == nil || ast.Compare(again, value) != 0 {
			p.solver.Add(-g.variable)
		}
	}
	if ofInput(g.left) && g.kind == isEqual && contains[ast.Set](value) {
		p.solver.Add(-g.variable) // JSON has none
	}
	if a, ok := g.left.(application); ok && a.function == "count" && g.kind == isLess {
		switch {
		case ast.Compare(value, ast.Number("0")) <= 0:
			p.solver.Add(-g.variable)
		case ast.Compare(value, ast.Number("1")) <= 0:
			p.imply(g.variable, constantAtom(isEqual, a, ast.Number("0")))
		}
	}
}

// idempotent are the functions of one operand that map each of their results to itself. Any
// value that they change is not a result.
var idempotent = []string{"lower", "upper", "trim_space", "abs", "ceil", "floor", "round"}

// contains reports whether a value or one of its parts has a type.
func contains[T ast.Value](value ast.Value) bool {
	has := false
	ast.WalkTerms(ast.NewTerm(value), func(t *ast.Term) bool {
		_, is := t.Value.(T)
		has = has || is
		return has
	})
	return has
}

// typeLemmas adds the lemmas of functions such as is_string.
func (p *problem) typeLemmas(g grounded) {
	a := g.left.(application)
	if _, ok := typeRanks[a.function]; !ok {
		return
	}
	operand := a.operands[0]
	switch a.function {
	case "is_boolean":
		p.imply(g.variable, constantAtom(isEqual, operand, ast.Boolean(true)), constantAtom(isEqual, operand, ast.Boolean(false)))
	case "is_null":
		p.imply(g.variable, constantAtom(isEqual, operand, ast.NullTerm().Value))
	}
	if !ofInput(operand) {
		return
	}
	if a.function == "is_set" {
		p.solver.Add(-g.variable)
		return
	}
	var types []formula
	for _, name := range []string{"is_null", "is_boolean", "is_number", "is_string", "is_array", "is_object"} {
		types = append(types, isOf(name, operand))
	}
	p.solver.Add(-p.literal(defined(operand), true), p.literal(or(types...), true))
}

// memberLemmas adds the lemmas about the types of a container and its key.
func (p *problem) memberLemmas(premise int, m member) {
	if !ofInput(m) {
		return
	}
	if c, ok := m.at.(constant); ok {
		switch c.value.(type) {
		case ast.String:
			p.imply(premise, isOf("is_object", m.of))
		case ast.Number:
			p.imply(premise, isOf("is_array", m.of))
		default:
			p.solver.Add(-premise) // a key of JSON is a string
		}
		return
	}
	p.imply(premise, isOf("is_object", m.of), isOf("is_array", m.of))
	for container, key := range map[string]string{"is_object": "is_string", "is_array": "is_number"} {
		p.solver.Add(-premise, p.literal(isOf(container, m.of), false), p.literal(isOf(key, m.at), true))
	}
}

// lemmasOfTwo adds the lemmas of two atoms, the first of which is the premise.
func (p *problem) lemmasOfTwo(a, b grounded) {
	if p.exclusive(a, b) {
		return
	}
	if a.kind == isEqual {
		p.equalityLemmas(a, b)
	}
	if a.left.key() == b.left.key() && a.kind == isLess {
		p.orderLemmas(a, b)
	}
	if a.kind == isTrue && b.kind == isTrue {
		p.predicateLemmas(a, b)
	}
	if a.kind == isTrue && b.kind == isLess {
		p.typeOrderLemmas(a, b)
	}
	if a.kind == isDefined && b.kind == isEqual {
		m, isMember := a.left.(member)
		size, isCall := b.left.(application)
		if isMember && isCall && size.function == "count" && size.operands[0].key() == m.of.key() && b.right.key() == "0" {
			p.solver.Add(-a.variable, -b.variable)
			if m.at.key() == "0" && ofInput(m.of) { // an array without a first element is empty
				p.solver.Add(a.variable, b.variable, -p.literal(isOf("is_array", m.of), true))
			}
		}
	}
}

// exclusive handles two equalities of one term with constants, of which there may be
// many.
func (p *problem) exclusive(a, b grounded) bool {
	if a.kind != isEqual || b.kind != isEqual || a.left.key() != b.left.key() {
		return false
	}
	value, ok := a.constantRight()
	other, okToo := b.constantRight()
	if !ok || !okToo {
		return false
	}
	switch same := ast.Compare(value, other) == 0; {
	case same:
		p.solver.Add(-a.variable, b.variable)
	case a.variable < b.variable:
		p.solver.Add(-a.variable, -b.variable)
	}
	return true
}

// equalityLemmas follow from a term being equal to another.
func (p *problem) equalityLemmas(a, b grounded) {
	value, isConstant := a.constantRight()
	if !isConstant {
		p.sameLemmas(a, b)
		return
	}
	if !b.mentions(a.left.key()) || contains[ast.Number](value) && looksInto(b.atom, a.left.key()) {
		return
	}
	holds, known := decide(b.atom, func(t term) (ast.Value, bool) { return value, t.key() == a.left.key() })
	switch {
	case known && holds:
		p.solver.Add(-a.variable, b.variable)
	case known:
		p.solver.Add(-a.variable, -b.variable)
	}
}

// looksInto reports whether an atom has a function of a term that may distinguish equal
// numbers: sprintf formats 1 and 1.0 differently.
func looksInto(a atom, key string) bool {
	for part := range a.parts() {
		call, ok := part.(application)
		if !ok || isFolded(call.function) {
			continue
		}
		for operand := range parts(call.operands...) {
			if operand.key() == key {
				return true
			}
		}
	}
	return false
}

// sameLemmas adds the lemmas that transfer comparisons from one term to an equal term.
func (p *problem) sameLemmas(same, b grounded) {
	if b.kind != isEqual && b.kind != isLess || b.variable == same.variable {
		return
	}
	for _, pair := range [][2]term{{same.left, same.right}, {same.right, same.left}} {
		if b.left.key() != pair[0].key() {
			continue
		}
		var carried formula
		if b.kind == isEqual {
			carried = equal(pair[1], b.right)
		} else {
			carried = less(pair[1], b.right)
		}
		if _, isConstant := b.right.(constant); !isConstant && p.find(carried) == 0 {
			continue
		}
		p.solver.Add(-same.variable, -b.variable, p.literal(carried, true))
		p.solver.Add(-same.variable, b.variable, p.literal(carried, false))
	}
	if b.kind == isLess && b.left.key() == same.left.key() && b.right.key() == same.right.key() {
		p.solver.Add(-same.variable, -b.variable)
	}
}

// orderLemmas follow from a term that is less than a constant.
func (p *problem) orderLemmas(a, b grounded) {
	bound, ok := a.constantRight()
	other, okToo := b.constantRight()
	if ok && okToo && b.kind == isLess && ast.Compare(bound, other) <= 0 {
		p.solver.Add(-a.variable, b.variable)
	}
}

// typeOrderLemmas: OPA orders values by type first.
func (p *problem) typeOrderLemmas(a, b grounded) {
	call := a.left.(application)
	position, ok := typeRanks[call.function]
	value, constant := b.constantRight()
	if !ok || !constant || call.operands[0].key() != b.left.key() {
		return
	}
	switch other := typeRanks[typeOf(value)]; {
	case position < other:
		p.solver.Add(-a.variable, b.variable)
	case position > other:
		p.solver.Add(-a.variable, -b.variable)
	}
}

// predicateLemmas adds the lemmas of two predicates of the same operand.
func (p *problem) predicateLemmas(a, b grounded) {
	one, other := a.left.(application), b.left.(application)
	if one.operands[0].key() != other.operands[0].key() || a.variable == b.variable {
		return
	}
	_, isType := typeRanks[one.function]
	_, isOtherType := typeRanks[other.function]
	if isType && isOtherType {
		p.solver.Add(-a.variable, -b.variable)
		return
	}
	left, ok := affix(one)
	right, okToo := affix(other)
	if !ok || !okToo {
		return
	}
	switch {
	case one.function == other.function && one.function == "startswith":
		p.affixLemmas(a, b, strings.HasPrefix(left, right), strings.HasPrefix(right, left))
	case one.function == other.function && one.function == "endswith":
		p.affixLemmas(a, b, strings.HasSuffix(left, right), strings.HasSuffix(right, left))
	case other.function == "contains" && strings.Contains(left, right):
		p.solver.Add(-a.variable, b.variable)
	}
}

// affixLemmas: a string with the first prefix has the second prefix if the second is a prefix
// of the first, and cannot have both if neither is a prefix of the other. The same holds for
// suffixes.
func (p *problem) affixLemmas(a, b grounded, implies, implied bool) {
	if implies {
		p.solver.Add(-a.variable, b.variable)
	} else if !implied {
		p.solver.Add(-a.variable, -b.variable)
	}
}

// affix is the constant prefix, suffix or substring of a function such as startswith.
func affix(call application) (string, bool) {
	switch call.function {
	case "startswith", "endswith", "contains":
		c, ok := call.operands[1].(constant)
		if !ok {
			return "", false
		}
		text, ok := c.value.(ast.String)
		return string(text), ok
	}
	return "", false
}
