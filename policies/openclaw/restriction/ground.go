package restriction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/restriction/sat"
)

// bounds limits the reasoning about elements of collections. Beyond instances, a universal
// statement is not applied to further elements; beyond witnesses, an existing element has no
// term. A problem within smaller bounds has more models, so fewer proofs succeed, but none that
// is false.
type bounds struct{ instances, witnesses int }

var defaultBounds = bounds{instances: 200, witnesses: 30}

// maxAtoms limits the atoms of a problem.
const maxAtoms = 3000

// problem is a formula as clauses for the solver. Each input for which the formula is true
// is a model; some models correspond to no input. Therefore, a formula whose problem has no
// model is true for no input.
type problem struct {
	ctx    context.Context
	solver *sat.Solver
	atoms  map[string]int // variables
	list   []grounded
	// elements are the known keys of collections, by the key of the collection.
	elements   map[string][]term
	known      map[string]bool
	universals []*universal
	bounds     bounds
	instances  int
	witnesses  int
	always     int // a variable that is true
	// literals are the literals of processed formulas, by their text. Equal formulas share
	// one literal, and thus the same elements.
	literals map[string]int
	writer   *writer
}

type grounded struct {
	atom
	variable  int
	mentioned []string // the keys of its parts
}

func (g grounded) mentions(key string) bool { return slices.Contains(g.mentioned, key) }

// universal states that the body is true for no element of a collection if the variable is
// true.
type universal struct {
	existence
	variable int
	applied  int // the number of known elements to which the statement was applied
}

func newProblem(ctx context.Context, limits bounds) *problem {
	p := &problem{ctx: ctx, bounds: limits, solver: sat.New(), atoms: map[string]int{}, elements: map[string][]term{}, known: map[string]bool{}, literals: map[string]int{}, writer: &writer{prefix: "item"}}
	p.always = p.solver.NewVariable()
	p.solver.Add(p.always)
	return p
}

// stated is a formula with its text and its subformulas. Each text is written once, at any
// depth.
type stated struct {
	formula
	text  string
	parts []stated
}

func (p *problem) state(f formula) stated {
	switch f := f.(type) {
	case negation:
		return p.stateAll("not", f, f.of)
	case conjunction:
		return p.stateAll("and", f, f...)
	case disjunction:
		return p.stateAll("or", f, f...)
	case existence:
		return stated{formula: f, text: p.writer.formula("", f)}
	case atom:
		return stated{formula: f, text: lengthPrefixed(f.key())}
	}
	return stated{formula: f, text: fmt.Sprint(f)}
}

func (p *problem) stateAll(name string, f formula, parts ...formula) stated {
	made := stated{formula: f, parts: make([]stated, len(parts))}
	var text strings.Builder
	text.WriteString(name + "(")
	for i, part := range parts {
		made.parts[i] = p.state(part)
		text.WriteString(made.parts[i].text)
		text.WriteByte(';')
	}
	text.WriteByte(')')
	made.text = keyOf(text.String())
	return made
}

// literal is a literal that implies the formula, or its opposite.
func (p *problem) literal(f formula, positive bool) int {
	switch f := f.(type) {
	case bool, atom:
		return p.newLiteral(stated{formula: f}, positive)
	case negation:
		return p.literal(f.of, !positive)
	}
	return p.literalOf(p.state(f), positive)
}

func (p *problem) literalOf(f stated, positive bool) int {
	switch f.formula.(type) {
	case conjunction, disjunction, existence:
	default:
		return p.newLiteral(f, positive)
	}
	key := func(positive bool) string {
		if positive {
			return f.text
		}
		return "not " + f.text
	}
	if known, ok := p.literals[key(positive)]; ok {
		return known
	}
	literal := p.newLiteral(f, positive)
	p.literals[key(positive)] = literal
	if opposite, ok := p.literals[key(!positive)]; ok {
		p.solver.Add(-literal, -opposite)
	}
	return literal
}

func (p *problem) newLiteral(f stated, positive bool) int {
	switch of := f.formula.(type) {
	case bool:
		if of == positive {
			return p.always
		}
		return -p.always
	case negation:
		return p.literalOf(f.parts[0], !positive)
	case atom:
		if positive {
			return p.variable(of)
		}
		return -p.variable(of)
	case conjunction:
		return p.compound(f.parts, positive, positive)
	case disjunction:
		return p.compound(f.parts, positive, !positive)
	case existence:
		if positive {
			return p.witnessed(of)
		}
		u := &universal{existence: of, variable: p.solver.NewVariable()}
		p.universals = append(p.universals, u)
		return u.variable
	}
	panic("a formula of no kind")
}

// compound implies each of the parts, or one of them.
func (p *problem) compound(parts []stated, positive, each bool) int {
	variable := p.solver.NewVariable()
	clause := []int{-variable}
	for _, part := range parts {
		literal := p.literalOf(part, positive)
		if each {
			p.solver.Add(-variable, literal)
		} else {
			clause = append(clause, literal)
		}
	}
	if !each {
		p.solver.Add(clause...)
	}
	return variable
}

// witnessed introduces a constant for an element that exists (Skolemization).
func (p *problem) witnessed(e existence) int {
	if p.witnesses++; p.witnesses > p.bounds.witnesses {
		// Nothing is known of further elements. The literal still stands for the formula: a
		// literal that is always true would make the opposite formula false.
		return p.solver.NewVariable()
	}
	key := witnessTerm(p.witnesses)
	value := memberTerm(e.in, key)
	p.element(e.in, key)
	return p.literal(and(defined(value), e.body(key, value)), true)
}

func (p *problem) element(of, key term) {
	name := memberTerm(of, key).key()
	if !p.known[name] {
		p.known[name] = true
		p.elements[of.key()] = append(p.elements[of.key()], key)
	}
}

// instantiate applies universal statements to all known elements.
func (p *problem) instantiate() {
	for changed := true; changed; {
		changed = false
		for i := 0; i < len(p.universals); i++ {
			u := p.universals[i]
			for ; u.applied < len(p.elements[u.in.key()]); u.applied++ {
				if p.instances++; p.instances > p.bounds.instances {
					return
				}
				key := p.elements[u.in.key()][u.applied]
				value := memberTerm(u.in, key)
				p.solver.Add(-u.variable, p.literal(and(defined(value), u.body(key, value)), false))
				changed = true
			}
		}
	}
}

func (p *problem) variable(a atom) int {
	key := a.key()
	if variable, found := p.atoms[key]; found {
		return variable
	}
	if len(p.list) >= maxAtoms {
		panic(tooLarge)
	}
	variable := p.solver.NewVariable()
	p.atoms[key] = variable
	at := len(p.list)
	p.list = append(p.list, grounded{a, variable, nil})
	for part := range a.parts() {
		p.list[at].mentioned = append(p.list[at].mentioned, part.key())
		if m, ok := part.(member); ok {
			p.element(m.of, m.at)
		}
	}
	return variable
}

// find is the variable of an existing atom, or 0.
func (p *problem) find(f formula) int {
	if a, ok := f.(atom); ok {
		return p.atoms[a.key()]
	}
	return 0
}

// constantRight splits atoms that compare with a constant.
func (g grounded) constantRight() (ast.Value, bool) {
	c, ok := g.right.(constant)
	return c.value, ok
}

func (p *problem) imply(premise int, conclusions ...formula) {
	clause := []int{-premise}
	for _, f := range conclusions {
		clause = append(clause, p.literal(f, true))
	}
	p.solver.Add(clause...)
}

func constantAtom(kind atomKind, left term, right ast.Value) formula {
	return atom{kind: kind, left: left, right: constantTerm(right)}
}
