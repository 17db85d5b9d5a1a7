package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/exception"
)

// sourceTime bounds all policies of one source below the enterprise in one review, so that a
// team cannot delay the reviews of others for long. Policies of the enterprise have only their
// own limits.
const sourceTime = 250 * time.Millisecond

// question is a policy to ask about a review.
type question struct {
	policy     *compiledPolicy
	evaluation *evaluation
	// matches and reason are those of form.matches.
	matches bool
	reason  string
	// workload is the kind of which the review is the Pod template, where it is one.
	workload admission.GroupVersionKind
	// exceptions are those in force that select the object.
	exceptions []*exception.Exception
}

// askEach asks one question after the other, and gives the answers in their order. The
// enterprise's policies are evaluated first: those of narrower scopes may wait, and take no
// time from them. failed answers for a policy that panics, and for one of a source that has
// used up its time.
func askEach[T any](questions []question, ask func(question) T, failed func(question, evalError) T) []T {
	answers := make([]T, len(questions))
	for _, below := range []bool{false, true} {
		for i, q := range questions {
			if q.policy.set.place.Below == below {
				answers[i] = askOne(q, ask, failed)
			}
		}
	}
	return answers
}

func askOne[T any](q question, ask func(question) T, failed func(question, evalError) T) (answer T) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = failed(q, evalError{message: fmt.Sprintf("internal error: %v\n%s", cause, debug.Stack())})
		}
	}()
	if !q.policy.set.place.Below {
		return ask(q)
	}
	source := q.policy.set.source.Name
	if q.evaluation.used[source] >= sourceTime {
		return failed(q, evalError{
			message: fmt.Sprintf("the policies of its source have taken %s for this object, which is all that a source below the enterprise has; do less in them", sourceTime),
			limit:   "source",
		})
	}
	defer q.evaluation.measure(source)()
	return ask(q)
}

// measure adds the time until done is called to what a source has used, without the time that
// other reviews had meanwhile.
func (e *evaluation) measure(source string) (done func()) {
	start, waited := e.options.Clock(), e.waited
	return func() { e.used[source] += e.options.Clock().Sub(start) - (e.waited - waited) }
}

// limits bound the evaluation of a policy. A policy below the enterprise waits for its turn.
func (e *evaluation) limits(p *compiledPolicy) eval.Limits {
	limits := eval.Limits{Steps: StepBudget, Bytes: MaxMadeBytes, Timeout: p.meta.Timeout}
	if e.isPaced(p) {
		limits.Pace = e.wait
	}
	return limits
}

// isPaced reports whether a policy waits for its turn.
func (e *evaluation) isPaced(p *compiledPolicy) bool {
	return e.options.Pacer != nil && p.set.place.Below
}

func (e *evaluation) wait(ctx context.Context, now time.Time) time.Duration {
	waited := e.options.Pacer.Wait(ctx, now)
	e.waited += waited
	return waited
}

// evaluate runs a query of a policy, in a span that is called by an entry point of it.
func (e *evaluation) evaluate(ctx context.Context, p *compiledPolicy, q *query, entry string, input *ast.Term, data eval.Document) (given [][]eval.Given, errs []evalError) {
	ctx, end := p.startSpan(ctx, entry)
	if e.isPaced(p) {
		e.wait(ctx, time.Now())
		defer func() { e.options.Pacer.Pause(time.Now()) }()
	}
	given, errs = q.run(ctx, eval.Options{
		Input: input, Data: data, Now: e.now, Print: e.options.Print, Cover: e.coverageOf(p), Gather: true,
		Limits: e.limits(p),
	})
	end(errs)
	return given, errs
}
