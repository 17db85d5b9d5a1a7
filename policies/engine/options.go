package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown/print"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/terms"
)

// Options are the inputs of an evaluation in addition to the review.
type Options struct {
	// FailurePolicy asks only the policies of sources with that failure policy, as
	// each webhook entry does; empty asks all.
	FailurePolicy definition.FailurePolicy
	// Scopes selects the scopes whose policies are evaluated; nil selects all. Patches are
	// compared with those of all broader scopes in any case.
	Scopes func(hierarchy.Key) bool
	// Namespace is the Namespace object of the review's namespace: see ReadNamespace.
	Namespace Namespace
	// Facts is an object with what the caller has found out about the object of the review
	// for built-in rules, which read it as input.facts: see ReadFacts.
	Facts *ast.Term
	// Own reports whether a review is about a write by Lintel's own controllers, of an object
	// that they control. Policies of scopes below the enterprise are not evaluated for it: they
	// would hold up what broader scopes decide. nil is for none.
	Own func(*admission.Review) bool
	// Clock is where the time comes from that policies with `clock: true` see: that at the
	// start of the evaluation. nil is the system's clock.
	Clock func() time.Time
	// Cluster holds the objects that policies read by `requires`. A policy that
	// requires a missing kind, or any kind if it is nil, cannot be evaluated.
	Cluster *clusterdata.Objects
	// Schemas are those of custom resources, for MutatingAdmissionPolicies; nil is for none.
	Schemas definition.CustomSchemas
	// Pacer lets policies of sources below the enterprise wait for others; nil is for none.
	Pacer Pacer
	// Stored reports that the review is about a stored object. Constraints can have another
	// enforcement and other excluded namespaces for these.
	Stored bool
	// Offline makes a policy that cannot be evaluated, because the caller lacks cluster objects
	// or values of the request, undecided instead of an error.
	Offline bool
	// ExceptionsAt is when PolicyExceptions must be in force; zero is the time of the Clock.
	ExceptionsAt time.Time
	// Coverage records the locations that evaluations reach, which takes time, and Print
	// receives printed values if the source was compiled for that. Both are for tests; nil
	// disables them.
	Coverage *eval.Coverage
	Print    print.Hook
}

// Pacer makes policies of sources below the enterprise wait, so that others can be evaluated.
type Pacer interface {
	// Wait is called when a policy begins, with 0, and then as eval.Limits.Pace.
	Wait(ctx context.Context, steps int64)
	// Done is called when a policy ends, with all of its steps.
	Done(steps int64)
}

// Namespace is a Namespace object as policies read it; zero is none.
type Namespace struct {
	object *admission.Object
	text   []byte // in JSON
}

// ReadNamespace reads a Namespace object in JSON. It is zero for an empty text.
func ReadNamespace(text []byte) (Namespace, error) {
	if len(text) == 0 {
		return Namespace{}, nil
	}
	term, err := terms.Decode(text)
	if err != nil {
		return Namespace{}, fmt.Errorf("the Namespace object cannot be read: %w", err)
	}
	object, ok := term.Value.(ast.Object)
	if !ok {
		return Namespace{}, fmt.Errorf("the Namespace object cannot be read: it is not an object")
	}
	return Namespace{admission.NewObject(object), text}, nil
}

// IsZero says whether there is no object.
func (n Namespace) IsZero() bool { return n.object == nil }

// ReadFacts makes Facts of anything with a JSON object.
func ReadFacts(facts any) (*ast.Term, error) {
	text, err := json.Marshal(facts)
	if err != nil {
		return nil, fmt.Errorf("writing the facts for the rules: %w", err)
	}
	term, err := terms.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("the facts cannot be read: %w", err)
	}
	return term, nil
}
