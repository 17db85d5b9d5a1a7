//go:build !race

package gatekeeper

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

// TestAllocations holds what a review costs, which a clock cannot tell here. The numbers
// are exact: lower one that has become too high, and think before raising one.
func TestAllocations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // what is pooled stays so
	set, err := engine.Compile(engine.Source{
		Name: "s", Files: sampleFiles(t), Parameters: []byte(`{"allowedRegistries":["registry.example.com"]}`),
	}, Dialect)
	require.NoError(t, err)
	options := engine.Options{Cluster: engine.EmptyClusterData(), Namespace: []byte(`{"metadata":{"name":"shop","labels":{}}}`)}
	const policies = 33
	for name, c := range map[string]struct {
		mode   engine.MemoMode
		review func(i int) *engine.Review
		want   float64
	}{
		"33 policies, without the memo": {engine.MemoOff, func(int) *engine.Review { return podReview(t, 1, 1) }, 1613},
		"33 policies, replicas":         {engine.MemoOn, func(i int) *engine.Review { return podReview(t, i, 1) }, 179},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 200
			reviews := make([]*engine.Review, runs+3)
			for i := range reviews {
				reviews[i] = c.review(i)
			}
			snapshot := engine.NewSnapshot(engine.BuiltinResources(), set).Remembering(engine.NewMemo(c.mode, 0, nil))
			i := 0
			ask := func() {
				decision := snapshot.Validate(t.Context(), reviews[i], options)
				require.True(t, decision.Allowed() && decision.Policies == policies, "%d %v", decision.Policies, decision.Denials)
				i++
			}
			ask() // the memo keeps what it has seen twice
			ask()
			require.Equal(t, c.want, testing.AllocsPerRun(runs, ask))
		})
	}
}
