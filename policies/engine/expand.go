package engine

import (
	"github.com/lintel-policy/lintel/policies/admission"
)

// templateQuestions are about the Pod that a workload would create, to the policies
// that ask for it. For those of Gatekeeper, the Pod has the operation of the workload's
// review, as it has in Gatekeeper; for others, it is created, whatever happens to the workload.
func (s *Snapshot) templateQuestions(e *evaluation, unmatched bool) []question {
	pod := admission.PodReview(e.review)
	if pod == nil {
		return nil
	}
	created, kept := e.with(pod.AsCreated()), e.with(pod)
	created.generated, kept.generated = true, true
	var out []question
	for _, p := range s.candidates(admission.PodKind) {
		if p.validate == nil || !p.asked(e.options) || !p.matcher.Expands() || !p.form.expandsFrom(e.review.Kind) {
			continue
		}
		template := created
		if p.form.foreign() {
			template = kept
		}
		if matches, reason := p.form.matches(p, s, template, p.matcher.MatchesVerb(template.review)); matches || reason != "" || unmatched {
			out = append(out, question{policy: p, evaluation: template, matches: matches, reason: reason, workload: e.review.Kind})
		}
	}
	return out
}

// implied is what was found, or what that implies for the workload where it was found in
// its Pod template.
func (q question) implied(found *Decision) *Decision {
	if q.evaluation.generated {
		q.policy.form.imply(q.policy, q.workload, found)
	}
	return found
}

// add takes over the findings of another decision.
func (d *Decision) add(other *Decision) {
	d.Denials = append(d.Denials, other.Denials...)
	d.Warnings = append(d.Warnings, other.Warnings...)
	d.Audits = append(d.Audits, other.Audits...)
	d.Undecided = append(d.Undecided, other.Undecided...)
	d.Policies += other.Policies
}
