package eval

import (
	"context"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown/print"
)

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
