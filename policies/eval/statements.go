package eval

import (
	"fmt"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// Collections begin as these, and are made when something is put into them: most stay
// empty.
var (
	emptyArray  = ast.NewTerm(ast.NewArray())
	emptyObject = ast.NewTerm(ast.NewObject())
	emptySet    = ast.NewTerm(ast.NewSet())
)

var (
	trueTerm  = ast.InternedTerm(true)
	falseTerm = ast.InternedTerm(false)
)

func boolean(b bool) *ast.Term {
	if b {
		return trueTerm
	}
	return falseTerm
}

// outOf takes the way a block ended out of that block.
func outOf(code ctl) ctl {
	switch {
	case code <= next:
		return code
	default:
		return code - undef
	}
}

// holds is how a condition ends.
func holds(condition bool) ctl {
	if condition {
		return next
	}
	return undef
}

// statement compiles a statement; nil is one that does nothing.
func (c *compiler) statement(s ir.Stmt) (op, error) {
	switch s := s.(type) {
	case *ir.NopStmt:
		return nil, nil
	case *ir.BlockStmt:
		return c.blocks(s)
	case *ir.BreakStmt:
		code := undef + ctl(s.Index)
		return func(*machine, []*ast.Term) ctl { return code }, nil
	case *ir.ReturnLocalStmt:
		return func(*machine, []*ast.Term) ctl { return returned }, nil
	case *ir.NotStmt:
		return c.not(s)
	case *ir.WithStmt:
		return c.with(s)
	case *ir.ScanStmt:
		return c.scan(s)
	case *ir.CallStmt:
		return c.call(s)
	case *ir.CallDynamicStmt:
		return c.callDynamic(s)
	case *ir.DotStmt:
		return c.dot(s), nil
	case *ir.LenStmt:
		source, target := c.operand(s.Source), int(s.Target)
		return func(m *machine, r []*ast.Term) ctl {
			n := length(source.value(m, r))
			if n < 0 {
				return undef
			}
			r[target] = ast.InternedTerm(n)
			return next
		}, nil
	case *ir.ResultSetAddStmt:
		source := int(s.Value)
		return func(m *machine, r []*ast.Term) ctl { m.results = append(m.results, r[source]); return next }, nil
	}
	if compiled := c.assignment(s); compiled != nil {
		return compiled, nil
	}
	if compiled := c.condition(s); compiled != nil {
		return compiled, nil
	}
	if compiled := c.insertion(s); compiled != nil {
		return compiled, nil
	}
	return nil, fmt.Errorf("%w: %T", errStatement, s)
}

func (c *compiler) blocks(s *ir.BlockStmt) (op, error) {
	var blocks [][]op
	for _, block := range s.Blocks {
		ops, err := c.block(block)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, ops)
	}
	if len(blocks) == 1 {
		block := blocks[0]
		return func(m *machine, r []*ast.Term) ctl { return outOf(m.run(block, r)) }, nil
	}
	return func(m *machine, r []*ast.Term) ctl {
		for _, block := range blocks {
			if code := outOf(m.run(block, r)); code != next {
				return code
			}
		}
		return next
	}, nil
}

func (c *compiler) not(s *ir.NotStmt) (op, error) {
	block, err := c.block(s.Block)
	return func(m *machine, r []*ast.Term) ctl {
		code := m.run(block, r)
		if code == next {
			return undef
		}
		return outOf(code)
	}, err
}

// with runs a block while input or data are others.
func (c *compiler) with(s *ir.WithStmt) (op, error) {
	local, value := int(s.Local), c.operand(s.Value)
	var path []*ast.Term
	for _, key := range s.Path {
		path = append(path, c.strings[key])
	}
	block, err := c.block(s.Block)
	return func(m *machine, r []*ast.Term) ctl {
		saved := r[local]
		if len(path) == 0 {
			r[local] = value.raw(r)
		} else {
			with := value.value(m, r)
			if with == nil {
				return undef
			}
			r[local] = m.replaced(saved, path, with)
			m.charge(with)
		}
		code := m.run(block, r)
		r[local] = saved
		if code == undef { // what the block says is undefined, and so is this
			return undef
		}
		return outOf(code)
	}, err
}

