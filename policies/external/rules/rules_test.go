package rules

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const listOfNames = `{"type":"array","items":{"type":"string","pattern":"^[a-z.]+$"}}`

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		rules  Rules
		want   string // the data
		reason string // of the error
		words  string // in the message
	}{
		"a list":                {text: ` [ "b", 1.0, "<a>" ]`, want: `["b",1.0,"<a>"]`},
		"sorted keys":           {text: `{"b": 1, "a": {"d": null, "c": 12345678901234567890}}`, want: `{"a":{"c":12345678901234567890,"d":null},"b":1}`},
		"YAML":                  {text: "a:\n- x\n# y\nb: 1\n", want: `{"a":["x"],"b":1}`},
		"a byte order mark":     {text: "\uFEFF{\"a\": 1}", want: `{"a":1}`},
		"nothing":               {text: "", reason: ReasonUnreadable, words: "it is empty"},
		"white space":           {text: " \n", reason: ReasonUnreadable, words: "it is empty"},
		"null":                  {text: "null", reason: ReasonUnreadable, words: "neither an object nor a list"},
		"an HTML page":          {text: "<!DOCTYPE html><html><body>Sign in: now</body></html>", reason: ReasonUnreadable},
		"a word":                {text: "moved", reason: ReasonUnreadable, words: "neither an object nor a list"},
		"half a file":           {text: `{"a": [1, 2`, reason: ReasonUnreadable, words: "the JSON text is cut off"},
		"half a list":           {text: "[\n{\"a\": 1},\n{\"b\": ", reason: ReasonUnreadable, words: "the JSON text is cut off"},
		"half a string":         {text: "{\"a\": \"b", reason: ReasonUnreadable, words: "the JSON text is cut off"},
		"a bad second document": {text: "a: 1\n---\nb: [", reason: ReasonUnreadable, words: "several YAML documents"},
		"two values":            {text: `{"a":1}{"b":2}`, reason: ReasonUnreadable},
		"two documents":         {text: "a: 1\n---\nb: 2\n", reason: ReasonUnreadable, words: "several YAML documents"},
		"duplicate keys":        {text: `{"a": 1, "a": 2}`, reason: ReasonUnreadable, words: "duplicate"},
		"duplicate keys, below": {text: `{"x": {"a": 1, "a": 2}}`, reason: ReasonUnreadable, words: "duplicate"},
		"duplicate keys, YAML":  {text: "a: 1\na: 2\n", reason: ReasonUnreadable, words: "already set"},
		"not UTF-8":             {text: "[\"\xff\"]", reason: ReasonUnreadable, words: "not UTF-8"},
		"an empty list":         {text: "[]", rules: Rules{MinEntries: 1}, reason: ReasonTooFewEntries, words: "has 0 entries, fewer than 1"},
		"an empty object":       {text: "{}", rules: Rules{MinEntries: 1}, reason: ReasonTooFewEntries},
		"empty, and allowed":    {text: "[]", want: "[]"},
		"fewer than before":     {text: `["a"]`, rules: Rules{MinEntries: 2}, reason: ReasonTooFewEntries},
		"too long":              {text: `["` + strings.Repeat("a", 100) + `"]`, rules: Rules{MaxBytes: 50}, reason: ReasonTooLarge, words: "more than 50"},
		"long once unfolded":    {text: "- &a [xxxxxxxxxxxxxxxxxxxx]\n- [*a, *a, *a, *a, *a, *a, *a, *a]", rules: Rules{MaxBytes: 100}, reason: ReasonTooLarge},
		"as in the schema":      {text: `["a.b"]`, rules: Rules{Schema: json.RawMessage(listOfNames)}, want: `["a.b"]`},
		"another type":          {text: `{"a": 1}`, rules: Rules{Schema: json.RawMessage(listOfNames)}, reason: ReasonSchemaMismatch, words: "data: "},
		"a wrong member":        {text: `["a", 7]`, rules: Rules{Schema: json.RawMessage(listOfNames)}, reason: ReasonSchemaMismatch, words: "data[1]: "},
		"many wrong members":    {text: `[1,2,3,4,5]`, rules: Rules{Schema: json.RawMessage(listOfNames)}, reason: ReasonSchemaMismatch, words: "and 2 more"},
		"a missing member":      {text: `{"a": 1}`, rules: Rules{Schema: json.RawMessage(`{"type":"object","required":["b"]}`)}, reason: ReasonSchemaMismatch, words: "b"},
	} {
		if c.rules.MaxBytes == 0 {
			c.rules.MaxBytes = 1 << 20
		}
		got, _, err := c.rules.Check("list.json", c.text)
		if c.reason == "" {
			require.NoError(t, err, name)
			require.Equal(t, c.want, got, name)
			continue
		}
		refused, ok := errors.AsType[*Error](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, c.reason, refused.Reason, name)
		require.Contains(t, refused.Message, c.words, name)
		require.Contains(t, refused.Message, "list.json", name)
		require.Less(t, len(refused.Message), 1024, name)
	}
}

// TestMismatchesShowNoValues: messages go to status and Events, and data may be confidential.
func TestMismatchesShowNoValues(t *testing.T) {
	t.Parallel()
	_, _, err := Rules{MaxBytes: 1 << 20, Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"enum":["x"]},"c":{"type":"string","pattern":"^x$"}}}`)}.
		Check("d", `{"a": "hunter2", "b": "hunter2", "c": "hunter2"}`)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestSchemasThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for schema, words := range map[string]string{
		`{"type":"array"}`: "",
		`{"type":"object","properties":{"default":{"type":"string"},"$ref":{"type":"string"}},"additionalProperties":false}`: "",
		`{"type":"strng"}`:                      `spec.schema.type: Invalid value "strng"`,
		`{"typ":"object"}`:                      `unknown field "typ"`,
		`{"const": 1}`:                          `unknown field "const"`,
		`{"$ref":"https://example.com/schema"}`: "$ref is not available",
		`{"type":"object","properties":{"a":{"$ref":"#/definitions/a"}}}`: "spec.schema.properties.a: $ref is not available",
		`{"type":"array","items":{"type":"string","pattern":"("}}`:        "spec.schema.items.pattern",
		`{"additionalProperties":{"patternProperties":{"a":{}}}}`:         "patternProperties is not available",
		`{"anyOf":[{"default":1}]}`:                                       "spec.schema.anyOf[0]: default is not available",
		`{"not":{"x-kubernetes-validations":[{"rule":"true"}]}}`:          "x-kubernetes-validations is not available",
		`{"items":[{"type":"string"}]}`:                                   "items with several schemas is not available",
	} {
		_, err := newValidator(json.RawMessage(schema))
		if words == "" {
			require.NoError(t, err, schema)
			continue
		}
		require.ErrorContains(t, err, words, schema)
		refused, ok := errors.AsType[*Error](err)
		require.True(t, ok)
		require.Equal(t, ReasonSchemaInvalid, refused.Reason)
	}
}
