package engine

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// TestInputFieldsAreAllThatPoliciesFind: a field that is not listed counts as misspelled.
func TestInputFieldsAreAllThatPoliciesFind(t *testing.T) {
	set, err := policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"p.rego": "package p\ndeny contains \"x\""}})
	require.NoError(t, err)
	review, err := admission.NewReview([]byte(`{"uid":"1","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},
		"resource":{"group":"","version":"v1","resource":"pods"},"namespace":"n","object":{"apiVersion":"v1","kind":"Pod"}}`))
	require.NoError(t, err)
	e := newEvaluation(review, Options{Namespace: readNamespace(t, `{"kind":"Namespace"}`), Facts: ast.ObjectTerm()})
	var fields []string
	e.input(sourceOf(set)).Value.(ast.Object).Foreach(func(key, _ *ast.Term) { fields = append(fields, string(key.Value.(ast.String))) })
	require.Len(t, fields, 8)
	require.Subset(t, InputFields, fields)
}
