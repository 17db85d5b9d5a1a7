package terms

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

func TestFieldsOfObjects(t *testing.T) {
	object := ast.MustParseTerm(`{"name": "web", "owner": "ann", "n": 1}`).Value.(ast.Object)
	require.Equal(t, "web", Text(object, "name"), "a name that is interned")
	require.Equal(t, "ann", Text(object, "owner"), "and one that is not")
	require.Empty(t, Text(object, "n"), "no string")
	require.Nil(t, Lookup(object, "absent"))
	require.Nil(t, Lookup(nil, "name"))
}

func TestTextsAreTheStringsOfAList(t *testing.T) {
	require.Equal(t, []string{"a", "b"}, StringList(ast.MustParseTerm(`["a", 1, "b"]`).Value))
	require.Nil(t, StringList(ast.String("a")))
	require.Nil(t, StringList(nil))
}

func TestWithAndWithoutAField(t *testing.T) {
	object := ast.MustParseTerm(`{"a": 1, "b": 2, 3: 4}`).Value.(ast.Object)
	require.Equal(t, `{3: 4, "a": 5, "b": 2}`, With(object, "a", ast.InternedTerm(5)).String())
	require.Equal(t, `{3: 4, "b": 2}`, Without(object, "a").String())
	require.Equal(t, `{3: 4, "a": 1, "b": 2}`, object.String(), "the object itself stays")
}
