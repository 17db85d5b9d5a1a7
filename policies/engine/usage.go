package engine

import (
	"fmt"
	"time"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
)

const (
	// StepBudget is how many steps one evaluation of a policy may take that sets no timeout in
	// its METADATA.
	StepBudget = int64(definition.DefaultTimeout/time.Millisecond) * definition.StepsPerMillisecond
	// MaxMadeBytes is how many bytes the values may have that one evaluation makes, each
	// counted with all its parts as often as it becomes part of another.
	MaxMadeBytes = 64 << 20
	// sourceSteps bounds all policies of one source below the enterprise in one review, so that a
	// team cannot delay the reviews of others for long. Policies of the enterprise have only
	// their own limits.
	sourceSteps = 250 * definition.StepsPerMillisecond
)

// usage is the work that policies do for one review.
type usage struct {
	// bySource are the steps of each source below the enterprise.
	bySource map[string]int64
	// total are the steps of all policies.
	total int64
	// payer is the source that other evaluations count for; "" if each counts for its own.
	payer string
}

// charge counts steps for the source of a policy.
func (u *usage) charge(p *policy, steps int64) {
	u.total += steps
	switch {
	case u.payer != "":
		u.bySource[u.payer] += steps
	case p.source.place.Below:
		u.bySource[p.source.Name] += steps
	}
}

// isExhausted reports whether a source below the enterprise has used all of its steps.
func (u *usage) isExhausted(s *source) bool {
	return s.place.Below && u.payer == "" && u.bySource[s.Name] >= sourceSteps
}

// payFor counts evaluations for a source until done is called: those of other sources that its
// policies make necessary.
func (u *usage) payFor(source string) (done func()) {
	before := u.payer
	u.payer = source
	return func() { u.payer = before }
}

// limitsFor returns the limits of an evaluation of a policy, and whether the steps that its source
// has left bound it.
func (e *evaluation) limitsFor(p *policy) (limits eval.Limits, bySource bool) {
	limits = eval.Limits{Steps: p.Meta.Steps(), Bytes: MaxMadeBytes}
	if e.isPaced(p) {
		limits.Pace = e.options.Pacer.Wait
	}
	if !p.source.place.Below || e.usage.payer != "" {
		return limits, false
	}
	if left := sourceSteps - e.usage.bySource[p.source.Name]; left < limits.Steps {
		limits.Steps, bySource = max(left, 1), true
	}
	return limits, bySource
}

// sourceExhausted is the error of a policy whose source has used all of its steps.
func sourceExhausted() evalError {
	return evalError{
		message: fmt.Sprintf("the policies of its source have taken %d steps for this object, which is all that a source below the enterprise has; do less in them", sourceSteps),
		limit:   "source",
	}
}