func (c *compiler) dot(s *ir.DotStmt) op {
	source, key, target := c.operand(s.Source), c.operand(s.Key), int(s.Target)
	return func(m *machine, r []*ast.Term) ctl {
		from, at := source.raw(r), key.value(m, r)
		if from == nil || at == nil {
			return undef
		}
		part := m.part(from, at)
		if part == nil {
			return undef
		}
		r[target] = part
		return next
	}
}

// length is that of a collection, or of a string in characters: negative for anything
// else.
func length(t *ast.Term) int {
	if t == nil {
		return -1
	}
	switch value := t.Value.(type) {
	case *ast.Array:
		return value.Len()
	case ast.Object:
		return value.Len()
	case ast.Set:
		return value.Len()
	case ast.String:
		return utf8.RuneCountInString(string(value))
	}
	return -1
}

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

// assignOnce sets a register that may have the same value already, and no other. Where
// the value came from is kept in a register beside it, for the error.
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
	// A rule's own assignment knows its place; the function's result takes it over.
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
			if m.mayCompare(old, value) && !old.Equal(value) {
				return m.fail(f.conflict(r[from].Location, at.Location))
			}
		}
		return next
	}
}

// condition compiles a statement that holds or does not: nil for others.
func (c *compiler) condition(s ir.Stmt) op {
	is := func(source ir.Operand, is func(ast.Value) bool) op {
		o := c.operand(source)
		return func(m *machine, r []*ast.Term) ctl {
			t := o.value(m, r)
			return holds(t != nil && is(t.Value))
		}
	}
	switch s := s.(type) {
	case *ir.EqualStmt:
		a, b := c.operand(s.A), c.operand(s.B)
		return func(m *machine, r []*ast.Term) ctl { return holds(m.equal(a.value(m, r), b.value(m, r))) }
	case *ir.NotEqualStmt:
		a, b := c.operand(s.A), c.operand(s.B)
		if b.constant == falseTerm && a.constant == nil { // a condition that is a value
			register := a.register
			return func(_ *machine, r []*ast.Term) ctl {
				t := r[register]
				if t == nil {
					return undef
				}
				value, isBoolean := t.Value.(ast.Boolean)
				return holds(!isBoolean || bool(value))
			}
		}
		return func(m *machine, r []*ast.Term) ctl { return holds(!m.equal(a.value(m, r), b.value(m, r))) }
	case *ir.IsArrayStmt:
		return is(s.Source, func(v ast.Value) bool { _, ok := v.(*ast.Array); return ok })
	case *ir.IsObjectStmt:
		return is(s.Source, func(v ast.Value) bool { _, ok := v.(ast.Object); return ok })
	case *ir.IsSetStmt:
		return is(s.Source, func(v ast.Value) bool { _, ok := v.(ast.Set); return ok })
	case *ir.IsDefinedStmt:
		source := c.operand(ir.Operand{Value: s.Source})
		return func(_ *machine, r []*ast.Term) ctl { return holds(source.raw(r) != nil) }
	case *ir.IsUndefinedStmt:
		source := c.operand(ir.Operand{Value: s.Source})
		return func(_ *machine, r []*ast.Term) ctl { return holds(source.raw(r) == nil) }
	}
	return nil
}

// equal compares two values, of which either may be undefined.
func (m *machine) equal(a, b *ast.Term) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	switch x := a.Value.(type) {
	case ast.String:
		y, ok := b.Value.(ast.String)
		return ok && x == y
	case *ast.Array, ast.Object, ast.Set:
		if !m.mayCompare(a, b) {
			return false
		}
	}
	return a.Equal(b)
}

