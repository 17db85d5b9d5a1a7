package definition

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Check is a policy that is not written in Rego, and evaluates requests itself.
type Check struct {
	// Name is the name of the policy in messages.
	Name, Title string
	Location    Location
	// Match is for registration: as wide as the policy itself matches, or wider.
	Match Match
	// Enforcement is the strictest effect of the findings.
	Enforcement Enforcement
	// ReadsNamespace reports that the result depends on the Namespace object.
	ReadsNamespace bool
	// RequestReads are the references to parts of a request that a stored object does not have:
	// with any, the check is not evaluated for stored objects.
	RequestReads []Reference
	// Fingerprint is equal for checks that give the same findings.
	Fingerprint string
	// Evaluator is nil if Mutator is set.
	Evaluator Evaluator
	// Mutator is set if the policy changes objects as the API server does before it calls webhooks.
	Mutator ServerMutator
	// OnlyStored reports that requests are not evaluated, but stored objects.
	OnlyStored bool
	// NotStored is the reason why stored objects are not evaluated; nil if they are.
	NotStored *Reference
	// Selector selects the requests; nil for constraints, whose match does.
	Selector Selector
}

// Reference is a field that a policy sets, or a part of a request that it reads.
type Reference struct {
	Location Location
	Path     string
}

// Selector decides which requests a check reviews.
type Selector interface {
	// Select reports whether the check reviews a request. criterion and reason explain why it
	// does not. If only reason is set, the check cannot be evaluated for the request.
	Select(request *CheckRequest) (selected bool, criterion, reason string)
}

// Evaluator evaluates a check for requests. It is safe for concurrent use.
type Evaluator interface {
	Evaluate(ctx context.Context, request *CheckRequest) CheckResult
}

// CheckRequest is a review for the checks that evaluate it. It is used by one goroutine.
type CheckRequest struct {
	Review *admission.Review
	// Namespace is the Namespace object: nil if it is not available.
	Namespace ast.Object
	// Offline reports that the object does not come from an API server.
	Offline bool
	// Explain requests CheckResult.Outcomes.
	Explain bool
	// MaxSteps bounds the steps, in addition to the limits of the check itself, unless it is 0.
	MaxSteps int64
	// Schemas are those of custom resources; nil if none are available.
	Schemas CustomSchemas

	prepared any
}

// Prepared returns the value that prepare returned for this request first. Checks of one language
// share it.
func (r *CheckRequest) Prepared(prepare func() any) any {
	if r.prepared == nil {
		r.prepared = prepare()
	}
	return r.prepared
}

// CheckResult is the result of a check.
type CheckResult struct {
	Findings []CheckFinding
	// Undecided is the reason why the check could not be evaluated for this request.
	Undecided string
	// Steps is the work of the evaluation.
	Steps int64
	// Outcomes explain the result, in the order of the file.
	Outcomes []CheckOutcome
}

// CheckFinding is a finding of a check.
type CheckFinding struct {
	Words    string
	Location Location
	Code     int
	Details  any
	// Error reports that the check failed, as opposed to a violation. Limit is steps if it
	// exceeded its cost.
	Error bool
	Limit string
	// Effects are deny, warn and audit, once each. If empty, the policy decides.
	Effects []Enforcement
}

// CheckOutcome is the result of one expression of a check.
type CheckOutcome struct {
	// Entry is deny for validations.
	Entry    string
	Location Location
	// Violated reports that the expression denies.
	Violated bool
	// Conditions are the expression itself and, if it is false, the parts that made it false.
	Conditions []CheckCondition
}

// CheckCondition is an expression with its value.
type CheckCondition struct {
	Text     string
	Location Location
	Holds    bool
	// Values are the values of its parts, as "text = value".
	Values []string
}
