package engine

import (
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// Decision is the answer to one review.
type Decision struct {
	// Denials are sorted by scope, policy, text. The object is admitted if and
	// only if there are none.
	Denials []Finding
	// Warnings are shown to the user, and admit.
	Warnings []Finding
	// Audits are findings of policies with `enforcement: audit`: logged only.
	Audits []Finding
	// Exempted are findings that would deny, warn or be logged without an exception. They have no
	// effect.
	Exempted []Finding
	// Undecided names the policies that could not be evaluated, with the reason. Only
	// Options.Offline leaves any; elsewhere they are errors.
	Undecided []Undecided
	// Policies counts the policies that were evaluated, and Steps is their work.
	Policies int
	Steps    int64
}

// Allowed says whether the object is admitted.
func (d *Decision) Allowed() bool { return len(d.Denials) == 0 }

// Verdict separates verdicts from failures. It returns the messages of the policies that deny
// or, if there are none, an error if the evaluation of a policy failed. It is for callers that
// enforce no failure policy. Allowed counts failures as denials.
func (d *Decision) Verdict() (denials []string, err error) {
	for _, finding := range d.Denials {
		if !finding.Error {
			denials = append(denials, finding.Words)
		} else if err == nil {
			err = fmt.Errorf("%s %s: %s", finding.Policy, finding.Rule, finding.Words)
		}
	}
	if len(denials) > 0 {
		return denials, nil
	}
	return nil, err
}

// Undecided is a policy that matched but could not be evaluated.
type Undecided struct {
	Policy string `json:"policy"`
	Reason string `json:"reason"`
	// Lacks is empty if the reason is another one.
	Lacks Lack `json:"-"`
}

// Lack is what an evaluation needs, and a caller without a cluster can provide.
type Lack string

// The values of Lack.
const (
	LackObjects   Lack = "objects"
	LackNamespace Lack = "namespace"
)

// Mutation is what the patches and defaults of the policies make of an object.
type Mutation struct {
	// Decision holds the denials (a patch that failed or never settles) and
	// warnings of mutation; verdicts of deny rules are Validate's.
	Decision
	// Patch turns the object as it came into the final one, applied in order.
	// Empty when nothing changes.
	Patch []jsonpatch.Operation
	// Review is the review with the final object in it.
	Review *admission.Review
}

// recoverUnknown makes the request undecided after a panic about an unknown value.
func (d *Decision) recoverUnknown() {
	cause := recover()
	if cause == nil {
		return
	}
	unknown, ok := cause.(*eval.UnknownError)
	if !ok {
		panic(cause)
	}
	d.Undecided = append(d.Undecided, Undecided{Reason: unknownError(unknown).message})
}

// add takes over the findings of another decision.
func (d *Decision) add(other *Decision) {
	d.Denials = append(d.Denials, other.Denials...)
	d.Warnings = append(d.Warnings, other.Warnings...)
	d.Audits = append(d.Audits, other.Audits...)
	d.Exempted = append(d.Exempted, other.Exempted...)
	d.Undecided = append(d.Undecided, other.Undecided...)
	d.Policies += other.Policies
}

// sort orders the findings and removes duplicates.
func (d *Decision) sort() {
	for _, findings := range []*[]Finding{&d.Denials, &d.Warnings, &d.Audits, &d.Exempted} {
		slices.SortStableFunc(*findings, Finding.compare)
		*findings = slices.CompactFunc(*findings, func(a, b Finding) bool { return a.compare(b) == 0 })
	}
}
