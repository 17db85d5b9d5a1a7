package jsonpatch

import (
	"encoding/json"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/stretchr/testify/require"
)

func TestReadStepRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`"add"`:                                 "an operation is an object {op, path, value}",
		`{"op":"add","path":"/a","vlaue":1}`:    `an operation has no field "vlaue"`,
		`{"op":"add","path":"/a"}`:              "add /a lacks a value",
		`{"op":"test","path":"/a"}`:             "test /a lacks a value",
		`{"op":"add","path":"a/b","value":1}`:   `path is "a/b", not a JSON pointer`,
		`{"op":"add","path":"","value":1}`:      `path is "", not a JSON pointer`,
		`{"op":"move","path":"/a","from":"b"}`:  `from is "b", not a JSON pointer`,
		`{"op":"merge","path":"/a","value":{}}`: `op is "merge", not one of`,
	} {
		value, err := decodeAny([]byte(text))
		require.NoError(t, err)
		_, err = ReadStep(value)
		require.ErrorContains(t, err, want, text)
	}
}

func TestOperationsAreThoseOfTheirSteps(t *testing.T) {
	for _, text := range []string{
		`{"op":"add","path":"/a~1b/c~0d","value":null}`, `{"op":"remove","path":"/a"}`, `{"op":"test","path":"/a","value":[1]}`,
		`{"op":"move","path":"/a","from":"/b"}`, `{"op":"copy","path":"/a/-","from":"/b/0"}`,
	} {
		value, err := decodeAny([]byte(text))
		require.NoError(t, err)
		step, err := ReadStep(value)
		require.NoError(t, err)
		written, err := json.Marshal(step.Operation())
		require.NoError(t, err)
		require.JSONEq(t, text, string(written))
	}
}

func TestTestsCompare(t *testing.T) {
	doc := &Document{Root: map[string]any{"a": map[string]any{"b": json.Number("1")}}}
	require.NoError(t, doc.Apply(Step{Op: "test", Path: []string{"a", "b"}, Value: json.Number("1")}))
	require.ErrorContains(t, doc.Apply(Step{Op: "test", Path: []string{"a", "b"}, Value: json.Number("2")}), "test /a/b: the value is another")
	require.Error(t, doc.Apply(Step{Op: "test", Path: []string{"a", "c"}, Value: nil}), "it is absent")
}

// TestTestsCompareAsOPA: by the value, as json.patch of OPA does.
func TestTestsCompareAsOPA(t *testing.T) {
	query, err := rego.New(rego.Query(`json.patch({"a": input[0]}, [{"op": "test", "path": "/a", "value": input[1]}])`)).PrepareForEval(t.Context())
	require.NoError(t, err)
	values := []string{
		"0", "0.0", "-0", "0e5", "1", "1.0", "1e0", "10e-1", "0.1", "100", "1e2", "1E+2", "-1", "-1.0",
		"9007199254740993", "9007199254740993.0", "9007199254740992", `"1"`, `"1.0"`, `""`, "null", "true", "false",
		"[]", "{}", "[1, 2]", "[1.0, 2]", "[1, 2, 3]", `{"x": [{"y": 1}]}`, `{"x": [{"y": 1.0}]}`, `{"x": [{"y": 2}]}`, `{"x": null}`, `{"z": null}`,
	}
	for _, left := range values {
		for _, right := range values {
			a, err := decodeAny([]byte(left))
			require.NoError(t, err)
			b, err := decodeAny([]byte(right))
			require.NoError(t, err)
			results, err := query.Eval(t.Context(), rego.EvalInput([]any{a, b}))
			require.NoError(t, err)
			doc := &Document{Root: map[string]any{"a": a}}
			err = doc.Apply(Step{Op: "test", Path: []string{"a"}, Value: b})
			require.Equal(t, len(results) == 1, err == nil, "%s and %s", left, right)
		}
	}
}

func TestParentsAreMade(t *testing.T) {
	doc := &Document{Root: map[string]any{"null": nil}}
	for _, path := range [][]string{{"map", "x"}, {"list", "-"}, {"null", "y", "-"}} {
		require.NoError(t, doc.Apply(Step{Op: "add", Path: path, Value: "v"}))
	}
	require.Equal(t, map[string]any{
		"map": map[string]any{"x": "v"}, "list": []any{"v"}, "null": map[string]any{"y": []any{"v"}},
	}, doc.Root)
}

func TestDefaultsLeaveWhatIsThere(t *testing.T) {
	object := map[string]any{"metadata": map[string]any{"labels": "text"}, "spec": map[string]any{"set": "own", "list": []any{}}}
	steps, err := Defaults(object, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"}},
		"spec":     map[string]any{"set": "default", "unset": "default", "list": map[string]any{"x": "y"}, "nothing": nil},
	})
	require.NoError(t, err)
	require.Equal(t, []Step{
		{Op: "add", Path: []string{"metadata", "annotations", "c"}, Value: "d"},
		{Op: "add", Path: []string{"spec", "unset"}, Value: "default"},
	}, steps)
}
