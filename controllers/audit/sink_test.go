package audit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
)

// Streamed lists contain keys, and pages contain names. Both retain exactly the objects that exist.
func TestSinkRetainsListedObjects(t *testing.T) {
	t.Parallel()
	listed := []any{configMap("shop", "a", nil), configMap("", "a", nil), configMap("shop-a", "b", nil)}
	kept := []string{"/a", "shop/a", "shop-a/b"}
	store, streams := any(&sink{}).(cache.TransformingStore)
	require.True(t, streams, "the reflector asks for a transformer")
	var keys []any
	for _, object := range listed {
		key, err := store.Transformer()(object)
		require.NoError(t, err)
		require.IsType(t, cache.ExplicitKey(""), key, "nothing else of an object stays in memory")
		keys = append(keys, key)
	}
	for name, list := range map[string][]any{"streamed": keys, "pages": listed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger := audit.NewLedger(100)
			resource := admission.ServedResource{Version: "v1", Kind: "ConfigMap", Name: "configmaps"}
			of := admission.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
			for _, object := range []audit.Object{
				{Kind: of, Namespace: "shop", Name: "a"}, {Kind: of, Name: "a"}, {Kind: of, Namespace: "shop-a", Name: "b"},
				{Kind: of, Namespace: "shop", Name: "gone"}, {Kind: of, Name: "gone"}, {Kind: of, Namespace: "gone", Name: "a"},
				{Kind: admission.PodKind, Namespace: "shop", Name: "gone"},
			} {
				ledger.Set(object, audit.Digest{1}, []audit.Result{{Source: "s", Policy: "p", Outcome: audit.Fail}}, time.Now())
			}
			s := &sink{kind: &kind{target: audit.Target{Resource: resource}, ledger: ledger, changed: func() {}, guard: func(f func()) { f() }}, started: time.Now()}
			require.NoError(t, s.Replace(list, "1"))
			var found []string
			for _, detail := range ledger.Details(audit.PolicyKey{Source: "s", Policy: "p"}, 100, audit.Fail) {
				if detail.Object.Kind == of {
					found = append(found, detail.Object.Namespace+"/"+detail.Object.Name)
				}
			}
			require.Equal(t, kept, found)
			require.Equal(t, len(kept)+1, ledger.Len(), "objects of other kinds stay")
		})
	}
}
