package eval

import (
	"fmt"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// Collections begin as these, and are allocated when the first element is added: most stay
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
			t := source.value(m, r)
			if !m.knowsItself(t) {
				return failed
			}
			n := m.length(t)
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
	return nil, fmt.Errorf("OPA plans a statement that is not known here: %T", s)
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
		if isLookup(s) {
			return func(m *machine, r []*ast.Term) ctl {
				code := m.run(block, r)
				if code == undef {
					return undef
				}
				return outOf(code)
			}, nil
		}
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

// isLookup says whether a block begins with the call of a rule by a name that is computed. The
// conditions on its value are within the block, and nothing follows the block. So where one of
// them is undefined, the whole is: a `not` around it would hold otherwise only without a rule
// of that name.
func isLookup(s *ir.BlockStmt) bool {
	for depth := 0; len(s.Blocks) > 0 && len(s.Blocks[0].Stmts) > 0; depth++ {
		switch first := s.Blocks[0].Stmts[0].(type) {
		case *ir.BlockStmt:
			s = first
		case *ir.CallDynamicStmt:
			return depth == 2
		default:
			return false
		}
	}
	return false
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
			with := value.raw(r)
			if with != nil {
				if c, ok := with.Value.(*conflicted); ok {
					return m.fail(c.err)
				}
			}
			r[local] = with
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
func (m *machine) length(t *ast.Term) int {
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
		m.steps += int64(len(value) / lettersPerStep)
		return utf8.RuneCountInString(string(value))
	}
	return -1
}

// lettersPerStep is how many bytes of a string are counted for a step.
const lettersPerStep = 64

// condition compiles a statement that holds or does not: nil for others.
func (c *compiler) condition(s ir.Stmt) op {
	is := func(source ir.Operand, is func(ast.Value) bool) op {
		o := c.operand(source)
		return func(m *machine, r []*ast.Term) ctl {
			t := o.value(m, r)
			if !m.knowsItself(t) {
				return failed
			}
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
			return func(m *machine, r []*ast.Term) ctl {
				t := r[register]
				if t == nil {
					return undef
				}
				switch value := t.Value.(type) {
				case ast.Boolean:
					return holds(bool(value))
				case *conflicted:
					return m.fail(value.err)
				case ast.Var:
					return m.depends(t)
				}
				return next
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
	if m.partial {
		return m.mayCompare(a, b) && m.equalTerms(a, b)
	}
	switch x := a.Value.(type) {
	case ast.String:
		y, ok := b.Value.(ast.String)
		if ok && len(x) == len(y) {
			m.steps += int64(len(x) / bytesComparedPerStep)
		}
		return ok && x == y
	case *ast.Array, ast.Object, ast.Set, ast.Number:
		if !m.mayCompare(a, b) {
			return false
		}
	}
	return a.Equal(b)
}
