package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects of other replicas are decoded up to their names. All else is decoded completely: lists,
// cluster-scoped objects, bookmarks, and what cannot be read.
func TestObjectsOfOtherReplicasAreNotDecoded(t *testing.T) {
	t.Parallel()
	decoder := shardDecoder{unstructured.UnstructuredJSONScheme, func(namespace string) bool { return namespace == "mine" }}
	for name, test := range map[string]struct {
		text    string
		skipped bool
	}{
		"of another":        {`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"theirs","uid":"u","resourceVersion":"7"},"spec":{"x":1}}`, true},
		"in another order":  {`{"spec":{"metadata":{"namespace":"mine"}},"metadata":{"labels":{"namespace":"mine"},"uid":"u","resourceVersion":"7","namespace":"theirs","name":"a"},"apiVersion":"v1","kind":"Pod"}`, true},
		"of this replica":   {`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"mine","uid":"u","resourceVersion":"7"},"spec":{"x":1}}`, false},
		"cluster-scoped":    {`{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"},"spec":{"x":1}}`, false},
		"a bookmark":        {`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","namespace":"theirs","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"x":1}}`, false},
		"a list":            {`{"apiVersion":"v1","items":[],"kind":"PodList","metadata":{"resourceVersion":"7"}}`, false},
		"a field without a": {`{"":{},"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"mine"},"spec":{"x":1}}`, false},
	} {
		object, kind, err := decoder.Decode([]byte(test.text), nil, nil)
		require.NoError(t, err, name)
		require.Equal(t, object.GetObjectKind().GroupVersionKind(), *kind, name)
		found, isObject := object.(*unstructured.Unstructured)
		require.Equal(t, test.skipped, isObject && isSkipped(found), name)
		if test.skipped {
			require.Equal(t, "v1 Pod theirs a u 7", strings.Join([]string{found.GetAPIVersion(), found.GetKind(), found.GetNamespace(), found.GetName(), string(found.GetUID()), found.GetResourceVersion()}, " "), name)
			continue
		}
		text, err := json.Marshal(object)
		require.NoError(t, err)
		require.JSONEq(t, test.text, string(text), name)
	}
	for _, text := range []string{``, `[]`, `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"theirs","name":1}}`, `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"theirs",`} {
		_, ok := nameOf([]byte(text))
		require.False(t, ok, text)
	}
}

// An object that was of another replica when it arrived is never evaluated by its name alone. The
// list of the takeover contains it.
func TestSkippedObjectsAreNotEvaluated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("1", "team")
	s.start()
	require.Eventually(t, func() bool { return s.state() != nil && s.pass().reason == "" }, 20*time.Second, 20*time.Millisecond)
	object := objectName{"v1", "ConfigMap", "shop", "a", "u", "7"}.object()
	require.NoError(t, s.evaluate(t.Context(), s.targets[0].Resource, object))
	require.Zero(t, s.ledger.Len())
	delete(object.Object, "")
	require.NoError(t, s.evaluate(t.Context(), s.targets[0].Resource, object))
	require.Equal(t, 1, s.ledger.Len())
}

func BenchmarkDecode(b *testing.B) {
	containers := strings.Repeat(`{"name":"c","image":"registry.example/app@sha256:0123456789abcdef","env":[{"name":"A","value":"b"},{"name":"C","value":"d"}],"resources":{"limits":{"memory":"1Gi"}}},`, 15)
	pod := []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"theirs","uid":"u","resourceVersion":"7","labels":{"team":"a"}},"spec":{"containers":[` + containers + `{"name":"last"}]}}`)
	for name, owned := range map[string]bool{"of this replica": true, "of another": false} {
		decoder := shardDecoder{unstructured.UnstructuredJSONScheme, func(string) bool { return owned }}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := decoder.Decode(pod, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
