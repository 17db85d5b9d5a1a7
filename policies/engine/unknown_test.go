package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

// maskedSecret is the creation of a Secret whose value is masked.
func maskedSecret(t *testing.T) *admission.Review {
	t.Helper()
	review, err := admission.NewPartialReview([]byte(`{"uid":"u","operation":"CREATE","kind":{"version":"v1","kind":"Secret"},
		"resource":{"version":"v1","resource":"secrets"},"userInfo":{"username":"jane"},"name":"s","namespace":"n",
		"object":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"password":"masked","user":"x"}}}`), []string{"/object/data/password"})
	require.NoError(t, err)
	return review
}

// TestPoliciesThatReadMaskedValuesAreUndecided, and those that read other values are not.
func TestPoliciesThatReadMaskedValuesAreUndecided(t *testing.T) {
	t.Parallel()
	const (
		head      = "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [{group: \"\", kind: Secret}]}\npackage p\n\nimport rego.v1\n\n"
		undecided = "it reads input.request.object.data.password, which is masked or not recorded"
	)
	for name, test := range map[string]struct {
		rules             string
		denials, warnings int
		undecided         bool
	}{
		"another value":        {`deny contains "d" if input.request.object.data.user == "x"`, 1, 0, false},
		"the value":            {`deny contains "d" if input.request.object.data.password == "x"`, 0, 0, true},
		"the value, negated":   {`deny contains "d" if not startswith(input.request.object.data.password, "x")`, 0, 0, true},
		"the keys":             {`deny contains key if some key, _ in input.request.object.data`, 2, 0, false},
		"one rule of two":      {"deny contains \"d\" if input.request.object.data.user == \"x\"\nwarn contains \"w\" if input.request.object.data.password == \"x\"", 0, 0, true},
		"reported":             {`deny contains {"msg": "d", "details": input.request.object.data}`, 0, 0, true},
		"the object":           {`warn contains "w" if count(json.marshal(input.request.object)) > 10`, 0, 0, true},
		"after a false guard":  {`deny contains "d" if { input.request.operation == "DELETE"; input.request.object.data.password == "x" }`, 0, 0, false},
		"after a true guard":   {`deny contains "d" if { input.request.operation == "CREATE"; input.request.object.data.password == "x" }`, 0, 0, true},
		"through a function":   {"f(object) := object.data.user\ndeny contains f(input.request.object)", 1, 0, false},
		"through a collection": {"values contains value if some value in input.request.object.data\ndeny contains \"d\" if count(values) > 5", 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision := NewSnapshot(admission.BuiltinResources(), compile(t, head+test.rules+"\n")).
				Validate(t.Context(), maskedSecret(t), Options{Offline: true})
			require.Len(t, decision.Denials, test.denials)
			require.Len(t, decision.Warnings, test.warnings)
			require.Positive(t, decision.Steps)
			if test.undecided {
				require.Equal(t, []Undecided{{Policy: "p", Reason: undecided}}, decision.Undecided)
			} else {
				require.Empty(t, decision.Undecided)
			}
		})
	}
}

// TestPatchesOfObjectsWithMaskedValuesAreUndecided: the patched object cannot be compared.
func TestPatchesOfObjectsWithMaskedValuesAreUndecided(t *testing.T) {
	t.Parallel()
	const head = "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [{group: \"\", kind: Secret}]}\npackage p\n\nimport rego.v1\n\n"
	for rules, undecided := range map[string]bool{
		`patch contains {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}} if not input.request.object.metadata.labels`: true,
		`patch contains {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}} if input.request.object.metadata.labels`:     false,
		`defaults := {"type": "Opaque"}`: true,
	} {
		mutation := NewSnapshot(admission.BuiltinResources(), compile(t, head+rules+"\n")).Mutate(t.Context(), maskedSecret(t), Options{Offline: true, Clock: time.Now})
		require.Empty(t, mutation.Denials, rules)
		require.Empty(t, mutation.Patch, rules)
		if undecided {
			require.Len(t, mutation.Undecided, 1, rules)
			require.Contains(t, mutation.Undecided[0].Reason, "input.request.object.data.password")
		} else {
			require.Empty(t, mutation.Undecided, rules)
		}
	}
}
