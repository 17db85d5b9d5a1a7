package admission

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/eval"
)

const maskedRequest = `{"uid":"u","operation":"CREATE","kind":{"version":"v1","kind":"Secret"},"resource":{"version":"v1","resource":"secrets"},
	"userInfo":{"username":"jane","extra":{"a":["masked"]}},"name":"s","namespace":"n",
	"object":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"a":"b"},"annotations":{"x/y":"masked"}},
	"data":{"a~b":"masked","list":[1,"masked"]},"spec":{"template":{"metadata":{"labels":{}},"spec":{"containers":[{"env":"masked"}]}}}}}`

func TestPartialReview(t *testing.T) {
	t.Parallel()
	for pointer, reference := range map[string]string{
		"/object/data":                            "input.request.object.data",
		"/object/data/a~0b":                       `input.request.object.data["a~b"]`,
		"/object/data/list/1":                     "input.request.object.data.list[1]",
		"/object/metadata/annotations/x~1y":       `input.request.object.metadata.annotations["x/y"]`,
		"/userInfo/extra/a/0":                     "input.request.userInfo.extra.a[0]",
		"/object/spec/template/spec/containers":   "input.request.object.spec.template.spec.containers",
		"/object/spec/template/spec/containers/0": "input.request.object.spec.template.spec.containers[0]",
	} {
		review, err := NewPartialReview([]byte(maskedRequest), []string{pointer})
		require.NoError(t, err, pointer)
		unknown := eval.UnknownIn(review.Request())
		require.NotNil(t, unknown, pointer)
		require.Equal(t, reference, unknown.Reference)
		require.Equal(t, "s", review.DisplayName())
	}
	review, err := NewPartialReview([]byte(maskedRequest), []string{"/object/data", "/object/data/a~0b"})
	require.NoError(t, err)
	require.Equal(t, "input.request.object.data", eval.UnknownIn(review.Request()).Reference)
	review, err = NewPartialReview([]byte(maskedRequest), nil)
	require.NoError(t, err)
	require.Nil(t, eval.UnknownIn(review.Request()))
}

// TestPartialReviewsThatDecideNothing: the engine itself reads these values, to select policies.
func TestPartialReviewsThatDecideNothing(t *testing.T) {
	t.Parallel()
	for _, pointer := range []string{
		"/object", "/object/metadata", "/object/metadata/labels/a", "/object/metadata/name", "/object/kind", "/userInfo", "/userInfo/username",
		"/name", "/operation", "/object/spec", "/object/spec/template", "/object/spec/template/spec", "/object/spec/template/metadata/labels",
		"/object/spec/jobTemplate", "/object/spec/jobTemplate/spec/template", "/object/spec/request",
	} {
		_, err := NewPartialReview([]byte(maskedRequest), []string{pointer})
		var unknown *eval.UnknownError
		require.ErrorAs(t, err, &unknown, pointer)
	}
	for _, pointer := range []string{"", "object", "/object/data/c/d", "/object/data/list/2", "/object/data/list/x", "/object/data/a~0b/c"} {
		_, err := NewPartialReview([]byte(maskedRequest), []string{pointer})
		require.ErrorContains(t, err, "masked values", pointer)
	}
}
