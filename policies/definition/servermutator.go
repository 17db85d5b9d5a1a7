package definition

import (
	"context"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/lintel-policy/lintel/policies/admission"
)

// CustomSchemas returns the schema of a version of a custom resource: nil if it is not available.
type CustomSchemas func(kind admission.GroupVersionKind) (*structuralschema.Structural, error)

// ServerMutator is a policy by which the API server itself changes objects, before it calls webhooks.
type ServerMutator interface {
	// Invocations returns the invocations for a selected request, in their order. The findings are
	// about bindings that cannot be invoked.
	Invocations(request *CheckRequest) ([]Invocation, []CheckFinding)
}

// Invocation is a mutator with one of its bindings and params.
type Invocation interface {
	// Key identifies the invocation in all passes of a request.
	Key() string
	// IsReinvocable reports whether the API server invokes it again after later changes.
	IsReinvocable() bool
	// Invoke changes the object of a request. With onlyConditions, it evaluates the conditions
	// alone.
	Invoke(ctx context.Context, request *CheckRequest, onlyConditions bool) InvocationResult
}

// InvocationResult is the result of an invocation.
type InvocationResult struct {
	CheckResult
	// Skipped reports that a condition is false or failed.
	Skipped bool
	// Applied reports that a mutation was applied, even if it changed nothing.
	Applied bool
	// Aborts reports that the API server ends the request because of a finding.
	Aborts bool
	// Object is the changed object in the types of encoding/json with UseNumber: nil if it is
	// unchanged.
	Object map[string]any
}
