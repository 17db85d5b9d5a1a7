package engine

import (
	"github.com/lintel-policy/lintel/policies/admission"
)

// templateQuestions are about the Pod that a workload would create, for the policies that
// request expansion. For Gatekeeper's policies, the Pod has the operation of the workload's
// review, as in Gatekeeper. For others, the operation is CREATE.
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
			out = append(out, question{policy: p, evaluation: template, matches: matches, reason: reason, workload: e.review.Kind, exceptions: s.exceptionsFor(p, template)})
		}
	}
	return out
}

// implied returns the findings or, if they are about the Pod template, the findings that they
// imply for the workload.
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
	d.Exempted = append(d.Exempted, other.Exempted...)
	d.Policies += other.Policies
}
