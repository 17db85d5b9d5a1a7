package restriction

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// builder constructs an input from an assignment of the solver, as far as possible.
type builder struct {
	problem  *problem
	children map[string][]member // by the key of the term that they are members of
	about    map[string][]grounded
	pool     []ast.Value
	values   map[string]ast.Value // by the key of a term: nil if the term must be undefined
	// wrong are literals for which no common input was found.
	wrong []int
}

// model constructs an input from the assignment of the solver. The input is nil if it is
// undefined. wrong are literals for which no common input was found.
func (p *problem) model(pool []ast.Value) (input ast.Value, wrong []int) {
	b := &builder{
		problem: p, pool: pool,
		children: map[string][]member{}, about: map[string][]grounded{},
		values: map[string]ast.Value{},
	}
	seen := map[string]bool{}
	for _, g := range p.list {
		mentioned := map[string]bool{}
		for part := range g.parts() {
			key := part.key()
			if _, isWitness := part.(witness); (isWitness || ofInput(part)) && !mentioned[key] {
				mentioned[key] = true
				b.about[key] = append(b.about[key], g)
			}
			if m, ok := part.(member); ok && ofInput(m) && !seen[key] {
				seen[key] = true
				b.children[m.of.key()] = append(b.children[m.of.key()], m)
			}
		}
	}
	input = b.make(document{"input"})
	if b.wrong == nil {
		b.check()
	}
	return input, b.wrong
}

func (b *builder) holds(variable int) bool { return b.problem.solver.Holds(variable) }

// make chooses the value of a term, after those of its members.
func (b *builder) make(t term) ast.Value {
	key := t.key()
	if value, known := b.values[key]; known {
		return value
	}
	b.values[key] = nil
	if variable := b.problem.find(defined(t)); variable != 0 && !b.holds(variable) {
		return nil
	}
	var members []member
	for _, m := range b.children[key] {
		if variable := b.problem.find(defined(m)); variable != 0 && b.holds(variable) {
			members = append(members, m)
		}
	}
	var value ast.Value
	if len(members) > 0 {
		value = b.container(t, members)
	} else {
		value = b.choose(t)
	}
	b.values[key] = value
	return value
}

// container builds an object or array with the members.
func (b *builder) container(t term, members []member) ast.Value {
	isArray := true
	for _, m := range members {
		if c, ok := m.at.(constant); ok && typeOf(c.value) != "is_number" {
			isArray = false
		}
		if w, ok := m.at.(witness); ok && b.requiresString(w) {
			isArray = false
		}
	}
	if v := b.problem.find(isOf("is_object", t)); v != 0 && b.holds(v) {
		isArray = false
	}
	if v := b.problem.find(isOf("is_array", t)); v != 0 && b.holds(v) {
		isArray = true
	}
	object := ast.NewObject()
	for _, m := range members {
		at := b.keyOf(m, isArray)
		if at == nil || !isArray && typeOf(at) != "is_string" {
			continue
		}
		if value := b.make(m); value != nil {
			object.Insert(ast.NewTerm(at), ast.NewTerm(value))
		}
	}
	if !isArray {
		return object
	}
	var elements []*ast.Term
	for i := 0; i < min(64, max(len(members), 10)); i++ {
		if element := object.Get(ast.InternedTerm(i)); element != nil {
			for len(elements) < i {
				elements = append(elements, ast.NullTerm())
			}
			elements = append(elements, element)
		}
	}
	return ast.NewArray(elements...)
}

func (b *builder) requiresString(w witness) bool {
	for _, g := range b.about[w.key()] {
		if value, ok := g.constantRight(); ok && g.kind == isEqual && typeOf(value) == "is_string" && g.left.key() == w.key() && b.holds(g.variable) {
			return true
		}
		if _, ok := affixOf(g); ok && b.holds(g.variable) && g.left.(application).operands[0].key() == w.key() {
			return true
		}
	}
	return false
}

func affixOf(g grounded) (string, bool) {
	call, ok := g.left.(application)
	if !ok || g.kind != isTrue {
		return "", false
	}
	return affix(call)
}

// keyOf is the key of a member. A witness receives an unused key.
func (b *builder) keyOf(m member, isArray bool) ast.Value {
	switch at := m.at.(type) {
	case constant:
		return at.value
	case witness:
		key := at.key()
		if value := b.values[key]; value != nil {
			return value
		}
		if isArray {
			taken := map[string]bool{}
			for _, other := range b.children[m.of.key()] {
				if c, ok := other.at.(constant); ok {
					taken[c.value.String()] = true
				}
				if value := b.values[other.at.key()]; value != nil {
					taken[value.String()] = true
				}
			}
			i := 0
			for taken[fmt.Sprint(i)] {
				i++
			}
			b.values[key] = ast.Number(fmt.Sprint(i))
		} else {
			b.values[key] = b.choose(at)
		}
		return b.values[key]
	}
	if ofInput(m.at) {
		return b.make(m.at)
	}
	return nil
}

