// Package restriction checks whether a gateway policy permits no more than the policies of
// broader scopes.
//
// Invariant: the outcome is Proved only if the child permits more on no input, and
// Counterexample only with an input on which an evaluation of both sides confirms the
// violation. Every other outcome is Unknown. An analysis ends with its context.
package restriction

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// Outcome is the result of comparing a child policy with its parents.
type Outcome string

const (
	// Proved means that the child permits no more than its parents, on any input.
	Proved Outcome = "proved"
	// Counterexample means that the child permits more on at least one input.
	Counterexample Outcome = "counterexample"
	// Unknown means that the analysis is inconclusive.
	Unknown Outcome = "unknown"
)

// Verdict is the outcome of an analysis. Its JSON form describes one decision.
type Verdict struct {
	Outcome Outcome `json:"verdict"`
	// Decision is the analyzed decision; empty if the outcome applies to all decisions.
	Decision string `json:"decision"`
	// Input is a JSON value on which the child permits more. InputUndefined is true if
	// the child permits more when the input is undefined.
	Input          any  `json:"input"`
	InputUndefined bool `json:"input_undefined,omitempty"`
	// Parent and Child are the values of both sides on Input: nil if undefined. A set is
	// a list.
	Parent any `json:"parent"`
	Child  any `json:"child"`
	// The policies with these values, and the lines of their rules; empty and 0 if no
	// policy is responsible.
	ParentPolicy string `json:"-"`
	ChildPolicy  string `json:"-"`
	ParentLine   int    `json:"-"`
	ChildLine    int    `json:"-"`
	// ParentLevel is the scope of the parent.
	ParentLevel sidecar.Level `json:"-"`
	// Conflict is true if the verdict compares two policies of one scope, whose values differ.
	Conflict bool `json:"-"`
	// Reason is a sentence: the obstacle to the analysis, or the violation.
	Reason  string        `json:"reason"`
	Elapsed time.Duration `json:"-"`
}

// defaultTimeout limits an analysis whose context has no deadline.
const defaultTimeout = 5 * time.Second

// Analyze checks whether a child permits more than its parents: the policies of the
// same domain in broader scopes, or earlier in the same scope. It returns the worst
// verdict on the decisions of the child, and ends with the context, or after 5 s if the
// context has no deadline.
func Analyze(ctx context.Context, child *sidecar.Policy, parents []*sidecar.Policy) Verdict {
	start := time.Now()
	worst := Worst(AnalyzeEach(ctx, child, parents))
	worst.Elapsed = time.Since(start)
	return worst
}

// Worst returns the first counterexample, otherwise the first unknown verdict. If all
// verdicts are Proved, the result is Proved without a decision.
func Worst(verdicts []Verdict) Verdict {
	worst := Verdict{Outcome: Proved}
	for _, verdict := range verdicts {
		if worst.Outcome == Proved && verdict.Outcome == Unknown || worst.Outcome != Counterexample && verdict.Outcome == Counterexample {
			worst = verdict
		}
	}
	return worst
}

// AnalyzeEach returns a verdict on each compared decision, in the order of their names. If
// the analysis runs out of time, the result is one verdict without a decision.
func AnalyzeEach(ctx context.Context, child *sidecar.Policy, parents []*sidecar.Policy) []Verdict {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
	}
	done := make(chan []Verdict, 1)
	go func() { done <- analyzeAll(ctx, child, broadestFirst(parents)) }()
	select {
	case verdicts := <-done:
		return verdicts
	case <-ctx.Done():
		select { // the verdicts may have arrived at the deadline
		case verdicts := <-done:
			return verdicts
		case <-time.After(grace):
			return []Verdict{{Outcome: Unknown, Reason: outOfTime.why}}
		}
	}
}

// grace is the time in which a canceled analysis must return.
const grace = 50 * time.Millisecond

func broadestFirst(policies []*sidecar.Policy) []*sidecar.Policy {
	return slices.SortedStableFunc(slices.Values(policies), func(a, b *sidecar.Policy) int { return a.Level.Rank() - b.Level.Rank() })
}

