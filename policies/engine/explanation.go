package engine

import (
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// Question selects the entry points of a policy that are evaluated for a review.
type Question string

// The questions of a review.
const (
	QuestionMutate   Question = "mutate"   // patch and defaults
	QuestionValidate Question = "validate" // deny and warn
	QuestionTemplate Question = "template" // deny and warn about a workload's Pod template
)

// Answer is the result of a question.
type Answer string

// The answers.
const (
	AnswerAsked         Answer = "asked"       // the policy was evaluated
	AnswerNotMatched    Answer = "not matched" // the policy does not match the review
	AnswerCannotBeAsked Answer = "cannot be asked"
)

// Explanation explains the evaluation of one question about a review by one policy.
type Explanation struct {
	Policy   PolicyInfo
	Question Question
	Answer   Answer
	// Condition is the part of match that is not met, or "scope", with the Reason in words. If
	// the policy cannot be evaluated, there is only a Reason.
	Condition, Reason string
	// Decision is that of the policy, as in Validate and Mutate.
	Decision Decision
	// Changes are the operations of its patch and defaults, each for the original object.
	Changes []jsonpatch.Operation
	// Rules are the outcomes of the rules of the entry points, in the order of their files, if
	// the policy was evaluated and its source was compiled by policyset.CompileForTest.
	Rules []RuleOutcome
}