// insertion compiles a statement that puts a value into a collection of the policy's own:
// nil for others.
func (c *compiler) insertion(s ir.Stmt) op {
	switch s := s.(type) {
	case *ir.ArrayAppendStmt:
		array, value := int(s.Array), c.operand(s.Value)
		return func(m *machine, r []*ast.Term) ctl {
			v := value.value(m, r)
			if v == nil {
				return undef
			}
			m.charge(v)
			if r[array] == emptyArray {
				r[array] = ast.NewTerm(ast.NewArray(v))
			} else {
				r[array].Value = r[array].Value.(*ast.Array).Append(v)
			}
			return next
		}
	case *ir.SetAddStmt:
		set, value, shared := int(s.Set), c.operand(s.Value), c.dotted[s.Set]
		place, isResult := c.place(s), int(s.Set) == c.current.result
		return func(m *machine, r []*ast.Term) ctl {
			v := value.value(m, r)
			if v == nil {
				return undef
			}
			m.charge(v)
			if isResult && m.gathers() {
				m.given = append(m.given, Given{v, place})
			}
			if !m.mayFind(v, keysOf(r[set])) {
				return undef
			}
			switch have, isSet := r[set].Value.(ast.Set); {
			case r[set] == emptySet:
				r[set] = ast.NewTerm(ast.NewSet(v))
				m.own(r[set], shared)
			case !isSet:
				return undef
			case shared && !m.owned[have]:
				m.charge(r[set])
				have = have.Copy()
				have.Add(v)
				r[set] = ast.NewTerm(have)
				m.own(r[set], true)
			default:
				have.Add(v)
			}
			return next
		}
	case *ir.ObjectInsertStmt:
		return c.insert(s, s.Object, s.Key, s.Value, false)
	case *ir.ObjectInsertOnceStmt:
		return c.insert(s, s.Object, s.Key, s.Value, true)
	case *ir.ObjectMergeStmt:
		return c.merge(s)
	}
	return nil
}

// insert puts a value under a key, of which with once there is none or the same.
func (c *compiler) insert(s ir.Stmt, into ir.Local, at, what ir.Operand, once bool) op {
	object, key, value, shared := int(into), c.operand(at), c.operand(what), c.dotted[into]
	place := c.place(s)
	return func(m *machine, r []*ast.Term) ctl {
		k, v := key.value(m, r), value.value(m, r)
		if v == nil || k == nil {
			if once {
				return undef
			}
			return next // of a document that is put together, what is not there is left out
		}
		have, isObject := r[object].Value.(ast.Object)
		if !isObject {
			return undef
		}
		if !m.mayFind(k, have.Len()) {
			return undef
		}
		if once {
			if old := have.Get(k); old != nil {
				if m.equal(old, v) {
					return next
				}
				return m.fail(keyConflict(place))
			}
		}
		m.charge(k)
		m.charge(v)
		switch {
		case r[object] == emptyObject:
			r[object] = ast.NewTerm(ast.NewObject([2]*ast.Term{k, v}))
			m.own(r[object], shared)
		case shared && !m.owned[have]:
			m.charge(r[object])
			have = have.Copy()
			have.Insert(k, v)
			r[object] = ast.NewTerm(have)
			m.own(r[object], true)
		default:
			have.Insert(k, v)
		}
		return next
	}
}

// own remembers that a collection was made here, where it may be found again as a part
// of another: what other rules gave is copied before it is added to.
func (m *machine) own(t *ast.Term, shared bool) {
	if !shared {
		return
	}
	if m.owned == nil {
		m.owned = map[ast.Value]bool{}
	}
	m.owned[t.Value] = true
}

// merge puts what rules give beside what is in data; data wins, as with OPA.
func (c *compiler) merge(s *ir.ObjectMergeStmt) op {
	a, b, target := int(s.A), int(s.B), int(s.Target)
	return func(m *machine, r []*ast.Term) ctl {
		data := m.whole(r[a])
		if data == nil {
			return undef
		}
		base, isObject := data.Value.(ast.Object)
		virtual, alsoObject := r[b].Value.(ast.Object)
		if !isObject || !alsoObject {
			r[target] = r[b]
			return next
		}
		r[target] = ast.NewTerm(merged(base, virtual))
		m.charge(r[target])
		return next
	}
}

func merged(base, virtual ast.Object) ast.Object {
	out, _ := base.MergeWith(virtual, func(ours, theirs *ast.Term) (*ast.Term, bool) {
		return over(ours, theirs), false
	})
	return out
}

// over is one value laid over another: objects are merged, anything else wins.
func over(ours, theirs *ast.Term) *ast.Term {
	a, isObject := ours.Value.(ast.Object)
	b, alsoObject := theirs.Value.(ast.Object)
	if isObject && alsoObject {
		return ast.NewTerm(merged(a, b))
	}
	return ours
}
