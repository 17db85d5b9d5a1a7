package engine

import (
	"context"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// ServerPasses is the state of a request in the mutation by the API server itself. It makes at most
// two passes: the second invokes mutators again that asked for it and were followed by a change.
type ServerPasses struct {
	passes int
	last   *admission.Review // after the last pass
	// invoked are the reinvocable mutators of this pass, and again those to invoke again.
	invoked, again map[string]bool
	// changed reports that a pass applied a mutation, so that there is a second pass.
	changed bool
}

// NeedsAnother reports whether the API server makes another pass.
func (p *ServerPasses) NeedsAnother() bool { return p.changed && p.passes == 1 }

// requireAgain marks the mutators invoked so far for the second pass.
func (p *ServerPasses) requireAgain() {
	for key := range p.invoked {
		p.again[key] = true
	}
	p.invoked = map[string]bool{}
}

// MutateByServer is one pass of the policies by which the API server itself changes objects, before
// it calls webhooks. They are applied one after the other, in the order of their names; the order of
// the API server is not specified. Webhooks never call it.
func (s *Snapshot) MutateByServer(ctx context.Context, review *admission.Review, options Options, passes *ServerPasses) (mutation *Mutation) {
	mutation = &Mutation{Review: review}
	if passes.again == nil {
		passes.invoked, passes.again = map[string]bool{}, map[string]bool{}
	}
	passes.passes++
	if passes.passes > 1 && review.New != nil && passes.last.New.Value().Compare(review.New.Value()) != 0 {
		passes.requireAgain()
	}
	run := &serverPass{snapshot: s, ctx: ctx, evaluation: s.start(review, options), passes: passes, result: mutation}
	defer func() { passes.last = mutation.Review }()
	if review.New == nil {
		return mutation
	}
	defer mutation.recoverUnknown()
	run.invokeAll()
	mutation.sort()
	mutation.Steps = run.evaluation.usage.total
	if !mutation.Allowed() {
		mutation.Patch, mutation.Review = nil, review
	}
	return mutation
}

// serverPass is one pass.
type serverPass struct {
	snapshot   *Snapshot
	ctx        context.Context
	evaluation *evaluation
	passes     *ServerPasses
	result     *Mutation
	applied    bool
}

// invocationOf is an invocation of a policy.
type invocationOf struct {
	policy     *policy
	invocation definition.Invocation
}

// invokeAll selects the invocations for the object as it came, and then applies them.
func (r *serverPass) invokeAll() {
	var all []invocationOf
	for _, p := range r.snapshot.policies {
		if p.ServerMutator() == nil || !p.isSelectedScope(r.evaluation.options) {
			continue
		}
		for _, one := range p.serverInvocations(r.snapshot.resources, r.evaluation, &r.result.Decision) {
			all = append(all, invocationOf{p, one})
		}
	}
	for _, one := range all {
		if r.invoke(one) {
			break
		}
	}
	if r.applied {
		r.passes.requireAgain()
		r.passes.changed = true
	}
}

// isSelectedScope is isSelected regardless of the failure policy of the source: the API server has
// its own.
func (p *policy) isSelectedScope(options Options) bool {
	return options.Scopes == nil || options.Scopes(p.source.Scope.Key())
}

// serverInvocations returns the invocations of a policy for an object.
func (p *policy) serverInvocations(resources *admission.Resources, e *evaluation, decision *Decision) []definition.Invocation {
	matches, reason := p.dialect.matches(p, resources, e, p.Matcher.MatchesVerb(e.review))
	if reason != "" {
		p.reportUnevaluable(e, decision, reason, p.lackOf(resources, e, reason))
		return nil
	}
	if !matches {
		return nil
	}
	decision.Policies++
	list, findings := p.ServerMutator().Invocations(e.checkRequest())
	for _, one := range findings {
		p.reportMutation(e, decision, one)
	}
	return list
}

// reportMutation reports a finding of a mutation.
func (p *policy) reportMutation(e *evaluation, decision *Decision, one definition.CheckFinding) {
	denied := len(decision.Denials)
	p.reportCheck(e, decision, one)
	for i := range decision.Denials[denied:] {
		decision.Denials[denied+i].Rule = definition.EntryPatch
	}
}

// invoke applies one invocation. It returns true if the API server ends the request.
func (r *serverPass) invoke(one invocationOf) (ends bool) {
	e, key := r.evaluation, one.invocation.Key()
	onlyConditions := r.passes.passes > 1 && !r.passes.again[key]
	result := one.invocation.Invoke(r.ctx, e.checkRequest(), onlyConditions)
	e.usage.charge(one.policy, result.Steps)
	for _, finding := range result.Findings {
		one.policy.reportMutation(e, &r.result.Decision, finding)
	}
	if result.Undecided != "" {
		one.policy.reportUnevaluable(e, &r.result.Decision, result.Undecided, "")
	}
	if result.Skipped || onlyConditions || result.Aborts {
		return result.Aborts
	}
	if result.Object != nil && result.Undecided == "" {
		r.passes.requireAgain()
		r.change(result.Object)
	}
	r.applied = r.applied || result.Applied
	if one.invocation.IsReinvocable() {
		r.passes.invoked[key] = true
	}
	return false
}

// change gives the request the changed object.
func (r *serverPass) change(object map[string]any) {
	after, operations := changesTo(r.evaluation.review, object)
	if after == nil {
		return
	}
	r.result.Patch = append(r.result.Patch, operations...)
	r.result.Review = after
	r.evaluation = r.evaluation.with(after)
}

// changesTo returns a review with another object, and the patch that leads there: nil without a
// difference.
func changesTo(review *admission.Review, object map[string]any) (*admission.Review, []jsonpatch.Operation) {
	document := &jsonpatch.Document{Root: toJSON(review.New.Value())}
	for _, step := range jsonpatch.Difference(toJSON(review.New.Value()), object) {
		if err := document.Apply(step); err != nil {
			panic("the difference between two objects applies to the first: " + err.Error())
		}
	}
	after, ok := fromJSON(document.Root)
	if !ok || len(document.Applied) == 0 {
		return nil, nil
	}
	return review.WithObject(after), document.Applied
}

// ExplainMutationByServer is Explain for MutateByServer. It evaluates each policy for the object as
// it came, before any policy has changed it.
func (s *Snapshot) ExplainMutationByServer(ctx context.Context, review *admission.Review, options Options) (out []Explanation) {
	for _, p := range s.policies {
		if p.ServerMutator() == nil || !p.isSelectedScope(options) {
			continue
		}
		e := s.start(review, options)
		e.covered = map[*policyset.Policy]*eval.Coverage{}
		var decision Decision
		var list []definition.Invocation
		if review.New != nil {
			list = p.serverInvocations(s.resources, e, &decision)
		}
		var changes []jsonpatch.Operation
		var outcomes []definition.CheckOutcome
		for _, one := range list {
			result := one.Invoke(ctx, e.checkRequest(), false)
			for _, finding := range result.Findings {
				p.reportMutation(e, &decision, finding)
			}
			if result.Undecided != "" {
				p.reportUnevaluable(e, &decision, result.Undecided, "")
			}
			if result.Object != nil && result.Undecided == "" {
				_, operations := changesTo(review, result.Object)
				changes = append(changes, operations...)
			}
			outcomes = append(outcomes, result.Outcomes...)
		}
		e.outcomes = map[*policyset.Policy][]definition.CheckOutcome{p.Policy: outcomes}
		explained := p.explainServer(s.resources, e, &decision)
		explained.Changes = changes
		out = append(out, explained)
	}
	return out
}

// explainServer explains the decision of a policy by which the API server changes objects.
func (p *policy) explainServer(resources *admission.Resources, e *evaluation, decision *Decision) Explanation {
	// The match has the operations of the policy, and not those of patch and defaults.
	one := p.explain(resources, e, QuestionValidate, decision)
	if len(decision.Undecided) > 0 {
		one.Answer, one.Reason = AnswerCannotBeAsked, decision.Undecided[0].Reason
	}
	one.Question = QuestionMutate
	return one
}
