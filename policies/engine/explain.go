package engine

import (
	"context"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// Explain evaluates the policies of Validate one by one, and explains why the others are not
// evaluated. The result is in the order of Policies.
func (s *Snapshot) Explain(ctx context.Context, review *admission.Review, options Options) []Explanation {
	e := s.start(review, options)
	e.covered = map[*policyset.Policy]*eval.Coverage{}
	var invocations []invocation
	if !review.OnlyRemovesFinalizers() {
		invocations = s.selectPolicies(ctx, e, true)
	}
	decisions := validateAll(ctx, invocations)
	var out []Explanation
	for _, p := range s.policies {
		if p.Validate == nil || !p.isSelected(options) {
			continue
		}
		before := len(out)
		for i, one := range invocations {
			if one.policy != p {
				continue
			}
			question := QuestionValidate
			if one.evaluation.generated {
				question = QuestionTemplate
			}
			out = append(out, p.explain(s.resources, one.evaluation, question, decisions[i]))
		}
		if len(out) == before {
			out = append(out, p.explainSkipped(s.resources, e, QuestionValidate))
		}
	}
	return out
}

// Selected lists the policies whose deny and warn are evaluated for a review.
func (s *Snapshot) Selected(ctx context.Context, review *admission.Review, options Options) (selected []PolicyInfo) {
	if review.OnlyRemovesFinalizers() {
		return nil
	}
	seen := map[*policy]bool{}
	for _, one := range s.selectPolicies(ctx, newEvaluation(review, options), false) {
		if one.matches && !seen[one.policy] {
			seen[one.policy] = true
			selected = append(selected, one.policy.info())
		}
	}
	return selected
}

// ExplainMutation is Explain for Mutate. It evaluates each policy for the original object, before
// any policy has changed it.
func (s *Snapshot) ExplainMutation(ctx context.Context, review *admission.Review, options Options) []Explanation {
	e := s.start(review, options)
	e.covered = map[*policyset.Policy]*eval.Coverage{}
	results := map[*policy]mutationResult{}
	if review.New != nil && !review.OnlyRemovesFinalizers() {
		m := newMutator(ctx, s, e, &Mutation{Review: review})
		root := func() any { return toPartialJSON(review.New.Value()) }
		for _, result := range m.evaluate(m.policies(e), e, root) {
			results[result.policy] = result
		}
	}
	var out []Explanation
	for _, p := range s.policies {
		if !p.Changes() || !p.isSelected(options) {
			continue
		}
		result, ok := results[p]
		if !ok {
			out = append(out, p.explainSkipped(s.resources, e, QuestionMutate))
			continue
		}
		one := p.explain(s.resources, e, QuestionMutate, &result.decision)
		for _, member := range result.members {
			for _, op := range member.ops {
				one.Changes = append(one.Changes, op.Operation())
			}
		}
		out = append(out, one)
	}
	return out
}

// explain explains the decision of the policy about a question.
func (p *policy) explain(resources *admission.Resources, e *evaluation, question Question, decision *Decision) Explanation {
	one := Explanation{Policy: p.info(), Question: question, Answer: AnswerAsked, Decision: *decision}
	findings := slices.Concat(decision.Denials, decision.Warnings, decision.Audits)
	switch {
	case decision.Policies > 0:
		entries := []string{definition.EntryDeny, definition.EntryWarn}
		if question == QuestionMutate {
			entries = []string{definition.EntryPatch, definition.EntryDefaults}
		}
		one.Rules = append(p.ruleOutcomes(e.covered[p.Policy], entries...), e.checkOutcomes(p)...)
	case len(decision.Undecided) > 0:
		one.Answer, one.Reason = AnswerCannotBeAsked, decision.Undecided[0].Reason
	case len(findings) > 0:
		one.Answer, one.Reason = AnswerCannotBeAsked, findings[0].Words
	default:
		return p.explainSkipped(resources, e, question)
	}
	return one
}
