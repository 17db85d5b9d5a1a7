package terms

import (
	"math"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

// skip reads a text as SkipObject does.
func skip(text string, values, depth int) (string, error) {
	d := NewDecoder([]byte(text), values)
	defer d.Release()
	skipped, err := d.SkipObject(depth)
	return string(skipped), err
}

func TestSkippedObjectsAreBoundedAsDecodedOnesAre(t *testing.T) {
	nested := strings.Repeat("[", MaxNesting) + strings.Repeat("]", MaxNesting)
	for name, c := range map[string]struct {
		text   string
		values int
		depth  int
		want   error
	}{
		"ordinary":             {`{"a": "quoted \" and \\", "b": [true, null, -1.5e3]}`, 6, 0, nil},
		"one value too many":   {`{"a": "quoted \" and \\", "b": [true, null, -1.5e3]}`, 5, 0, ErrValues},
		"brackets in a string": {`{"a": "\"[[[[", "b": 1}`, math.MaxInt, MaxNesting - 1, nil},
		"as deep as may be":    {nested, math.MaxInt, 0, nil},
		"deeper":               {nested, math.MaxInt, 1, errNesting},
		"lists one by one":     {`[` + strings.TrimSuffix(strings.Repeat("[],", 3), ",") + `]`, math.MaxInt, MaxNesting - 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			skipped, err := skip(c.text, c.values, c.depth)
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				require.Equal(t, c.text, skipped)
			}
		})
	}
}

func TestNumbersAreBounded(t *testing.T) {
	for text, fine := range map[string]bool{
		"1": true, "-1.5e10": true, "1e" + strings.Repeat("9", 30): false, "1E-99999": false, "1e99999": false,
		strings.Repeat("1", MaxNumberDigits): true, strings.Repeat("1", MaxNumberDigits+1): false,
	} {
		require.Equal(t, fine, CheckNumber(text) == nil, text)
		_, err := skip(`{"a": `+text+`}`, math.MaxInt, 0)
		require.Equal(t, fine, err == nil, text)
	}
}

// alikeNames are terms with one hash.
func alikeNames(n int) []*ast.Term {
	terms := make([]*ast.Term, n)
	for i := range terms {
		terms[i] = ast.StringTerm("same")
	}
	return terms
}

func TestNamesWithTheSameHashAreBounded(t *testing.T) {
	require.False(t, Alike(alikeNames(MaxAlike)))
	require.True(t, Alike(alikeNames(MaxAlike+1)))
	apart := alikeNames(MaxAlike)
	for i := range 100 {
		apart = append(apart, ast.StringTerm(strings.Repeat("x", i)))
	}
	require.False(t, Alike(apart))
}

func TestATruncatedTextIsNoEnd(t *testing.T) {
	for _, text := range []string{"", `{"a"`, `{"a": `, `[1`, `"a`} {
		_, err := Decode([]byte(text))
		require.ErrorContains(t, err, "unexpected EOF", text)
	}
	_, err := Decode([]byte(`{} {}`))
	require.ErrorContains(t, err, "more than one JSON value")
	_, err = DecodeUpTo([]byte(`[1, 2]`), 2)
	require.ErrorIs(t, err, ErrValues)
}
