package sandbox

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"
)

// TestReplaceAnswersAsInOPA for all combinations of operands, also of the wrong type.
func TestReplaceAnswersAsInOPA(t *testing.T) {
	t.Parallel()
	operands := []*ast.Term{ast.InternedTerm(1), ast.InternedNullTerm}
	for _, text := range []string{"", "a", "aa", "aaa", "b", "ab", "abab", "ba", "é", "éa", "\xff", "a\xffa", "**", "*", "web:*", "a.b.c", "."} {
		operands = append(operands, ast.StringTerm(text))
	}
	function, _ := Function("replace")
	apply := func(call topdown.BuiltinFunc, values ...*ast.Term) (result *ast.Term, err error) {
		err = call(topdown.BuiltinContext{Context: t.Context()}, values, func(term *ast.Term) error {
			result = term
			return nil
		})
		return result, err
	}
	own := topdown.GetBuiltin("replace")
	for _, text := range operands {
		for _, old := range operands {
			for _, replacement := range operands {
				want, wantErr := apply(own, text, old, replacement)
				have, err := apply(function.Call, text, old, replacement)
				require.Equal(t, wantErr == nil, err == nil)
				if wantErr != nil {
					require.EqualError(t, err, wantErr.Error())
					continue
				}
				require.Equal(t, want.Value, have.Value, "replace(%v, %v, %v)", text, old, replacement)
			}
		}
	}
}
