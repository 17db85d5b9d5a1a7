// Package restriction finds out whether a policy of a gateway only restricts what those of
// broader scopes permit.
//
// Invariant: Proved is said only where there is no input on which the child permits more,
// and Counterexample only with an input on which an evaluation of both sides has shown
// it. All else is Unknown, and an analysis ends with its context.
package restriction

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/sidecar"
)

// Outcome is what is known of a child policy and its parents.
type Outcome string

const (
	// Proved says that the child permits no more than its parents, on any input.
	Proved Outcome = "proved"
	// Counterexample says that there is an input where it permits more.
	Counterexample Outcome = "counterexample"
	// Unknown says that neither was found out.
	Unknown Outcome = "unknown"
)

// Verdict is the outcome of an analysis. Its JSON is what it says of the decision.
type Verdict struct {
	Outcome Outcome `json:"verdict"`
	// Decision is the one that the outcome is about; empty if it is about all.
	Decision string `json:"decision"`
	// Input is a JSON value on which the child permits more. InputUndefined says that
	// it does so where there is no input at all.
	Input          any  `json:"input"`
	InputUndefined bool `json:"input_undefined,omitempty"`
	// Parent and Child are what the sides decide on Input: nil if undefined. A set is
	// a list.
	Parent any `json:"parent"`
	Child  any `json:"child"`
	// The policies that decide so, and the lines of their rules; empty and 0 where
	// nobody is to be named.
	ParentPolicy string `json:"-"`
	ChildPolicy  string `json:"-"`
	ParentLine   int    `json:"-"`
	ChildLine    int    `json:"-"`
	// ParentLevel is the scope of the parent.
	ParentLevel sidecar.Level `json:"-"`
	// Conflict says that it is about two policies of one scope, whose values differ.
	Conflict bool `json:"-"`
	// Reason is a sentence: what stopped the analysis, or what is wrong.
	Reason  string        `json:"reason"`
	Elapsed time.Duration `json:"-"`
}

// defaultTimeout is the deadline of an analysis that is given none.
const defaultTimeout = 5 * time.Second

// Analyze finds out whether a child permits more than its parents: the policies of the
// same domain and of broader scopes, or of the same scope and listed before. It says
// the worst of all decisions of the child, and ends with the context, or after 5 s if
// that has no deadline.
func Analyze(ctx context.Context, child *sidecar.Policy, parents []*sidecar.Policy) Verdict {
	start := time.Now()
	worst := Worst(AnalyzeEach(ctx, child, parents))
	worst.Elapsed = time.Since(start)
	return worst
}

// Worst is a counterexample before an unknown, and of each the first. Where all are Proved,
// it is so of no decision.
func Worst(verdicts []Verdict) Verdict {
	worst := Verdict{Outcome: Proved}
	for _, verdict := range verdicts {
		if worst.Outcome == Proved && verdict.Outcome == Unknown || worst.Outcome != Counterexample && verdict.Outcome == Counterexample {
			worst = verdict
		}
	}
	return worst
}

// AnalyzeEach is Analyze decision by decision: those that are compared, in the order of
// their names. Where the time ends before any was, there is one verdict of no decision.
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
		select { // what was found by now
		case verdicts := <-done:
			return verdicts
		case <-time.After(grace):
			return []Verdict{{Outcome: Unknown, Reason: outOfTime.why}}
		}
	}
}

// grace is how long an analysis that is out of time may take to say so.
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

// analyzeOne is the verdict on one decision.
func analyzeOne(ctx context.Context, c *comparison) (verdict Verdict) {
	unknown := func(why string) Verdict { return Verdict{Outcome: Unknown, Decision: c.decision, Reason: why} }
	defer func() {
		if r := recover(); r != nil {
			if stopped, ok := r.(exhausted); ok {
				verdict = unknown(stopped.why)
			} else {
				verdict = unknown(fmt.Sprintf("the analysis itself went wrong: %v", r))
			}
		}
	}()
	r := newReplay(ctx)
	found, models, why := c.solve(ctx, r)
	if found == nil && why == "" {
		return Verdict{Outcome: Proved, Decision: c.decision}
	}
	if found == nil {
		found = c.search(r, models)
	}
	if found == nil {
		return unknown(why)
	}
	return c.counterexample(r, c.shrink(r, found))
}

// maxModels bounds how many inputs are tried that the solver comes up with.
const maxModels = 40

// solve looks for a model of the formula that the child permits more, or for the
// certainty that there is none: then all results are empty. Else why says what is
// missing, and models are inputs that came close.
func (c *comparison) solve(ctx context.Context, r *replay) (found *candidate, models []ast.Value, why string) {
	defer func() {
		if r := recover(); r != nil {
			switch stopped := r.(type) {
			case exhausted:
				found, why = nil, stopped.why
			case unsupported:
				found, why = nil, describe(c.child, &stopped)
			default:
				panic(r)
			}
		}
	}()
	steps, fresh := 0, 0
	var all []*translation
	translate := func(p *sidecar.Policy) *translation {
		t := newTranslation(ctx, p, &steps, &fresh)
		all = append(all, t)
		return t
	}
	child := translate(c.child)
	violation := c.symbolic(child, translate)
	if violation == false {
		return nil, nil, ""
	}
	for _, p := range append([]*sidecar.Policy{c.child}, c.parents...) {
		if err := repeatable(p); err != nil && why == "" {
			why = fmt.Sprintf("%s: %v", p.Name, err)
		}
	}
	problem := newProblem(ctx, c.bounds)
	problem.assert(violation)
	pool := constants(append([]*sidecar.Policy{c.child}, c.definers...))
	exact := true
	for range maxModels {
		satisfiable, err := problem.solver.Solve(ctx)
		if err != nil {
			panic(outOfTime)
		}
		if !satisfiable {
			if exact {
				return nil, nil, ""
			}
			break
		}
		if why != "" {
			return nil, nil, why
		}
		exact = false
		input, wrong := problem.model(pool)
		if f := c.confirmed(r, input); f != nil {
			return &candidate{input, f}, nil, ""
		}
		models = append(models, input)
		problem.exclude(wrong)
	}
	for _, t := range all {
		if t.notUnderstood != nil {
			return nil, models, describe(t.policy, t.notUnderstood)
		}
	}
	return nil, models, "no input was found on which the child permits more, and none was excluded"
}

func describe(p *sidecar.Policy, u *unsupported) string {
	place := p.Name
	if u.location != nil {
		place = fmt.Sprintf("%s:%d", p.Name, u.location.Row)
	}
	return fmt.Sprintf("%s: the analysis does not see through %s", place, u.what)
}

// exclude rules literals out together, or else the whole model.
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

// counterexample is the verdict that a candidate shows.
func (c *comparison) counterexample(r *replay, found *candidate) Verdict {
	verdict := Verdict{
		Outcome: Counterexample, Decision: c.decision, InputUndefined: found.input == nil, Reason: found.reason,
		ChildPolicy: c.child.Name, ChildLine: r.ruleLine(c.child, c.decision, found.input),
	}
	var err error
	for value, place := range map[*any]ast.Value{&verdict.Input: found.input, &verdict.Parent: found.parent, &verdict.Child: found.child} {
		if *value, err = asAny(place); err != nil {
			panic(err)
		}
	}
	if found.by != nil {
		verdict.ParentPolicy, verdict.ParentLevel = found.by.Name, found.by.Level
		verdict.ParentLine = r.ruleLine(found.by, c.decision, found.input)
	} else {
		verdict.ParentLevel = c.parents[0].Level
	}
	return verdict
}
