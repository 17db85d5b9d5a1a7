package engine

import (
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ruleCache holds the results of rules and functions within one evaluation: a
// topdown.VirtualCache that is kept from one evaluation to the next, and takes no memory
// of its own for each part of a rule's name.
type ruleCache struct {
	frames  []ruleFrame // the last is the one in use
	results []ruleResult
	terms   []*ast.Term // of the references of all results
}

// ruleFrame is where the results of a frame begin.
type ruleFrame struct {
	results, terms int
	// byHash is the last result with a hash, once there are too many to look at each.
	byHash map[int]int
}

type ruleResult struct {
	hash       int
	start, end int       // of the reference, among the terms
	value      *ast.Term // nil = undefined
	before     int       // the result before it with the same hash; -1 = none
}

const (
	// maxScanned is how many results of a frame are looked at one by one.
	maxScanned = 16
	// maxKeptResults is the size beyond which a cache is not kept.
	maxKeptResults = 1024
)

var ruleCaches = sync.Pool{New: func() any { return &ruleCache{} }}

func newRuleCache() *ruleCache {
	c := ruleCaches.Get().(*ruleCache)
	c.Push()
	return c
}

// release keeps the cache for another evaluation, and nothing of this one.
func (c *ruleCache) release() {
	if cap(c.results) > maxKeptResults {
		return
	}
	clear(c.frames[:cap(c.frames)])
	clear(c.results[:cap(c.results)])
	clear(c.terms[:cap(c.terms)])
	c.frames, c.results, c.terms = c.frames[:0], c.results[:0], c.terms[:0]
	ruleCaches.Put(c)
}

// Push implements topdown.VirtualCache.
func (c *ruleCache) Push() {
	c.frames = append(c.frames, ruleFrame{results: len(c.results), terms: len(c.terms)})
}

// Pop implements topdown.VirtualCache.
func (c *ruleCache) Pop() {
	frame := c.frames[len(c.frames)-1]
	c.frames = c.frames[:len(c.frames)-1]
	c.results, c.terms = c.results[:frame.results], c.terms[:frame.terms]
}

// Get implements topdown.VirtualCache.
func (c *ruleCache) Get(ref ast.Ref) (value *ast.Term, undefined bool) {
	at := c.find(ref, ref.Hash())
	if at < 0 {
		return nil, false
	}
	value = c.results[at].value
	return value, value == nil
}

// Put implements topdown.VirtualCache.
func (c *ruleCache) Put(ref ast.Ref, value *ast.Term) {
	hash := ref.Hash()
	if at := c.find(ref, hash); at >= 0 {
		if c.results[at].value != nil { // what is undefined stays so, as in OPA's own
			c.results[at].value = value
		}
		return
	}
	start := len(c.terms)
	c.terms = append(c.terms, ref...)
	c.results = append(c.results, ruleResult{hash: hash, start: start, end: len(c.terms), value: value})
	frame := &c.frames[len(c.frames)-1]
	switch count := len(c.results) - frame.results; {
	case frame.byHash != nil:
		c.index(frame, len(c.results)-1)
	case count > maxScanned:
		frame.byHash = make(map[int]int, 4*maxScanned)
		for at := frame.results; at < len(c.results); at++ {
			c.index(frame, at)
		}
	}
}

func (c *ruleCache) index(frame *ruleFrame, at int) {
	before, known := frame.byHash[c.results[at].hash]
	if !known {
		before = -1
	}
	c.results[at].before = before
	frame.byHash[c.results[at].hash] = at
}

// find is the index of the result of a reference in the frame: -1 if there is none.
func (c *ruleCache) find(ref ast.Ref, hash int) int {
	frame := &c.frames[len(c.frames)-1]
	if frame.byHash == nil {
		for at := len(c.results) - 1; at >= frame.results; at-- {
			if c.results[at].hash == hash && c.of(at).Equal(ref) {
				return at
			}
		}
		return -1
	}
	at, known := frame.byHash[hash]
	for known && at >= 0 && !c.of(at).Equal(ref) {
		at = c.results[at].before
	}
	if !known {
		return -1
	}
	return at
}

// of is the reference of a result.
func (c *ruleCache) of(at int) ast.Ref { return c.terms[c.results[at].start:c.results[at].end] }

// Keys implements topdown.VirtualCache.
func (c *ruleCache) Keys() []ast.Ref {
	var keys []ast.Ref
	for at := c.frames[len(c.frames)-1].results; at < len(c.results); at++ {
		if c.results[at].value != nil {
			keys = append(keys, slices.Clone(c.of(at)))
		}
	}
	return keys
}
