package admission

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/terms"
)

func TestGeneratedNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "web-xxxxx", GeneratedName("web-"))
	require.Len(t, GeneratedName(strings.Repeat("a", 100)), 63, "as long as the names of an API server")

	const request = `{"uid":"1","operation":"CREATE","kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},"subResource":"","object":{"metadata":{"generateName":"web-"}}}`
	for name, test := range map[string]struct{ old, new, want string }{
		"a creation":         {"", "", "web-xxxxx"},
		"a test":             {`"operation":"CREATE"`, `"operation":""`, "web-xxxxx"},
		"a dry run":          {`"uid"`, `"dryRun":true,"uid"`, "web-xxxxx"},
		"a name":             {`"metadata":{`, `"metadata":{"name":"a",`, ""},
		"the request's name": {`"uid"`, `"name":"a","uid"`, "a"},
		"an update":          {"CREATE", "UPDATE", ""},
		"a subresource":      {`"subResource":""`, `"subResource":"status"`, ""},
		"no prefix":          {`{"generateName":"web-"}`, `{}`, ""},
		"no object":          {`{"metadata":{"generateName":"web-"}}`, `null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			review, err := NewTestReview([]byte(strings.Replace(request, test.old, test.new, 1)))
			require.NoError(t, err)
			named := review.WithGeneratedName()
			require.Equal(t, test.want, named.Name)
			require.Equal(t, test.want, terms.Text(named.Request(), "name"))
			if test.want != "web-xxxxx" {
				require.Same(t, review, named)
				return
			}
			object, err := named.Object()
			require.NoError(t, err)
			require.JSONEq(t, `{"metadata":{"name":"web-xxxxx","generateName":"web-"}}`, string(object))
			before, err := review.Object()
			require.NoError(t, err)
			require.JSONEq(t, `{"metadata":{"generateName":"web-"}}`, string(before), "the review is immutable")
		})
	}
}

// TestAStoredObjectHasAName: a file may contain an object whose name is to be generated.
func TestAStoredObjectHasAName(t *testing.T) {
	t.Parallel()
	pods := ServedResource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	review, err := NewStoredReview([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","namespace":"shop"}}`), pods)
	require.NoError(t, err)
	require.Equal(t, "web-xxxxx", review.Name)
	review, err = NewStoredReview([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","generateName":"web-","namespace":"shop"}}`), pods)
	require.NoError(t, err)
	require.Equal(t, "web-1", review.Name)
}
