package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// TestObjectsAreDecodedForPoliciesOnly: the whole cost of a review that concerns no
// policy would else be that of its objects.
func TestObjectsAreDecodedForPoliciesOnly(t *testing.T) {
	body := []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"0001","operation":"CREATE","name":"web",
		"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"object":{"metadata":{}},"oldObject":{"metadata":{}}}}`)
	for rego, asked := range map[string]bool{
		"# METADATA\n# custom:\n#   match:\n#     kinds: [{group: \"\", kind: Service}]\npackage p\ndeny contains \"x\"\npatch contains {\"op\": \"add\", \"path\": \"/x\", \"value\": 1}": false,
		"package p\ndeny contains \"x\" if input.request.object": true,
	} {
		review, err := admission.DecodeReview(body)
		require.NoError(t, err)
		set, err := policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"p.rego": rego}})
		require.NoError(t, err)
		snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
		require.Equal(t, asked, !snapshot.Validate(t.Context(), review, engine.Options{}).Allowed())
		snapshot.Mutate(t.Context(), review, engine.Options{})
		require.Equal(t, asked, review.New.IsDecoded())
		require.Equal(t, asked, review.Old.IsDecoded())
	}
}
