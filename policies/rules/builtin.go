package rules

import (
	"context"
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/lintel-policy/lintel/policies/engine"
)

// BuiltIn is a product that is decided by rules which ship with Lintel.
type BuiltIn struct {
	// Name is the last segment of its paths, and Entry its name in the configurations.
	Name, Entry string
	// Rules are what it is called for.
	Rules []admissionregistrationv1.RuleWithOperations
	// MatchConditions narrow Rules.
	MatchConditions []admissionregistrationv1.MatchCondition
	// Snapshot holds the rules.
	Snapshot *engine.Snapshot
	// Facts gives what the rules read as input.facts: anything with a JSON object.
	// nil where they read none.
	Facts func(ctx context.Context, review *engine.Review) (any, error)
	// Namespaces finds the Namespace that the rules read as input.namespace. nil where
	// they do not.
	Namespaces NamespaceGetter
}

// Validating is the entry that admits or denies.
func (b BuiltIn) Validating() Product {
	return Product{Name: b.Name, Entry: b.Entry, Rules: b.Rules, MatchConditions: b.MatchConditions, Validate: func(ctx context.Context, review *engine.Review) (*Answer, error) {
		options, err := b.options(ctx, review)
		if err != nil {
			return nil, err
		}
		decision := b.Snapshot.Validate(ctx, review, options)
		return answer(decision, nil)
	}}
}

// Mutating is the entry that fills in defaults.
func (b BuiltIn) Mutating() Product {
	return Product{Name: b.Name, Entry: b.Entry, Rules: b.Rules, MatchConditions: b.MatchConditions, Mutate: func(ctx context.Context, review *engine.Review) (*Answer, error) {
		options, err := b.options(ctx, review)
		if err != nil {
			return nil, err
		}
		mutation := b.Snapshot.Mutate(ctx, review, options)
		return answer(&mutation.Decision, mutation.Patch)
	}}
}

func (b BuiltIn) options(ctx context.Context, review *engine.Review) (options engine.Options, err error) {
	if b.Namespaces != nil && review.Namespace != "" {
		if options.Namespace, err = b.Namespaces.Namespace(ctx, review.Namespace); err != nil {
			return options, err
		}
	}
	if b.Facts == nil {
		return options, nil
	}
	facts, err := b.Facts(ctx, review)
	if err != nil {
		return options, err
	}
	if options.Facts, err = json.Marshal(facts); err != nil {
		return options, fmt.Errorf("writing the facts for the rules: %w", err)
	}
	return options, nil
}

// answer has the words alone: which built-in rule denies is no concern of the user.
func answer(decision *engine.Decision, patch []engine.Operation) (*Answer, error) {
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
