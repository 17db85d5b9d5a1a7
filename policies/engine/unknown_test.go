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

// TestPatchesThatReadMaskedValuesAreUndecided, and those that change other values are not.
func TestPatchesThatReadMaskedValuesAreUndecided(t *testing.T) {
	t.Parallel()
	const head = "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [{group: \"\", kind: Secret}]}\npackage p\n\nimport rego.v1\n\n"
	const once = " if not input.request.object.metadata.labels"
	for rules, want := range map[string]struct {
		undecided bool
		patch     int
	}{
		`patch contains {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}` + once:                                  {false, 1},
		`patch contains {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}} if input.request.object.metadata.labels`: {false, 0},
		`defaults := {"type": "Opaque"}`:                        {false, 1},
		`defaults := {"data": {"password": "x", "other": "y"}}`: {false, 1},
		`defaults := {"data": {"password": {"a": "b"}}}`:        {true, 0},
		`patch contains {"op": "replace", "path": "/data/user", "value": "y"} if input.request.object.data.user == "x"`:                             {false, 1},
		`patch contains {"op": "remove", "path": "/data/password"} if input.request.object.data.password`:                                           {true, 0},
		`patch contains {"op": "remove", "path": "/data/password"} if "password" in object.keys(input.request.object.data)`:                         {false, 1},
		`patch contains {"op": "replace", "path": "/data", "value": {}} if count(input.request.object.data) > 0`:                                    {false, 1},
		`patch contains {"op": "add", "path": "/data/password/x", "value": "y"}`:                                                                    {true, 0},
		`patch contains [{"op": "test", "path": "/data/password", "value": "y"}, {"op": "add", "path": "/x", "value": 1}]`:                          {true, 0},
		`patch contains [{"op": "test", "path": "/data", "value": {}}, {"op": "add", "path": "/x", "value": 1}]`:                                    {true, 0},
		`patch contains {"op": "copy", "from": "/data/password", "path": "/data/copied"}`:                                                           {true, 0},
		`patch contains {"op": "move", "from": "/data", "path": "/stringData"} if input.request.object.data`:                                        {true, 0},
		`patch contains {"op": "add", "path": "/data/copied", "value": input.request.object.data.password} if not input.request.object.data.copied`: {true, 0},
		`patch contains {"op": "add", "path": "/x", "value": input.request.object.data} if not input.request.object.x`:                              {true, 0},
	} {
		mutation := NewSnapshot(admission.BuiltinResources(), compile(t, head+rules+"\n")).Mutate(t.Context(), maskedSecret(t), Options{Offline: true, Clock: time.Now})
		require.Empty(t, mutation.Denials, rules)
		require.Len(t, mutation.Patch, want.patch, rules)
		if !want.undecided {
			require.Empty(t, mutation.Undecided, rules)
			continue
		}
		require.NotEmpty(t, mutation.Undecided, rules)
		require.Contains(t, mutation.Undecided[0].Reason, "data", rules)
	}
}

// TestMaskedValuesStayUnknownAfterAPatch: policies that read them afterwards are undecided.
func TestMaskedValuesStayUnknownAfterAPatch(t *testing.T) {
	t.Parallel()
	const rules = "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [{group: \"\", kind: Secret}]}\npackage p\n\nimport rego.v1\n\n" +
		"defaults := {\"type\": \"Opaque\"}\ndeny contains \"d\" if input.request.object.data.password == \"x\"\n"
	snapshot := NewSnapshot(admission.BuiltinResources(), compile(t, rules))
	mutation := snapshot.Mutate(t.Context(), maskedSecret(t), Options{Offline: true, Clock: time.Now})
	require.Len(t, mutation.Patch, 1)
	require.Len(t, snapshot.Validate(t.Context(), mutation.Review, Options{Offline: true}).Undecided, 1)
}
