package engine

import (
	"context"

	"github.com/lintel-policy/lintel/policies/admission"
)

// expandsKind reports whether policies may be evaluated for the Pod templates of a kind.
func (s *Snapshot) expandsKind(kind admission.GroupVersionKind) bool {
	_, isWorkload := admission.PodTemplatePath(kind)
	return isWorkload || s.expanded[kind.WithoutVersion()]
}

// selectForTemplate returns the policies that request expansion, for the Pods that a workload would
// create. For Gatekeeper's policies, a Pod has the operation of the workload's review, and mutators
// have changed it, as in Gatekeeper. For others, the operation is CREATE.
func (s *Snapshot) selectForTemplate(ctx context.Context, e *evaluation, unmatched bool) []invocation {
	if !s.expandsKind(e.review.Kind) || !e.review.IsWorkloadWrite() {
		return nil
	}
	pods := podBuilder{ctx: ctx, snapshot: s, workload: e, found: map[podOrigin]generatedPod{}}
	var out []invocation
	for _, p := range s.candidatesOfKind(admission.PodKind) {
		if p.Validate == nil || !p.isSelected(e.options) || !p.Matcher.Expands() {
			continue
		}
		for _, template := range p.dialect.podTemplates(e.review.Kind) {
			pod := pods.find(podOrigin{template, p.dialect.isForeign()})
			if pod.evaluation == nil {
				continue
			}
			matches, reason := p.dialect.matches(p, s.resources, pod.evaluation, p.Matcher.MatchesVerb(pod.evaluation.review))
			if matches && pod.failure != "" {
				matches, reason = false, pod.failure
			}
			if matches || reason != "" || unmatched {
				out = append(out, invocation{
					policy: p, evaluation: pod.evaluation, matches: matches, reason: reason, lacks: p.lackOf(s.resources, pod.evaluation, reason),
					workload: e.review.Kind, template: template, exceptions: s.exceptionsFor(p, pod.evaluation),
				})
			}
		}
	}
	return out
}

// podOrigin is where a Pod is described, and for which policies.
type podOrigin struct {
	template admission.PodTemplate
	// foreign is for Gatekeeper's policies.
	foreign bool
}

// generatedPod is a Pod that a workload would create.
type generatedPod struct {
	evaluation *evaluation // nil where there is no Pod
	// failure is why the Pod is not known: empty if it is.
	failure string
}

// podBuilder builds the Pods of one workload. Each is built when the first policy needs it.
type podBuilder struct {
	ctx      context.Context
	snapshot *Snapshot
	workload *evaluation
	found    map[podOrigin]generatedPod
}

func (g *podBuilder) find(origin podOrigin) generatedPod {
	one, known := g.found[origin]
	if !known {
		one = g.build(origin)
		g.found[origin] = one
	}
	return one
}

func (g *podBuilder) build(origin podOrigin) generatedPod {
	pod, found := admission.PodReviewAt(g.workload.review, origin.template)
	standard, isWorkload := admission.PodTemplateOf(g.workload.review.Kind)
	if !found && isWorkload && origin.template.Path == standard.Path {
		return generatedPod{} // which the API server refuses
	}
	if !origin.foreign {
		pod = pod.AsCreated()
	}
	e := g.workload.with(pod)
	e.generated = true
	switch {
	case !found:
		return generatedPod{e, "the object has no Pod template at " + origin.template.Path + ", where an ExpansionTemplate expects it"}
	case origin.foreign:
		return g.snapshot.mutatePod(g.ctx, e)
	}
	return generatedPod{evaluation: e}
}

// mutatePod applies Gatekeeper's mutators to the Pod of a workload.
func (s *Snapshot) mutatePod(ctx context.Context, e *evaluation) generatedPod {
	mutation := &Mutation{Review: e.review}
	m := newMutator(ctx, s, e, mutation)
	m.onlyMutators = true
	func() {
		defer mutation.recoverUnknown()
		m.run(e)
	}()
	failure := ""
	switch {
	case len(mutation.Undecided) > 0:
		failure = mutation.Undecided[0].Reason
	case !mutation.Allowed():
		failure = mutation.Denials[0].Words
	}
	if failure != "" {
		return generatedPod{e, "mutators cannot be applied to its Pod template: " + failure}
	}
	if mutation.Review == e.review {
		return generatedPod{evaluation: e}
	}
	changed := e.with(mutation.Review)
	changed.generated = true
	return generatedPod{evaluation: changed}
}

// attributed returns the findings or, if they are about the Pod template, the findings about the
// workload.
func (i invocation) attributed(decision *Decision) *Decision {
	if i.evaluation.generated {
		i.policy.dialect.attribute(i, decision)
	}
	return decision
}
