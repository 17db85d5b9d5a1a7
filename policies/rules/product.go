package rules

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/lintel-policy/lintel/policies/engine"
)

// Product is one webhook entry of a system, beside those of user policies. Exactly
// one of Validate and Mutate is set, and decides which configuration it is in.
type Product struct {
	// Name is the last segment of the path: /validate/<name> or /mutate/<name>.
	Name string
	// Entry is the name in the configuration, such as policysource.policy.lintel.dev.
	Entry string
	// FailurePolicy is Fail unless set.
	FailurePolicy engine.FailurePolicy
	// Rules are what the entry is called for. An entry without rules stays
	// registered: entries are never added or dropped while the program runs.
	Rules []admissionregistrationv1.RuleWithOperations
	// MatchConditions narrow Rules, so that objects of foreign kinds call out only
	// where the product has an interest in them.
	MatchConditions []admissionregistrationv1.MatchCondition

	Validate Judge
	Mutate   Judge
}

// Judge answers one review of a product. An error means that no answer was found:
// the failure policy decides.
type Judge func(ctx context.Context, review *engine.Review) (*Answer, error)

// Answer is what a product says of a review, in the words that users see.
type Answer struct {
	// Denials deny the object, if there are any.
	Denials []string
	// Warnings are shown, and admit. The handler cuts them to the limits of engine.
	Warnings []string
	// Patch is applied to the object. Only Mutate may return one.
	Patch []engine.Operation
}

// NamespaceGetter finds the Namespace of an object under review.
type NamespaceGetter interface {
	// Namespace is the Namespace object in JSON.
	Namespace(ctx context.Context, name string) ([]byte, error)
}
