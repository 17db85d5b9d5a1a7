package eval

import (
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// memo is the last result of a function. It holds for the same operands: input and data
// are others within a `with`.
type memo struct {
	known    bool
	operands [maxRemembered]*ast.Term
	result   *ast.Term
}

// maxRemembered is how many operands a function may have, input and data among them, whose last
// result is cached.
const maxRemembered = 6

// maxDepth is how deep functions may call each other. The compiler refuses recursion;
// this keeps a long chain from taking all of the stack.
const maxDepth = 10_000

// call calls a planned function with operands of the caller's registers, and puts its
// result into one of them; it is undefined where that is.
func (m *machine) call(f *plannedFunction, operands []operand, r []*ast.Term, target int) ctl {
	m.steps++
	if !m.mayGoOn() {
		return failed
	}
	base := m.used
	if base+f.registers > len(m.stack) { // frames in use stay where they are
		saved := m.stack
		m.stack, base = make([]*ast.Term, 2*len(saved)+f.registers), 0
		defer func() { m.stack = saved }()
	}
	frame := m.stack[base : base+f.registers]
	m.most = max(m.most, base+f.registers)
	clear(frame)
	for i, parameter := range f.parameters {
		if i < 2 { // input and data stay documents
			frame[parameter] = operands[i].raw(r)
		} else if frame[parameter] = operands[i].value(m, r); frame[parameter] == nil {
			return undef
		}
	}
	if result, known := m.lastResult(f, frame); known && !(m.gather && m.depth == 0) {
		if result == nil {
			return undef
		}
		r[target] = result
		return next
	}
	used := m.used
	m.used = base + f.registers
	if m.depth++; m.depth > maxDepth {
		return m.fail(&LimitError{LimitSteps, "functions and rules call each other more than " + strconv.Itoa(maxDepth) + " deep: put some of them together"})
	}
	var result *ast.Term
	for i, block := range f.blocks {
		if m.isSkipped(f.guards[i], frame[ir.Input]) {
			continue
		}
		code := m.run(block, frame)
		if code == failed {
			return failed
		}
		if code == returned {
			result = frame[f.result]
			break
		}
	}
	if f.conflicts != 0 && frame[f.conflicts] != nil && result != nil {
		result = m.sealed(result, f.nesting)
	}
	m.depth--
	m.used = used
	m.keepResult(f, frame, result)
	if result == nil {
		return undef
	}
	r[target] = result
	return next
}

// isSkipped says whether input cannot satisfy a block.
func (m *machine) isSkipped(guards []guard, input *ast.Term) bool {
	for i := range guards {
		m.steps++
		if !guards[i].holds(input) && !(m.partial && guards[i].reachesUnknown(input)) {
			if m.cover != nil {
				m.cover.note(guards[i].place, undef, false)
			}
			return true
		}
	}
	return false
}

// gathers says whether the rule that runs is one that was asked for, of which all values
// are to be reported.
func (m *machine) gathers() bool { return m.gather && m.depth == 1 }

// lastResult finds the last result of a function, if it was of the same operands.
func (m *machine) lastResult(f *plannedFunction, frame []*ast.Term) (result *ast.Term, known bool) {
	memo := &m.memos[f.index]
	if !memo.known {
		return nil, false
	}
	for i, parameter := range f.parameters {
		if memo.operands[i] != frame[parameter] {
			return nil, false
		}
	}
	return memo.result, true
}

// keepResult keeps a result, by operands that are the very same terms. A function never
// writes to its parameters.
func (m *machine) keepResult(f *plannedFunction, frame []*ast.Term, result *ast.Term) {
	if len(f.parameters) > maxRemembered {
		return
	}
	memo := &m.memos[f.index]
	if !memo.known {
		m.remembered = append(m.remembered, f.index)
	}
	memo.known, memo.result = true, result
	for i, parameter := range f.parameters {
		memo.operands[i] = frame[parameter]
	}
}
