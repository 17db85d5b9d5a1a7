package engine

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// invocation is the evaluation of one policy for one review.
type invocation struct {
	policy     *policy
	evaluation *evaluation
	// matches and reason are those of dialect.matches.
	matches bool
	reason  string
	// lacks is what the reason is about, if a caller can provide it.
	lacks Lack
	// workload is the kind of which the review is the Pod template, where it is one.
	workload admission.GroupVersionKind
	// template is where the workload has it.
	template admission.PodTemplate
	// exceptions are those in force that select the object.
	exceptions []*exception.Exception
}

// runInOrder runs one invocation after the other, and returns the results in their order. The
// enterprise's policies are evaluated first: those of narrower scopes may wait, and take no
// time from them. failed returns the result of a policy that panics, and of one whose source has
// used its steps.
func runInOrder[T any](invocations []invocation, run func(invocation) T, failed func(invocation, evalError) T) []T {
	results := make([]T, len(invocations))
	for _, below := range []bool{false, true} {
		for n, i := range invocations {
			if i.policy.source.place.Below == below {
				results[n] = runGuarded(i, run, failed)
			}
		}
	}
	return results
}

// runGuarded runs an invocation within the steps of its source, and recovers from a panic.
func runGuarded[T any](i invocation, run func(invocation) T, failed func(invocation, evalError) T) (result T) {
	defer func() {
		cause := recover()
		if unknown, ok := cause.(*eval.UnknownError); ok {
			result = failed(i, unknownError(unknown))
		} else if cause != nil {
			result = failed(i, evalError{message: fmt.Sprintf("internal error: %v\n%s", cause, debug.Stack())})
		}
	}()
	if i.evaluation != nil && i.evaluation.usage.isExhausted(i.policy.source) {
		return failed(i, sourceExhausted())
	}
	return run(i)
}

// isPaced reports whether a policy waits for its turn.
func (e *evaluation) isPaced(p *policy) bool {
	return e.options.Pacer != nil && p.source.place.Below
}

// evaluate runs a query of a policy, in a span that is called by an entry point of it.
func (e *evaluation) evaluate(ctx context.Context, p *policy, q *policyset.Query, entry string, input *ast.Term, data eval.Document) (results [][]eval.Given, errs []evalError) {
	var steps int64
	ctx, end := p.startSpan(ctx, entry)
	if e.isPaced(p) {
		e.options.Pacer.Wait(ctx, 0)
		defer func() { e.options.Pacer.Done(steps) }()
	}
	limits, bySource := e.limitsFor(p)
	results, steps, errs = runQuery(ctx, q, eval.Options{
		Input: input, Data: data, Now: e.now, Print: e.options.Print, Cover: e.coverageOf(p), Gather: true,
		Limits: limits,
	})
	e.usage.charge(p, steps)
	p.Cost.Add(steps)
	if bySource && len(errs) > 0 && errs[0].limit == eval.LimitSteps {
		errs[0] = sourceExhausted()
	}
	end(errs)
	return results, errs
}

// coverageOf returns the coverage that an evaluation of the policy records, or nil.
func (e *evaluation) coverageOf(p *policy) *eval.Coverage {
	if e.covered == nil {
		return e.options.Coverage
	}
	if e.covered[p.Policy] == nil {
		e.covered[p.Policy] = &eval.Coverage{}
	}
	return e.covered[p.Policy]
}
