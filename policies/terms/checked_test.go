package terms

import (
	"math"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

// requireDecodedAlike compares the decoder of checked texts with the strict one, twice: fields of
// managers come from the cache the second time.
func requireDecodedAlike(t *testing.T, text []byte) {
	t.Helper()
	d := NewDecoder(text, math.MaxInt)
	object, err := d.SkipObject(0)
	d.Release()
	if err != nil {
		return // it is not decoded
	}
	want, err := Decode(object)
	require.NoError(t, err)
	for range 2 {
		have, err := DecodeChecked(object)
		require.NoError(t, err)
		require.Zero(t, want.Value.Compare(have.Value), "%s", text)
		require.Equal(t, want.String(), have.String())
		require.Equal(t, want.Hash(), have.Hash())
	}
}

var checkedTexts = []string{
	`{}`, `{"a":{}}`, ` { "a" : [ 1 , -1.5e3 , [ ] , { } , null , true , false ] , "b" : "" } `,
	`{"metadata":{"name":"web","labels":{"a\"b\\":"\u00e4\ud83d\ude00","\u006eame":"\n"}}}`,
	`{"managedFields":[{"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:a\"}":{}}}}},{"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:a\"}":{}}}}},{"fieldsV1":[1]},{"fieldsV1":{}},{"fieldsV1":null},{"fieldsV1":{"a":"}\\"}}]}`,
	`{"long":"` + strings.Repeat("x", 3*copiedBytes) + `","short":"y","array":["` + strings.Repeat("z", copiedBytes) + `","a"]}`,
	`{"deep":` + strings.Repeat("[", MaxNesting-1) + strings.Repeat("]", MaxNesting-1) + `}`,
	`{"n":[0,-0,1,512,513,1.0,1e5,` + strings.Repeat("9", MaxNumberDigits) + `]}`,
	`[1,2]`, `"text"`, `1`,
}

func TestCheckedTextsAreDecodedAlike(t *testing.T) {
	t.Parallel()
	for _, text := range checkedTexts {
		requireDecodedAlike(t, []byte(text))
	}
}

func FuzzDecodeChecked(f *testing.F) {
	for _, text := range checkedTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(requireDecodedAlike)
}

// TestUncheckedTextsAreErrors: no text makes the decoder of checked texts panic or run on.
func TestUncheckedTextsAreErrors(t *testing.T) {
	t.Parallel()
	for _, text := range checkedTexts {
		for end := range min(len(text), 300) {
			if _, err := DecodeChecked([]byte(text[:end])); strings.TrimSpace(text[:end]) != strings.TrimSpace(text) && strings.TrimSpace(text)[0] != '1' {
				require.Error(t, err, "%s", text[:end])
			}
		}
	}
	_, err := DecodeChecked([]byte(`{} {}`))
	require.ErrorContains(t, err, "more than one JSON value")
}

// TestFieldsAreSharedWithinBounds: equal fields of managers are one term, and the cache forgets.
func TestFieldsAreSharedWithinBounds(t *testing.T) {
	fields := func(text string) *ast.Term {
		term, err := DecodeChecked([]byte(`{"fieldsV1":` + text + `}`))
		require.NoError(t, err)
		return term.Value.(ast.Object).Get(ast.StringTerm("fieldsV1"))
	}
	require.Same(t, fields(`{"f:a":{}}`), fields(`{"f:a":{}}`))
	large := `{"f:` + strings.Repeat("a", maxCachedFields) + `":{}}`
	require.NotSame(t, fields(large), fields(large))
	for i := range 3 * maxAllCachedFields / maxCachedFields {
		fields(`{"f:` + strings.Repeat("b", maxCachedFields/2+i) + `":{}}`)
	}
	cachedFields.mu.RLock()
	defer cachedFields.mu.RUnlock()
	require.LessOrEqual(t, cachedFields.bytes, maxAllCachedFields)
	total := 0
	for text := range cachedFields.byText {
		total += len(text)
	}
	require.Equal(t, cachedFields.bytes, total)
}
