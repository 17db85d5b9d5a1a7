package webhooks

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

func TestMemoMetrics(t *testing.T) {
	set, err := engine.Compile(engine.Source{Name: "s", Files: map[string]string{"p.rego": "package p\n\nimport rego.v1\n\ndeny contains \"no\" if input.name == \"evil\""}})
	require.NoError(t, err)
	memo := engine.NewMemo(engine.MemoOn, 0, nil)
	snapshot := engine.NewSnapshot(engine.BuiltinResources(), set).Remembering(memo)
	review, err := engine.NewReview([]byte(`{"uid":"u","operation":"CREATE","kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},"name":"web","namespace":"shop","object":{"metadata":{"name":"web"}}}`))
	require.NoError(t, err)
	for range 5 {
		require.True(t, snapshot.Validate(t.Context(), review, engine.Options{}).Allowed())
	}
	registry := prometheus.NewRegistry()
	require.NoError(t, RegisterMemo(registry, memo))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP lintel_decision_memo_hits_total Policies not evaluated, because they are known to have nothing to say.
# TYPE lintel_decision_memo_hits_total counter
lintel_decision_memo_hits_total 3
# HELP lintel_decision_memo_misses_total Policies evaluated whose verdict could have been known.
# TYPE lintel_decision_memo_misses_total counter
lintel_decision_memo_misses_total 2
`), "lintel_decision_memo_hits_total", "lintel_decision_memo_misses_total"))
	require.NoError(t, RegisterMemo(prometheus.NewRegistry(), nil), "with the memo off")
}
