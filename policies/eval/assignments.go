package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// assignment compiles a statement that sets a register: nil for others.
func (c *compiler) assignment(s ir.Stmt) op {
	set := func(target ir.Local, term *ast.Term) op {
		register := int(target)
		return func(_ *machine, r []*ast.Term) ctl { r[register] = term; return next }
	}
	switch s := s.(type) {
	case *ir.AssignIntStmt:
		return set(s.Target, ast.InternedTerm(int(s.Value)))
	case *ir.ResetLocalStmt:
		return set(s.Target, nil)
	case *ir.MakeArrayStmt:
		return set(s.Target, emptyArray)
	case *ir.MakeObjectStmt:
		return set(s.Target, emptyObject)
	case *ir.MakeSetStmt:
		return set(s.Target, emptySet)
	case *ir.AssignVarStmt:
		source, target := c.operand(s.Source), int(s.Target)
		if source.constant == nil && source.register <= int(ir.Data) { // a with keeps them
			return func(_ *machine, r []*ast.Term) ctl { r[target] = r[source.register]; return next }
		}
		return func(m *machine, r []*ast.Term) ctl { r[target] = source.value(m, r); return next }
	case *ir.AssignVarOnceStmt:
		return c.assignOnce(s)
	}
	if target, term := c.constant(s); term != nil {
		return set(target, term)
	}
	return nil
}

// assignOnce sets a register that may have the same value already, and no other. A second
// register stores the origin of the value, for the error.
func (c *compiler) assignOnce(s *ir.AssignVarOnceStmt) op {
	source, target := c.operand(s.Source), int(s.Target)
	from, known := c.once[s.Target]
	if !known {
		from = c.current.registers
		c.current.registers++
		c.once[s.Target] = from
	}
	f := c.current
	here := ast.NewTerm(ast.InternedNullTerm.Value).SetLocation(c.place(s))
	if f.only != nil && target != f.result {
		only, result := f.only, f.result // and no other body can say otherwise
		return func(m *machine, r []*ast.Term) ctl {
			if m.gathers() {
				m.given = append(m.given, Given{only, here.Location})
				r[target] = only
				return next
			}
			r[result] = only
			return returned
		}
	}
	// A rule's own assignment has a location, which the function's result inherits.
	origin, takesOver := 0, false
	if local, ok := s.Source.Value.(ir.Local); ok {
		origin, takesOver = c.once[local], c.once[local] != 0
	}
	return func(m *machine, r []*ast.Term) ctl {
		value := source.value(m, r)
		at := here
		if takesOver && r[origin] != nil {
			at = r[origin]
		}
		if m.gathers() {
			if !takesOver { // a body, or the default
				m.given = append(m.given, Given{value, here.Location})
			}
			r[target], r[from] = value, at
			return next
		}
		old := r[target]
		if old == nil {
			r[target], r[from] = value, at
			return next
		}
		if old != value {
			if m.mayCompare(old, value) && !m.equalTerms(old, value) {
				return m.fail(f.conflict(r[from].Location, at.Location))
			}
		}
		return next
	}
}
