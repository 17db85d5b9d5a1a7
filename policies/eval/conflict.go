package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// OPA evaluates a rule such as p[k] := v for the key that is read: two values for another key
// are not an error. A plan creates the whole object. So a key with two values has the error as
// its value, and an expression that reads that key, or the object as a whole, fails with it.

// conflicted replaces, in a register, the object of a rule, or an object within it, in which
// some key has two values. As the value of a key, it has no object.
type conflicted struct {
	object ast.Object
	err    error
	// short is the value that a rule gives for the key of an object which longer rules make.
	short *ast.Term
}

func conflictTerm(at *ast.Location) *ast.Term {
	return ast.NewTerm(&conflicted{err: keyConflict(at)})
}

// A conflicted never leaves the machine: it is a part of objects that are sealed in another.
// Objects call Hash and IsGround where it is inserted.

// Compare implements ast.Value.
func (*conflicted) Compare(ast.Value) int { panic("a conflict is not compared") }

// Find implements ast.Value.
func (*conflicted) Find(ast.Ref) (ast.Value, error) { panic("a conflict is read by its object") }

// Hash implements ast.Value.
func (*conflicted) Hash() int { return 0 }

// IsGround implements ast.Value.
func (*conflicted) IsGround() bool { return true }

// String implements ast.Value.
func (*conflicted) String() string { return "a conflict" }

// StringLength implements ast.Value.
func (*conflicted) StringLength() int { return len("a conflict") }

// conflictOf is the register in which conflicts of an object are noted that a function
// returns, or that is within such an object: 0 for the objects of comprehensions.
func (c *compiler) conflictOf(object ir.Local) int {
	depth := c.building[object]
	if depth == 0 {
		return 0
	}
	f := c.current
	if f.conflicts == 0 {
		f.conflicts = f.registers
		f.registers++
	}
	f.nesting = max(f.nesting, depth)
	return f.conflicts
}

// Rules of one object may have paths of different length: p[k] := {"x": 1} and p[k][l] := 1. A
// plan evaluates the longer ones first. OPA evaluates them in their order in the file: behind
// p[k] := v, a rule for p[k][l] conflicts with it, for any values, and before, the
// values must be equal. For p[k][l], OPA evaluates p[k] := v and those rules of which the path
// is this one. Only where p[k] has equal values with several keys, OPA meets a conflict when
// p[k][l] is read before p[k], and none after it; Lintel meets none.

// built is an object within that of a rule: where the last rule is that has put something into
// it, and the equal value that a rule with a shorter path gives.
type built struct {
	last  *ast.Location
	short *ast.Term
}

// makes notes how deep the values of a function's rules are.
func (f *plannedFunction) makes(depth int) { f.depths |= 1 << min(depth, 63) }

// isMixed says that the paths of the rules have different lengths.
func (f *plannedFunction) isMixed() bool { return f.depths&(f.depths-1) != 0 }

// noteBuilt remembers an object.
func (m *machine) noteBuilt(object ast.Object, place *ast.Location) {
	if m.built == nil {
		m.built = map[ast.Object]*built{}
	}
	if known := m.built[object]; known == nil {
		m.built[object] = &built{last: place}
	} else if known.last.Compare(place) < 0 {
		known.last = place
	}
}

// overlaid is what stands for a key that a rule gives a value, and for which longer rules have
// made an object: nil where that stays.
func (m *machine) overlaid(b *built, old, short *ast.Term, place *ast.Location, conflicts bool) *ast.Term {
	if b.short != nil && !m.equal(b.short, short) {
		return conflictTerm(place)
	}
	object := old.Value.(ast.Object)
	inOrder := b.last.Compare(place) < 0
	if inOrder && !(conflicts && holdsConflict(old)) && m.equal(old, short) {
		b.short = short
		return nil
	}
	made := &conflicted{object: ast.NewObject(), err: keyConflict(place), short: short}
	m.copied(object.Len() + keysOf(short.Value))
	eachPart(short, func(k, v *ast.Term) { made.object.Insert(k, v) })
	object.Foreach(func(k, v *ast.Term) {
		alone, isObject := short.Value.(ast.Object)
		if part := get(short, k); !inOrder || !isObject || alone.Len() != 1 || part == nil || conflicts && holdsConflict(v) || !m.equal(part, v) {
			v = ast.NewTerm(&conflicted{err: made.err})
		}
		made.object.Insert(k, v)
	})
	return ast.NewTerm(made)
}

func eachPart(of *ast.Term, do func(key, value *ast.Term)) {
	switch value := of.Value.(type) {
	case ast.Object:
		value.Foreach(do)
	case ast.Set:
		value.Foreach(func(member *ast.Term) { do(member, member) })
	case *ast.Array:
		for i := range value.Len() {
			do(ast.InternedTerm(i), value.Elem(i))
		}
	}
}

func holdsConflict(t *ast.Term) bool {
	switch value := t.Value.(type) {
	case *conflicted:
		return true
	case ast.Object:
		return value.Until(func(_, v *ast.Term) bool { return holdsConflict(v) })
	}
	return false
}

// conflictAt replaces the value of a register that has another type than the collection that a
// rule adds to.
func (m *machine) conflictAt(r []*ast.Term, register, conflict int, place *ast.Location) ctl {
	if conflict == 0 {
		return undef
	}
	if _, isConflict := r[register].Value.(*conflicted); !isConflict {
		r[register] = conflictTerm(place)
		r[conflict] = r[register]
	}
	return next
}

// partOfConflicted is the value of a key without a conflict. Within the function that makes
// it, a conflict has no parts.
func (m *machine) partOfConflicted(c *conflicted, key *ast.Term) *ast.Term {
	if c.object == nil || !m.mayFind(key, c.object) {
		return nil
	}
	part := c.object.Get(key)
	if part != nil {
		if inner, isConflict := part.Value.(*conflicted); isConflict && inner.object == nil {
			m.stop(inner.err)
			return nil
		}
	}
	return part
}

// sealed is the readable form of an object with conflicts and the given number of levels: each
// object that contains a conflict is itself a conflicted.
func (m *machine) sealed(t *ast.Term, levels int) *ast.Term {
	object, isObject := t.Value.(ast.Object)
	if !isObject || levels == 0 {
		return t
	}
	m.copied(object.Len())
	var first *conflicted
	out := ast.NewObjectWithCapacity(object.Len())
	object.Foreach(func(k, v *ast.Term) {
		v = m.sealed(v, levels-1)
		if c, isConflict := v.Value.(*conflicted); isConflict && first == nil {
			first = c
		}
		out.Insert(k, v)
	})
	if first == nil {
		return t
	}
	return ast.NewTerm(&conflicted{object: out, err: first.err})
}
