package eval

import (
	"context"
	"crypto/rand"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
	"github.com/open-policy-agent/opa/v1/topdown/print"
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

// Options are the parameters of one evaluation. The zero value has no input, no data and no
// limits.
type Options struct {
	// Input is nil where there is none. Values of NewUnknown may be parts of it.
	Input *ast.Term
	// Data is nil where there is none.
	Data Document
	// Now is what functions of time see; zero is the present.
	Now    time.Time
	Limits Limits
	// Strict ends the evaluation where a function fails, in place of undefined.
	Strict bool
	// Print receives the output of print calls, if the policies were compiled for that; nil
	// discards it.
	Print print.Hook
	// Cover records which statements ran, of a Program that was compiled for that.
	Cover *Coverage
	// Gather reports the values of each rule that is asked for with their places. Two values
	// of one rule are then no conflict: all are reported.
	Gather bool
}

// Given is a value that a rule gave: a member of the set that it is, or all of its value.
type Given struct {
	Value *ast.Term
	// At is a place in the head of the rule.
	At *ast.Location
}

// Report is what an evaluation took, and the errors of functions that did not end it, in
// their order. Those are *topdown.Error.
type Report struct {
	Steps, Bytes int64
	Errors       []error
	// Given are the values of the rules, where they were to be gathered, in the order of the
	// evaluation; the same value may be there several times.
	Given [][]Given
}

// Run evaluates rules one after the other: a value each, nil where the rule is nil or
// undefined.
// The error is a *topdown.Error, a *LimitError, an *UnknownError, or one of Data.
func (p *Program) Run(ctx context.Context, rules []*Rule, options Options) (values []*ast.Term, report Report, err error) {
	m := p.machine(ctx, options)
	defer m.release()
	r := m.globals(options)
	values = make([]*ast.Term, len(rules))
	var given [][]Given
	for i, rule := range rules {
		if rule == nil {
			continue
		}
		m.given = nil
		code := m.call(rule.function, globalOperands, r, 2)
		if code == failed {
			break
		} else if code == next {
			values[i] = m.whole(r[2])
		}
		if len(m.given) > 0 {
			if given == nil {
				given = make([][]Given, len(rules))
			}
			given[i] = m.given
		}
	}
	if m.partial {
		m.knowsResults(values, given)
	}
	values, report, err = m.end(values)
	report.Given = given
	return values, report, err
}

// RunQuery evaluates the query of plan.Query: an object of the variables for each result.
func (p *Program) RunQuery(ctx context.Context, options Options) (results []*ast.Term, report Report, err error) {
	m := p.machine(ctx, options)
	defer m.release()
	for _, plan := range p.queries {
		if plan.registers > len(m.stack) {
			m.stack = make([]*ast.Term, 2*plan.registers)
		}
		m.used = plan.registers
		m.most = max(m.most, m.used)
		r := m.stack[:plan.registers]
		copy(r, m.globals(options)[:2])
		for _, block := range plan.blocks {
			if code := m.run(block, r); code < 0 {
				break
			}
		}
	}
	if m.partial {
		m.knowsResults(m.results, nil)
	}
	return m.end(m.results)
}

var globalOperands = []operand{{register: int(ir.Input)}, {register: int(ir.Data)}}

// globals are three registers: input, data, and one for a result.
func (m *machine) globals(o Options) []*ast.Term {
	data := ast.InternedEmptyObject
	if o.Data != nil {
		data = documentTerm(o.Data)
	}
	return []*ast.Term{o.Input, data, nil}
}

func (m *machine) end(values []*ast.Term) ([]*ast.Term, Report, error) {
	report := Report{Steps: m.work(), Bytes: m.bytes, Errors: m.errs}
	if m.err == nil {
		m.mayGoOn() // the last statements and functions count, too
	}
	if m.err != nil {
		return nil, report, m.err
	}
	return values, report, nil
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
