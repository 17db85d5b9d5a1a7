//go:build !race

package gatekeeper

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// TestAllocations holds what a review costs, which a clock cannot tell here. The numbers
// are exact: lower one that has become too high, and think before raising one.
func TestAllocations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // pooled values stay in their pools
	set, err := policyset.Compile(definition.Source{
		Name: "s", Files: sampleFiles(t), Parameters: []byte(`{"allowedRegistries":["registry.example.com"]}`),
	}, Dialect)
	require.NoError(t, err)
	options := engine.Options{Cluster: clusterdata.Empty(), Namespace: readNamespace(t, []byte(`{"metadata":{"name":"shop","labels":{}}}`))}
	const policies = 33
	const runs = 200
	reviews := make([]*admission.Review, runs+2)
	for i := range reviews {
		reviews[i] = podReview(t, i, 1)
	}
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	i := 0
	ask := func() {
		decision := snapshot.Validate(t.Context(), reviews[i], options)
		require.True(t, decision.Allowed() && decision.Policies == policies, "%d %v", decision.Policies, decision.Denials)
		i++
	}
	ask()
	require.Equal(t, 1155.0, testing.AllocsPerRun(runs, ask))
}
