package engine

import (
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// templateQuestions are about the Pod that a workload would create, to the policies
// that ask for it.
func (s *Snapshot) templateQuestions(e *evaluation, unmatched bool) []question {
	pod := admission.PodReview(e.review)
	if pod == nil {
		return nil
	}
	template := e.with(pod)
	template.generated = true
	var out []question
	for _, p := range s.candidates(admission.PodKind) {
		if p.validate == nil || !p.asked(e.options) || !p.matcher.Expands() || !p.form.expandsFrom(e.review.Kind) {
			continue
		}
		if matches, reason := p.form.matches(p, s, template, p.matcher.MatchesVerb(pod)); matches || reason != "" || unmatched {
			out = append(out, question{policy: p, evaluation: template, entry: definition.EntryDeny, matches: matches, reason: reason, template: true, workload: e.review.Kind})
		}
	}
	return out
}

// settle marks what was found in a template, and makes it what expand says.
func (q question) settle(found *Decision) {
	if !q.template {
		return
	}
	q.policy.form.imply(q.policy, q.workload, found)
}

// add takes over the findings of another decision.
func (d *Decision) add(other *Decision) {
	d.Denials = append(d.Denials, other.Denials...)
	d.Warnings = append(d.Warnings, other.Warnings...)
	d.Audits = append(d.Audits, other.Audits...)
	d.Undecided = append(d.Undecided, other.Undecided...)
	d.Policies += other.Policies
}
