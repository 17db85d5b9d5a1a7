package eval

import "github.com/open-policy-agent/opa/v1/ast"

// memo is the last result of a function. It holds for the same operands: input and data
// are others within a `with`.
type memo struct {
	known    bool
	scope    int64 // see Shared
	operands [maxRemembered]*ast.Term
	result   *ast.Term
}

// maxRemembered is how many operands a function may have, input and data among them, whose last
// result is cached.
const maxRemembered = 6

// lastResult finds the last result of a function, if it was of the same operands.
func (m *machine) lastResult(f *function, frame []*ast.Term) (result *ast.Term, known bool) {
	memo := &m.memos[f.index]
	if !memo.known || memo.scope != m.scope {
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
func (m *machine) keepResult(f *function, frame []*ast.Term, result *ast.Term) {
	if len(f.parameters) > maxRemembered {
		return
	}
	memo := &m.memos[f.index]
	if !memo.known {
		m.remembered = append(m.remembered, f.index)
	}
	memo.known, memo.scope, memo.result = true, m.scope, result
	for i, parameter := range f.parameters {
		memo.operands[i] = frame[parameter]
	}
}
