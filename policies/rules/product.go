package rules

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// Product is one webhook entry of a system; those of user policies are separate. Exactly one of
// Validate and Mutate is set, and decides which configuration it is in.
type Product struct {
	// Name is the last segment of the path: /validate/<name> or /mutate/<name>.
	Name string
	// Entry is the name in the configuration, such as policysource.policy.lintel.dev.
	Entry string
	// FailurePolicy is Fail unless set.
	FailurePolicy definition.FailurePolicy
	// TimeoutSeconds is how long the API server waits for an answer; as for user policies
	// if 0.
	TimeoutSeconds int32
	// Rules are what the entry is called for. An entry without rules stays
	// registered: entries are never added or dropped while the program runs.
	Rules []admissionregistrationv1.RuleWithOperations
	// MatchConditions narrow Rules, so that objects of foreign kinds call out only
	// where the product has an interest in them.
	MatchConditions []admissionregistrationv1.MatchCondition
	// ObjectSelector narrows Rules by the labels of objects: all objects if it is nil.
	ObjectSelector *metav1.LabelSelector
	// Slow says that a review may take long for what its namespace has: such reviews leave
	// room for those of other namespaces.
	Slow bool
	// NotOfPlatform leaves out the namespaces that user policies leave out, too.
	NotOfPlatform bool

	Validate Evaluator
	Mutate   Evaluator
}

// Evaluator answers one review of a product. An error means that there is no answer: the failure
// policy decides.
type Evaluator func(ctx context.Context, review *admission.Review) (*Answer, error)

// Answer is what a product says of a review, in the words that users see.
type Answer struct {
	// Denials deny the object, if there are any.
	Denials []string
	// Warnings are shown, and admit. The handler cuts them to the limits of engine.
	Warnings []string
	// Patch is applied to the object. Only Mutate may return one.
	Patch []jsonpatch.Operation
}

// NamespaceGetter finds the Namespace of an object under review.
type NamespaceGetter interface {
	// Namespace is the Namespace object in JSON.
	Namespace(ctx context.Context, name string) ([]byte, error)
}

// InNamespaces excludes objects in other namespaces, which another installation may serve;
// without namespaces, nothing is excluded. Format is a CEL expression with a verb for their
// list.
func InNamespaces(namespaces []string, format string) []admissionregistrationv1.MatchCondition {
	if len(namespaces) == 0 {
		return nil
	}
	list := "['" + strings.Join(namespaces, "', '") + "']"
	return []admissionregistrationv1.MatchCondition{{Name: "in-a-namespace-that-is-served", Expression: fmt.Sprintf(format, list)}}
}

// OfTheirs is the format of InNamespaces for objects that have a namespace.
const OfTheirs = "request.namespace in %s"

// Called are the rules of an entry that is called for operations on resources.
func Called(scope admissionregistrationv1.ScopeType, group, version string, resources []string, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources, Scope: &scope},
	}}
}

// CalledForObjects are the rules of an entry that is called for the stored objects of
// namespaced resources.
func CalledForObjects(group, version string, resources ...string) []admissionregistrationv1.RuleWithOperations {
	return Called(admissionregistrationv1.NamespacedScope, group, version, resources, admissionregistrationv1.Create, admissionregistrationv1.Update)
}

// BuiltIn is a product that is decided by rules which ship with Lintel.
type BuiltIn struct {
	// Product has neither Validate nor Mutate.
	Product
	// Snapshot holds the rules.
	Snapshot *engine.Snapshot
	// Facts gives what the rules read as input.facts: anything with a JSON object.
	// nil where they read none. The facts may be an *Assumption.
	Facts func(ctx context.Context, review *admission.Review) (any, error)
	// Namespaces finds the Namespace that the rules read as input.namespace. nil where
	// they do not.
	Namespaces NamespaceGetter
}

// Assumption is facts of which one takes long to find out, such as a question to the API server.
// The rules are evaluated as if it had its usual value, at the same time.
type Assumption struct {
	// Facts are those with the assumed value.
	Facts any
	// Confirm waits for the value. It returns nil if it is as assumed, and otherwise the facts with
	// which the rules are evaluated again. It is called once, and an error is that of the facts.
	Confirm func() (any, error)
}

// Validating is the entry that admits or denies.
func (b BuiltIn) Validating() Product {
	b.Validate = func(ctx context.Context, review *admission.Review) (*Answer, error) {
		options, confirm, err := b.options(ctx, review)
		if err != nil {
			return nil, err
		}
		decision := b.Snapshot.Validate(ctx, review, options)
		if facts, err := confirm(); err != nil {
			return nil, err
		} else if facts != nil {
			if options.Facts, err = engine.ReadFacts(facts); err != nil {
				return nil, err
			}
			decision = b.Snapshot.Validate(ctx, review, options)
		}
		return newAnswer(decision, nil)
	}
	return b.Product
}

// Mutating is the entry that fills in defaults.
func (b BuiltIn) Mutating() Product {
	b.Mutate = func(ctx context.Context, review *admission.Review) (*Answer, error) {
		options, confirm, err := b.options(ctx, review)
		if err != nil {
			return nil, err
		}
		if facts, err := confirm(); err != nil {
			return nil, err
		} else if facts != nil {
			if options.Facts, err = engine.ReadFacts(facts); err != nil {
				return nil, err
			}
		}
		mutation := b.Snapshot.Mutate(ctx, review, options)
		return newAnswer(&mutation.Decision, mutation.Patch)
	}
	return b.Product
}

// options are those of an evaluation, and what confirms their facts, which is never nil.
func (b BuiltIn) options(ctx context.Context, review *admission.Review) (options engine.Options, confirm func() (any, error), err error) {
	confirm = func() (any, error) { return nil, nil }
	if b.Namespaces != nil && review.Namespace != "" {
		text, err := b.Namespaces.Namespace(ctx, review.Namespace)
		if err != nil {
			return options, nil, err
		}
		if options.Namespace, err = engine.ReadNamespace(text); err != nil {
			return options, nil, err
		}
	}
	if b.Facts == nil {
		return options, confirm, nil
	}
	facts, err := b.Facts(ctx, review)
	if err != nil {
		return options, nil, err
	}
	if assumed, ok := facts.(*Assumption); ok {
		facts, confirm = assumed.Facts, assumed.Confirm
	}
	if options.Facts, err = engine.ReadFacts(facts); err != nil {
		_, unconfirmed := confirm()
		return options, nil, errors.Join(err, unconfirmed)
	}
	return options, confirm, nil
}

// newAnswer contains only the messages: the name of the built-in rule does not help the user.
func newAnswer(decision *engine.Decision, patch []jsonpatch.Operation) (*Answer, error) {
	denials, err := decision.Verdict()
	if err != nil {
		return nil, err
	}
	a := &Answer{Denials: denials, Patch: patch}
	for _, warning := range decision.Warnings {
		a.Warnings = append(a.Warnings, warning.Words)
	}
	return a, nil
}
