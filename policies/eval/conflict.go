package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// OPA evaluates a rule such as p[k] := v for the key that is read: two values for another key
// are no error. A plan makes the whole object. So a key that is given two values keeps the
// error as its value, and whatever reads that key, or the object as a whole, fails with it.

// conflicted stands in a register for the object of a rule, or an object within it, in which
// some key has two values. As the value of a key, it has no object.
type conflicted struct {
	object ast.Object
	err    error
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

// conflictAt replaces what is in a register, and is not the collection that a rule adds to:
// it has another kind of value there.
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
	if c.object == nil || !m.mayFind(key, c.object.Len()) {
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

// sealed is an object of so many levels that has conflicts, as what is read of them: each
// object in which there is one is itself a conflicted.
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