// choose returns the candidate with the fewest violated atoms.
func (b *builder) choose(t term) ast.Value {
	key := t.key()
	var best ast.Value
	bestWrong := []int(nil)
	for _, candidate := range b.candidates(t) {
		b.values[key] = candidate
		var wrong []int
		for _, g := range b.about[key] {
			if holds, known := decide(g.atom, b.given); known && holds != b.holds(g.variable) {
				wrong = append(wrong, b.literalOf(g))
			}
		}
		if best == nil || len(wrong) < len(bestWrong) {
			best, bestWrong = candidate, wrong
		}
		if len(wrong) == 0 {
			break
		}
	}
	if len(bestWrong) > 0 && b.wrong == nil {
		for _, g := range b.about[key] {
			b.wrong = append(b.wrong, b.literalOf(g))
		}
	}
	return best
}

func (b *builder) given(t term) (value ast.Value, known bool) {
	value, known = b.values[t.key()]
	return value, known
}

func (b *builder) literalOf(g grounded) int {
	if b.holds(g.variable) {
		return g.variable
	}
	return -g.variable
}

// candidates are possible values of a term, the simple ones last.
func (b *builder) candidates(t term) []ast.Value {
	var out []ast.Value
	begin, middle, end := "", "", ""
	var texts []ast.String
	for _, g := range b.about[t.key()] {
		for part := range g.parts() {
			if c, ok := part.(constant); ok {
				out, texts = append(out, factors(c.value)...), append(texts, piecesOf(c.value)...)
			}
		}
		for _, side := range []term{g.right, g.left} {
			if c, ok := side.(constant); ok {
				out = append(out, neighbors(c.value)...)
			}
			if side != nil && b.values[side.key()] != nil {
				out = append(out, b.values[side.key()])
			}
		}
		if text, ok := affixOf(g); ok && b.holds(g.variable) {
			switch function := g.left.(application).function; {
			case function == "startswith" && len(text) > len(begin):
				begin = text
			case function == "endswith" && len(text) > len(end):
				end = text
			case function == "contains":
				middle += text
			}
		}
		if size, ok := g.left.(application); ok && size.function == "count" {
			out = append(out, ofLength(g.right)...)
		}
	}
	for i, one := range texts {
		for j, other := range texts {
			if i < 6 && j < 6 {
				out = append(out, one, one+other)
			}
		}
	}
	out = append(out, ast.String(begin+middle+end), ast.String(begin+middle+"x"+end))
	out = append(out, ast.String("x"), ast.Boolean(true), ast.Number("1"), ast.NewObject(), ast.NewArray(),
		ast.NewArray(ast.StringTerm("x")), ast.Boolean(false), ast.NullTerm().Value, ast.Number("0"), ast.String(""))
	out = append(out, ast.String(strings.TrimSpace("fresh "+t.key())))
	out = append(out, b.pool...)
	return slices.DeleteFunc(out, func(v ast.Value) bool { return v == nil || contains[ast.Set](v) })
}

// factors are possible factors of a number.
func factors(value ast.Value) (out []ast.Value) {
	if number, ok := value.(ast.Number); ok {
		for _, by := range []string{"2", "3", "-1", "10"} {
			if part, _ := run("div", []*ast.Term{ast.NewTerm(number), ast.NewTerm(ast.Number(by))}); part != nil {
				out = append(out, part)
			}
		}
	}
	return out
}

// piecesOf returns a string and the pieces from which it may have been joined.
func piecesOf(value ast.Value) []ast.String {
	text, ok := value.(ast.String)
	if !ok || text == "" || len(text) > 100 {
		return nil
	}
	out := []ast.String{text}
	for _, piece := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune("/-:., %", r) }) {
		out = append(out, ast.String(piece))
	}
	return out
}

// neighbors returns a constant and its neighbors in OPA's order.
func neighbors(value ast.Value) []ast.Value {
	out := []ast.Value{value}
	switch value := value.(type) {
	case ast.Number:
		for _, step := range []string{"1", "0.5"} {
			for _, function := range []string{"minus", "plus"} {
				if moved, _ := run(function, []*ast.Term{ast.NewTerm(value), ast.NewTerm(ast.Number(step))}); moved != nil {
					out = append(out, moved)
				}
			}
		}
	case ast.String:
		out = append(out, value+"x", ast.String(strings.ToUpper(string(value))), ast.String(strings.ToLower(string(value))), " "+value+" ")
		if len(value) > 1 {
			out = append(out, value[:len(value)-1])
		}
	}
	return out
}

// ofLength returns arrays and strings whose length is close to a number.
func ofLength(t term) (out []ast.Value) {
	c, ok := t.(constant)
	if !ok {
		return nil
	}
	number, ok := c.value.(ast.Number)
	if !ok {
		return nil
	}
	n, ok := number.Int()
	if !ok || n > 100 {
		return nil
	}
	for size := max(0, n-1); size <= n+1; size++ {
		var elements []*ast.Term
		for i := range size {
			elements = append(elements, ast.StringTerm(fmt.Sprintf("x%d", i)))
		}
		out = append(out, ast.NewArray(elements...), ast.String(strings.Repeat("x", size)))
	}
	return out
}

// check evaluates all atoms on the constructed input.
func (b *builder) check() {
	for _, g := range b.problem.list {
		holds, known := decide(g.atom, b.given)
		if !known || holds == b.holds(g.variable) {
			continue
		}
		for _, other := range b.problem.list {
			if sharesTerm(g, other) {
				b.wrong = append(b.wrong, b.literalOf(other))
			}
		}
		return
	}
}

func sharesTerm(a, b grounded) bool {
	for part := range a.parts() {
		if _, isMember := part.(member); isMember && b.mentions(part.key()) {
			return true
		}
	}
	return a.key() == b.key()
}
