package engine

import (
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// evaluation is the state that all policies share while one review is evaluated. One goroutine
// evaluates them one after the other.
type evaluation struct {
	review    *admission.Review
	options   Options
	external  external.Set
	now       time.Time
	namespace *admission.Object // nil where unknown or cluster-scoped
	usage     *usage            // of all evaluations for the review: own of the first
	own       usage
	generated bool                                 // the review is about what another object would create
	covered   map[*policyset.Policy]*eval.Coverage // not nil where what evaluations reach is recorded
	// original is the review as it came; review may be about a changed object, or about the
	// Pod that a workload would create.
	original *admission.Review

	inputs map[*source]*ast.Term
	csr    *ast.Term // once a policy reads it
	// constraintRequest is input.review of templates; nil until one is evaluated.
	constraintRequest  *ast.Term
	constraintSubjects []definition.Subject // nil until one is evaluated
	// check is the review for policies that are not written in Rego; nil until one is evaluated.
	check *definition.CheckRequest
	// outcomes are the results of their expressions, with covered.
	outcomes map[*policyset.Policy][]definition.CheckOutcome
}

// newEvaluation starts the evaluation of a review.
func newEvaluation(review *admission.Review, options Options) *evaluation {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	e := &evaluation{review: review, options: options, now: options.Clock(), namespace: options.Namespace.object, own: usage{bySource: map[string]int64{}}, original: review, inputs: map[*source]*ast.Term{}}
	e.usage = &e.own
	return e
}

// start starts the evaluation of a review with the external data of the snapshot.
func (s *Snapshot) start(review *admission.Review, options Options) *evaluation {
	e := newEvaluation(review, options)
	e.external = s.external
	return e
}

// with is the same evaluation of another review.
func (e *evaluation) with(review *admission.Review) *evaluation {
	other := &evaluation{review: review, options: e.options, external: e.external, now: e.now, namespace: e.namespace, usage: e.usage, original: e.original, inputs: map[*source]*ast.Term{}}
	if e.covered != nil {
		other.covered = map[*policyset.Policy]*eval.Coverage{}
	}
	return other
}
