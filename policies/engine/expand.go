package engine

import (
	"github.com/lintel-policy/lintel/policies/admission"
)

// selectForTemplate returns the policies that request expansion, for the Pod that a workload would
// create. For Gatekeeper's policies, the Pod has the operation of the workload's
// review, as in Gatekeeper. For others, the operation is CREATE.
func (s *Snapshot) selectForTemplate(e *evaluation, unmatched bool) []invocation {
	pod := admission.PodReview(e.review)
	if pod == nil {
		return nil
	}
	created, unchanged := e.with(pod.AsCreated()), e.with(pod)
	created.generated, unchanged.generated = true, true
	var out []invocation
	for _, p := range s.candidatesOfKind(admission.PodKind) {
		if p.Validate == nil || !p.isSelected(e.options) || !p.Matcher.Expands() || !p.dialect.expands(e.review.Kind) {
			continue
		}
		template := created
		if p.dialect.isForeign() {
			template = unchanged
		}
		if matches, reason := p.dialect.matches(p, s.resources, template, p.Matcher.MatchesVerb(template.review)); matches || reason != "" || unmatched {
			out = append(out, invocation{policy: p, evaluation: template, matches: matches, reason: reason, lacks: p.lackOf(s.resources, template, reason), workload: e.review.Kind, exceptions: s.exceptionsFor(p, template)})
		}
	}
	return out
}

// attributed returns the findings or, if they are about the Pod template, the findings about the
// workload.
func (i invocation) attributed(decision *Decision) *Decision {
	if i.evaluation.generated {
		i.policy.dialect.attribute(i.policy, i.workload, decision)
	}
	return decision
}
