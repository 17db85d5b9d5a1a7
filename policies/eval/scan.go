package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// scan runs a block for each element of a collection.
func (c *compiler) scan(s *ir.ScanStmt) (op, error) {
	source, key, value := c.operand(ir.Operand{Value: s.Source}), int(s.Key), int(s.Value)
	block, err := c.block(s.Block)
	inOrder := appendsInOrder(s.Block)
	return func(m *machine, r []*ast.Term) ctl {
		collection := source.value(m, r)
		if collection == nil {
			return next
		}
		if m.partial && (isUnknown(collection) || inOrder && isUnordered(collection)) {
			return m.depends(collection)
		}
		switch elements := collection.Value.(type) {
		case *ast.Array:
			for i := range elements.Len() {
				r[key], r[value] = ast.InternedTerm(i), elements.Elem(i)
				if code, stop := m.turn(block, r); stop {
					return code
				}
			}
		case ast.Set:
			for _, element := range elements.Slice() {
				r[key], r[value] = element, element
				if code, stop := m.turn(block, r); stop {
					return code
				}
			}
		case ast.Object:
			if elements.Len() == 0 {
				return next
			}
			var code ctl
			elements.Until(func(k, v *ast.Term) (stop bool) {
				r[key], r[value] = k, v
				code, stop = m.turn(block, r)
				return stop
			})
			return code
		}
		return next
	}, err
}

// isUnordered reports whether the order of a collection depends on unknown values.
func isUnordered(t *ast.Term) bool {
	set, isSet := t.Value.(ast.Set)
	return isSet && set.Len() > 1 && !set.IsGround()
}

// appendsInOrder reports whether the block of a loop appends to a list that the loop did not
// create: the order of the list is that of the loop.
func appendsInOrder(block *ir.Block) bool {
	created, appended := map[ir.Local]bool{}, map[ir.Local]bool{}
	walkStatements(block, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.MakeArrayStmt:
			created[s.Target] = true
		case *ir.ArrayAppendStmt:
			appended[s.Array] = true
		}
	})
	for array := range appended {
		if !created[array] {
			return true
		}
	}
	return false
}

// turn runs the block of a loop once. A loop is two blocks: to leave the first is to go
// on with the next element, to leave the second is to end the loop.
func (m *machine) turn(block []op, r []*ast.Term) (code ctl, stop bool) {
	if !m.mayGoOn() {
		return failed, true
	}
	switch code = m.run(block, r); code {
	case next, undef:
		return next, false
	case returned, failed:
		return code, true
	default:
		return outOf(outOf(code)), true
	}
}

// walkScan compiles a call of walk together with the loop over its result, so that the parts of
// a value need not be listed first. It is nil for other statements.
func (c *compiler) walkScan(s, following ir.Stmt) (op, error) {
	call, isCall := s.(*ir.CallStmt)
	scan, isScan := following.(*ir.ScanStmt)
	if !isCall || !isScan || call.Func != ast.WalkBuiltin.Name || c.byName[call.Func] != nil || scan.Source != call.Result {
		return nil, nil
	}
	walk, err := c.function(call)
	if err != nil {
		return nil, err
	}
	operand, key, value := c.operand(call.Args[0]), int(scan.Key), int(scan.Value)
	block, err := c.block(scan.Block)
	if err != nil {
		return nil, err
	}
	return func(m *machine, r []*ast.Term) ctl {
		collection := operand.value(m, r)
		if collection == nil {
			return undef
		}
		if !m.knows(collection) {
			return failed
		}
		if !m.admit(walk, collection) {
			return m.outcome()
		}
		end := next
		m.builtin.Location = walk.place
		err := walk.Call(m.builtin, []*ast.Term{collection}, func(pair *ast.Term) error {
			r[key], r[value] = ast.InternedNullTerm, pair
			if code, stop := m.turn(block, r); stop {
				end = code
				return topdown.Halt{Err: errLeft}
			}
			return nil
		})
		if err != nil && end == next && m.err == nil {
			if _, left := err.(topdown.Halt); !left {
				return m.functionFailed(err)
			}
		}
		return end
	}, nil
}