// analyzeAll compares the decisions one by one.
func analyzeAll(ctx context.Context, child *sidecar.Policy, parents []*sidecar.Policy) (verdicts []Verdict) {
	if len(parents) == 0 {
		return nil
	}
	for _, decision := range child.Decisions {
		c := newComparison(decision, child, parents)
		if c.order == sidecar.United || c.order == sidecar.Unordered {
			continue
		}
		start := time.Now()
		verdict := analyzeOne(ctx, c)
		verdict.Elapsed = time.Since(start)
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}

// analyzeOne returns the verdict on one decision.
func analyzeOne(ctx context.Context, c *comparison) (verdict Verdict) {
	unknown := func(why string) Verdict { return Verdict{Outcome: Unknown, Decision: c.decision, Reason: why} }
	defer func() {
		if r := recover(); r != nil {
			if stopped, ok := r.(exhausted); ok {
				verdict = unknown(stopped.why)
			} else {
				verdict = unknown(fmt.Sprintf("internal error of the analysis: %v", r))
			}
		}
	}()
	r := newReplay(ctx)
	example, models, why := c.solve(ctx, r)
	if example == nil && why == "" {
		return Verdict{Outcome: Proved, Decision: c.decision}
	}
	if example == nil {
		example = c.search(r, models)
	}
	if example == nil {
		return unknown(why)
	}
	return c.counterexample(r, c.shrink(r, example))
}

// maxModels limits the models of the solver that are evaluated.
const maxModels = 40

// solve searches for a model of the formula that the child permits more. If the formula is
// unsatisfiable, all results are empty. Otherwise, why names the obstacle to a proof, and
// models are inputs that satisfy the formula but are not counterexamples.
func (c *comparison) solve(ctx context.Context, r *replay) (example *candidate, models []ast.Value, why string) {
	defer func() {
		if r := recover(); r != nil {
			switch stopped := r.(type) {
			case exhausted:
				example, why = nil, stopped.why
			case unsupported:
				example, why = nil, describe(c.child, &stopped)
			default:
				panic(r)
			}
		}
	}()
	wrong := describeNegation(append([]*sidecar.Policy{c.child}, c.parents...))
	steps, fresh := 0, 0
	var all []*translation
	translate := func(p *sidecar.Policy) *translation {
		t := newTranslation(ctx, p, &steps, &fresh)
		all = append(all, t)
		return t
	}
	child := translate(c.child)
	goal := c.symbolic(child, translate)
	if goal == false {
		return nil, nil, wrong
	}
	for _, p := range append([]*sidecar.Policy{c.child}, c.parents...) {
		if err := repeatable(p); err != nil && why == "" {
			why = fmt.Sprintf("%s: %v", p.Name, err)
		}
	}
	problem := newProblem(ctx, c.bounds)
	problem.assert(goal)
	pool := distinctScalars(append([]*sidecar.Policy{c.child}, c.definers...))
	exact := true
	for range maxModels {
		satisfiable, err := problem.solver.Solve(ctx)
		if err != nil {
			panic(outOfTime)
		}
		if !satisfiable {
			if exact {
				return nil, nil, wrong
			}
			break
		}
		if why != "" {
			return nil, nil, why
		}
		exact = false
		input, wrong := problem.model(pool)
		if f := c.confirmViolation(r, input); f != nil {
			return &candidate{input, f}, nil, ""
		}
		models = append(models, input)
		problem.exclude(wrong)
	}
	for _, t := range all {
		if t.firstUnsupported != nil {
			return nil, models, describe(t.policy, t.firstUnsupported)
		}
	}
	return nil, models, "the analysis found neither a counterexample nor a proof"
}

func describe(p *sidecar.Policy, u *unsupported) string {
	place := p.Name
	if u.location != nil {
		place = fmt.Sprintf("%s:%d", p.Name, u.location.Row)
	}
	return fmt.Sprintf("%s: the analysis does not support %s", place, u.what)
}

// exclude adds a clause that excludes the literals together, or the whole model if there are
// no literals.
func (p *problem) exclude(wrong []int) {
	if len(wrong) == 0 {
		for _, g := range p.list {
			literal := g.variable
			if !p.solver.Holds(g.variable) {
				literal = -literal
			}
			wrong = append(wrong, literal)
		}
	}
	clause := make([]int, len(wrong))
	for i, literal := range wrong {
		clause[i] = -literal
	}
	p.solver.Add(clause...)
}

// counterexample is the verdict on a decision with a counterexample.
func (c *comparison) counterexample(r *replay, example *candidate) Verdict {
	verdict := Verdict{
		Outcome: Counterexample, Decision: c.decision, InputUndefined: example.input == nil, Reason: example.reason,
		ChildPolicy: c.child.Name, ChildLine: r.ruleLine(c.child, c.decision, example.input),
	}
	var err error
	for value, place := range map[*any]ast.Value{&verdict.Input: example.input, &verdict.Parent: example.parent, &verdict.Child: example.child} {
		if *value, err = asAny(place); err != nil {
			panic(err)
		}
	}
	if example.by != nil {
		verdict.ParentPolicy, verdict.ParentLevel = example.by.Name, example.by.Level
		verdict.ParentLine = r.ruleLine(example.by, c.decision, example.input)
	} else {
		verdict.ParentLevel = c.parents[0].Level
	}
	return verdict
}
