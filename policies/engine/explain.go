package engine

import (
	"context"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// Question is what a policy can be asked about a review.
type Question string

// The questions of a review.
const (
	QuestionMutate   Question = "mutate"   // patch and defaults
	QuestionValidate Question = "validate" // deny and warn
	QuestionTemplate Question = "template" // deny and warn about a workload's Pod template
)

// Answer is what became of a question.
type Answer string

// The answers.
const (
	AnswerAsked         Answer = "asked"       // the policy was evaluated
	AnswerNotMatched    Answer = "not matched" // the review is not one that it is about
	AnswerCannotBeAsked Answer = "cannot be asked"
)

// Explanation explains the evaluation of one question about a review by one policy.
type Explanation struct {
	Policy   PolicyInfo
	Question Question
	Answer   Answer
	// Condition is the part of match that is not met, or "scope", with the Reason in
	// words; where the policy cannot be asked, there is only the reason.
	Condition, Reason string
	// Decision is what the policy says, as in Validate and Mutate.
	Decision Decision
	// Changes are what its patch and defaults want to do, each by itself.
	Changes []jsonpatch.Operation
	// Rules are what became of the rules of the entry points, in the order of their files,
	// of a policy that was asked and of which the source was compiled by CompileForTest.
	Rules []RuleOutcome
}

// Explain evaluates the policies of Validate one by one, and explains why the others are not
// evaluated. The result is in the order of Policies.
func (s *Snapshot) Explain(ctx context.Context, review *admission.Review, options Options) []Explanation {
	e := newEvaluation(review, options)
	e.covered = map[*compiledPolicy]*eval.Coverage{}
	var questions []question
	if !review.OnlyRemovesFinalizers() {
		questions = s.questions(e, true)
	}
	answers := validate(ctx, questions)
	var out []Explanation
	for _, p := range s.policies {
		if p.validate == nil || !p.asked(options) {
			continue
		}
		before := len(out)
		for i, q := range questions {
			if q.policy != p {
				continue
			}
			asked := QuestionValidate
			if q.evaluation.generated {
				asked = QuestionTemplate
			}
			out = append(out, p.explain(s, q.evaluation, asked, answers[i]))
		}
		if len(out) == before {
			out = append(out, p.unasked(s, e, QuestionValidate))
		}
	}
	return out
}

// ExplainMutation is Explain for Mutate: it asks about the object as it is, before any
// policy has changed it.
func (s *Snapshot) ExplainMutation(ctx context.Context, review *admission.Review, options Options) []Explanation {
	e := newEvaluation(review, options)
	e.covered = map[*compiledPolicy]*eval.Coverage{}
	asked := map[*compiledPolicy]mutationAnswer{}
	if review.New != nil && !review.OnlyRemovesFinalizers() {
		m := newMutator(ctx, s, e, &Mutation{Review: review})
		root := func() any { return toJSON(review.New.Value()) }
		for _, answer := range m.ask(m.policies(e), e, root) {
			asked[answer.policy] = answer
		}
	}
	var out []Explanation
	for _, p := range s.policies {
		if p.mutate == nil || !p.asked(options) {
			continue
		}
		answer, ok := asked[p]
		if !ok {
			out = append(out, p.unasked(s, e, QuestionMutate))
			continue
		}
		one := p.explain(s, e, QuestionMutate, &answer.found)
		for _, member := range answer.members {
			for _, op := range member.ops {
				one.Changes = append(one.Changes, op.Operation())
			}
		}
		out = append(out, one)
	}
	return out
}

// explain reads what became of a question that was put to the policy.
func (p *compiledPolicy) explain(s *Snapshot, e *evaluation, q Question, found *Decision) Explanation {
	one := Explanation{Policy: p.info(), Question: q, Answer: AnswerAsked, Decision: *found}
	findings := slices.Concat(found.Denials, found.Warnings, found.Audits)
	switch {
	case found.Policies > 0:
		entries := []string{definition.EntryDeny, definition.EntryWarn}
		if q == QuestionMutate {
			entries = []string{definition.EntryPatch, definition.EntryDefaults}
		}
		one.Rules = p.outcomesOf(e.covered[p], entries...)
	case len(found.Undecided) > 0:
		one.Answer, one.Reason = AnswerCannotBeAsked, found.Undecided[0].Reason
	case len(findings) > 0:
		one.Answer, one.Reason = AnswerCannotBeAsked, findings[0].Words
	default:
		return p.unasked(s, e, q)
	}
	return one
}
