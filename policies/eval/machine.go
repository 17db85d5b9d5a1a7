package eval

import (
	"context"
	"crypto/rand"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

// ctl is how a statement ended: it holds and the next one runs, it leaves so many blocks,
// it returns from the function, or the evaluation is over.
type ctl int32

const (
	next     ctl = 0
	undef    ctl = 1 // leaves its own block; leaving k blocks more is undef+k
	returned ctl = -1
	failed   ctl = -2
)

// op is a compiled statement. r are the registers of its function; nil is undefined.
type op func(m *machine, r []*ast.Term) ctl

// machine is one evaluation.
type machine struct {
	program *Program
	ctx     context.Context
	limits  Limits

	steps, bytes int64
	look         int64 // the work after which the context is checked again

	stack []*ast.Term // the registers of the functions that run
	used  int
	most  int // of used, of the first stack: release clears no more
	depth int
	memos []memo
	// remembered are the indices of the memos that were set, of the many of a large program.
	remembered []int
	// owned are the collections that were created within a partial object of nested keys, and may
	// be added to.
	owned map[ast.Value]bool
	// hashes are those of the keys of objects in which a value was replaced.
	hashes   map[ast.Object]*keyHashes
	prepared map[string]struct{} // see Function.Prepare
	// placements are those of collections of more than a few elements; the last one is that of
	// lastPlaced.
	placements    map[ast.Value]*placement
	lastPlaced    ast.Value
	lastPlacement *placement
	// built are objects within those of rules, where these have paths of different length.
	built map[ast.Object]*built

	err     error   // that ended it
	errs    []error // of functions, which made a statement undefined
	strict  bool    // an error of a function ends it
	partial bool    // input has unknown values
	results []*ast.Term
	cover   *Coverage
	gather  bool
	given   []Given

	builtin  topdown.BuiltinContext
	cache    builtins.Cache
	cancel   cancel
	operands []*ast.Term // of the function that is called
	result   *ast.Term   // of it
	all      []*ast.Term // of a function that has several
	give     func(*ast.Term) error
	collect  func(*ast.Term) error
	walkOne  func(*ast.Term) bool
	walkBoth func(key, value *ast.Term) bool

	weight, mostWeight int64 // of weigh
	weighOne           func(*ast.Term) bool
	weighBoth          func(key, value *ast.Term) bool
}

func (p *Program) machine(ctx context.Context, o Options) *machine {
	m, ok := p.pool.Get().(*machine)
	if !ok {
		m = &machine{program: p, stack: make([]*ast.Term, 256), memos: make([]memo, p.functions), operands: make([]*ast.Term, 0, 8), cache: builtins.Cache{}}
		m.give = func(t *ast.Term) error { m.result = t; return nil }
		m.collect = func(t *ast.Term) error { m.all = append(m.all, t); return nil }
		m.walkOne, m.weighOne = m.walk, m.addWeight
		m.weighBoth = func(key, value *ast.Term) bool { return m.addWeight(key) || m.addWeight(value) }
		m.walkBoth = func(key, value *ast.Term) bool { return m.walk(key) || m.walk(value) }
	}
	m.ctx, m.limits, m.strict, m.cover, m.gather, m.cancel.machine = ctx, o.Limits, o.Strict, o.Cover, o.Gather, m
	m.partial = o.Input != nil && !o.Input.IsGround()
	if m.limits.Steps == 0 {
		m.limits.Steps = math.MaxInt64 / 2
	}
	if m.limits.Bytes == 0 {
		m.limits.Bytes = math.MaxInt64
	}
	m.look = min(stepsPerLook, m.limits.Steps+1)
	if ctx.Err() != nil { // the first call may be a long one
		m.look = 0
	}
	now := o.Now
	if now.IsZero() {
		now = time.Now()
	}
	m.builtin = topdown.BuiltinContext{
		Context: ctx, Metrics: noMetrics, Seed: rand.Reader, Time: timeTerm(now), Cancel: &m.cancel,
		Cache: m.cache, PrintHook: o.Print, Runtime: ast.InternedEmptyObject, Capabilities: p.capabilities,
	}
	return m
}

// release keeps the machine for another evaluation, and nothing of this one.
func (m *machine) release() {
	p := m.program
	clear(m.stack[:min(m.most, len(m.stack))])
	for _, i := range m.remembered {
		m.memos[i] = memo{}
	}
	clear(m.cache)
	clear(m.prepared)
	clear(m.operands[:cap(m.operands)])
	*m = machine{
		program: p, stack: m.stack, memos: m.memos, remembered: m.remembered[:0], operands: m.operands[:0], cache: m.cache,
		give: m.give, collect: m.collect, walkOne: m.walkOne, walkBoth: m.walkBoth,
		weighOne: m.weighOne, weighBoth: m.weighBoth, prepared: m.prepared,
	}
	p.pool.Put(m)
}

var noMetrics = metrics.NoOp()

// cancel is what functions of OPA ask that can be stopped.
type cancel struct{ machine *machine }

// Cancel implements topdown.Cancel.
func (*cancel) Cancel() {}

// Cancelled implements topdown.Cancel.
func (c *cancel) Cancelled() bool { return !c.machine.mayGoOn() }

// lastTime is the last time that was converted to a term: policies that review one request
// share it.
var lastTime atomic.Pointer[struct {
	at   int64
	term *ast.Term
}]

func timeTerm(at time.Time) *ast.Term {
	now := at.UnixNano()
	if last := lastTime.Load(); last != nil && last.at == now {
		return last.term
	}
	term := ast.NewTerm(ast.Number(strconv.FormatInt(now, 10)))
	lastTime.Store(&struct {
		at   int64
		term *ast.Term
	}{now, term})
	return term
}

// run runs a block, and counts what ran.
func (m *machine) run(block []op, r []*ast.Term) ctl {
	for i, op := range block {
		if code := op(m, r); code != next {
			m.steps += int64(i + 1)
			return code
		}
	}
	m.steps += int64(len(block))
	return next
}

// operand is a register or a constant.
type operand struct {
	register int
	constant *ast.Term
}

// raw is the value of the operand, which may be a document: nil is undefined.
func (o operand) raw(r []*ast.Term) *ast.Term {
	if o.constant != nil {
		return o.constant
	}
	return r[o.register]
}

// value is the value: nil is undefined.
func (o operand) value(m *machine, r []*ast.Term) *ast.Term {
	if o.constant != nil {
		return o.constant
	}
	return m.whole(r[o.register])
}

// whole is a value itself, and of a document its value. It is nil, and the evaluation ends,
// for an object that has a conflict.
func (m *machine) whole(t *ast.Term) *ast.Term {
	if t != nil {
		switch value := t.Value.(type) {
		case *documentValue:
			return m.made(value)
		case *conflicted:
			m.stop(value.err)
			return nil
		}
	}
	return t
}
