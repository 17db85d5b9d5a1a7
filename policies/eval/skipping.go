package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// OPA's own evaluator skips rules that cannot match according to an index, and skips further
// bodies of a rule that has its only possible value. The plan does neither. Both save time, and
// prevent errors in the skipped parts.

// guard is a condition on input that a rule cannot hold without.
type guard struct {
	path  []*ast.Term
	want  *ast.Term
	place Place // of the comparison
}

// longestGuard is how many keys the path of a guard may have.
const longestGuard = 32

// guardsOf finds the comparisons of a part of input with a constant that are conditions
// of a whole block: those that no block within is left for.
func (c *compiler) guardsOf(block *ir.Block) (guards []guard) {
	paths := map[ir.Local][]*ast.Term{ir.Input: {}}
	taken := takenApart(block)
	var within func(*ir.Block)
	within = func(block *ir.Block) {
		for _, s := range block.Stmts {
			switch s := s.(type) {
			case *ir.DotStmt:
				source, isLocal := s.Source.Value.(ir.Local)
				path, known := paths[source]
				key := c.operand(s.Key).constant
				if isLocal && known && key != nil && !taken[source] && c.writers[s.Target] == 1 && len(path) < longestGuard {
					paths[s.Target] = append(path[:len(path):len(path)], key)
				}
			case *ir.EqualStmt:
				for _, pair := range [][2]ir.Operand{{s.A, s.B}, {s.B, s.A}} {
					local, isLocal := pair[0].Value.(ir.Local)
					path, known := paths[local]
					if want := c.operand(pair[1]).constant; isLocal && known && len(path) > 0 && want != nil {
						guards = append(guards, guard{path, want, c.placeOf(s)})
					}
				}
			case *ir.ScanStmt:
				within(s.Block)
			}
		}
	}
	within(block)
	return guards
}

// takenApart are the registers whose values are compared part by part with a pattern: OPA
// goes on to what stands before the pattern in the rule, whose errors count.
func takenApart(block *ir.Block) map[ir.Local]bool {
	taken := map[ir.Local]bool{}
	note := func(source ir.Operand) {
		if local, isLocal := source.Value.(ir.Local); isLocal {
			taken[local] = true
		}
	}
	walkStatements(block, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.IsArrayStmt:
			note(s.Source)
		case *ir.IsObjectStmt:
			note(s.Source)
		}
	})
	return taken
}

// holds says whether input may satisfy the rule.
func (g *guard) holds(input *ast.Term) bool {
	for _, key := range g.path {
		if input == nil {
			return false
		}
		input = get(input, key)
	}
	return input != nil && input.Equal(g.want)
}

// onlyValue is the constant that all bodies of a complete rule or function assign, the default
// left aside: nil where they may have several values. A body first assigns to its own register,
// from which the result is copied.
func (c *compiler) onlyValue(planned *ir.Func) (only *ast.Term) {
	bodies := map[ir.Local]bool{}
	each := func(visit func(*ir.AssignVarOnceStmt)) {
		for _, block := range planned.Blocks {
			c.study(block)
			walkStatements(block, func(s ir.Stmt) {
				if once, ok := s.(*ir.AssignVarOnceStmt); ok {
					visit(once)
				}
			})
		}
	}
	each(func(once *ir.AssignVarOnceStmt) {
		if once.Target != planned.Return {
			bodies[once.Target] = true
		}
	})
	several := false
	each(func(once *ir.AssignVarOnceStmt) {
		if !bodies[once.Target] {
			return
		}
		value := c.operand(once.Source).constant
		several = several || value == nil || only != nil && !only.Equal(value)
		only = value
	})
	if several {
		return nil
	}
	return only
}
