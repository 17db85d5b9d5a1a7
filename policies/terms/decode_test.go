package terms

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

// FuzzDecodeJSON compares with OPA's own way from JSON to values.
func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{`{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c"}]}}`, `[1,1.0,-0,1e5,"\u00e4\ud83d\ude00",null,true,{}]`, `{"a":{"b":[[]]}}`, `""`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		term, err := Decode(text)
		if err != nil {
			return
		}
		require.True(t, json.Valid(text))
		want, err := ast.ValueFromReader(strings.NewReader(string(text)))
		require.NoError(t, err)
		require.Zero(t, term.Value.Compare(want))
	})
}
