package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// Shared are results of functions that evaluations for one review share, of one program or of
// several with the same functions: all have the same Now. One goroutine uses it. The zero value is empty.
//
// Results do not depend on earlier evaluations, and neither do steps and bytes. Each result has a cost:
// that of computing it alone, without anything that is known outside. An evaluation is charged the cost
// when it first needs the result, and one step later, and it does not matter who computes it. To that
// end, a shared function runs in a scope of its own. Its memos, and the results that it needed,
// are forgotten at its end.
type Shared struct {
	results map[sharedKey]*sharedResult
	bytes   int64
	scope   int64 // the last one that was begun
	unused  []sharedResult
}

// Limits of what Shared retains beyond an evaluation, whose own results are bounded by its limits.
const (
	maxSharedResults = 4096
	maxSharedBytes   = 1 << 20
	// sharedBytes is the size of a result that is retained, without its value.
	sharedBytes = 128
)

// sharedKey identifies a call by the values that its result depends on. Values are compared by
// identity.
type sharedKey struct {
	class     class
	input     [maxParts]*ast.Term
	arguments [maxArguments]*ast.Term
}

// sharedResult is a result with its cost: nil is undefined.
type sharedResult struct {
	result       *ast.Term
	steps, bytes int64
	// scope is the scope that was last charged.
	scope int64
}

// charged is a result that was charged in a scope, and the scope before.
type charged struct {
	*sharedResult
	before int64
}

// keyOf is the key of a call, from the registers of the function.
func (f *function) keyOf(frame []*ast.Term) (key sharedKey) {
	key.class = f.class
	if input := frame[ir.Input]; input != nil {
		for i, part := range f.parts {
			key.input[i] = part.of(input)
		}
	}
	for i, parameter := range f.parameters[2:] {
		key.arguments[i] = frame[parameter]
	}
	return key
}

// beginScope returns a scope that no evaluation had.
func (s *Shared) beginScope() int64 {
	s.scope++
	return s.scope
}

// put retains a result, unless there are too many.
func (s *Shared) put(key sharedKey, result *sharedResult) (retained bool) {
	if len(s.results) >= maxSharedResults || s.bytes+result.bytes+sharedBytes > maxSharedBytes {
		return false
	}
	if s.results == nil {
		s.results = make(map[sharedKey]*sharedResult, 64)
	}
	s.results[key] = result
	s.bytes += result.bytes + sharedBytes
	return true
}

func (s *Shared) newResult() *sharedResult {
	const atOnce = 16
	if len(s.unused) == 0 {
		s.unused = make([]sharedResult, atOnce)
	}
	result := &s.unused[0]
	s.unused = s.unused[1:]
	return result
}

// findShared finds a result and charges its cost. It finds none if the limits do not suffice: then the
// function is evaluated up to the limit.
func (m *machine) findShared(f *function, key sharedKey) (result *ast.Term, known bool) {
	found := m.shared.results[key]
	if found == nil && m.ownShared != nil {
		found = m.ownShared[key]
	}
	if found == nil {
		return nil, false
	}
	if found.scope == m.scope {
		return found.result, true
	}
	bytes := m.bytes + found.bytes
	if m.depth+f.height >= maxDepth || bytes > m.limits.Bytes || m.steps+found.steps+bytes/bytesPerStep > m.limits.Steps {
		return nil, false
	}
	m.steps, m.bytes = m.steps+found.steps, bytes
	m.noteCharged(found)
	return found.result, true
}

func (m *machine) noteCharged(result *sharedResult) {
	m.charged = append(m.charged, charged{result, result.scope})
	result.scope = m.scope
}

// outer is the state of an evaluation that a shared function does not see.
type outer struct {
	scope, steps, bytes int64
	charged, errs       int
	prepared            map[string]struct{}
	placements          map[ast.Value]*placement
	lastPlaced          ast.Value
	lastPlacement       *placement
	owned               map[ast.Value]bool
}

// enterScope begins the scope of a shared function.
func (m *machine) enterScope(f *function) outer {
	o := outer{
		m.scope, m.steps, m.bytes, len(m.charged), len(m.errs),
		m.prepared, m.placements, m.lastPlaced, m.lastPlacement, m.owned,
	}
	m.scope = m.shared.beginScope()
	m.placements, m.lastPlaced, m.lastPlacement, m.owned = nil, nil, nil, nil
	if f.prepares {
		m.prepared = nil
	}
	return o
}

// leaveScope ends the scope of a shared function, and keeps its result. A result with errors of
// functions or conflicts is not shared: errors name places. Nor is that of an evaluation that has ended.
func (m *machine) leaveScope(f *function, key sharedKey, o outer, result *ast.Term, conflicts bool) (kept bool) {
	for i := len(m.charged) - 1; i >= o.charged; i-- {
		m.charged[i].scope = m.charged[i].before
	}
	clear(m.charged[o.charged:])
	m.charged = m.charged[:o.charged]
	m.scope, m.prepared = o.scope, o.prepared
	m.placements, m.lastPlaced, m.lastPlacement, m.owned = o.placements, o.lastPlaced, o.lastPlacement, o.owned
	if conflicts || m.err != nil || len(m.errs) > o.errs {
		return false
	}
	one := m.shared.newResult()
	*one = sharedResult{result: result, steps: m.steps - o.steps, bytes: m.bytes - o.bytes}
	if !m.shared.put(key, one) {
		if m.ownShared == nil {
			m.ownShared = map[sharedKey]*sharedResult{}
		}
		m.ownShared[key] = one
	}
	m.noteCharged(one)
	return true
}
