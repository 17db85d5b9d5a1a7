package restriction

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// TestRicherPairs counts how often the analysis does not know, on pairs as people write
// them, and holds verdicts to both versions of OPA and to Lintel's evaluator on random inputs.
func TestRicherPairs(t *testing.T) {
	t.Parallel()
	run := newTrials(t, 40, 1000)
	random := rand.New(rand.NewPCG(run.seed, 7))
	pool := newPool(run.seed, richerInput)
	check := newVerifier(t, pool.inputs)
	for run.more() {
		decision, text, another := richerPairs(random)
		parent := parsed("enterprise", "parent", text)
		if parent == nil {
			continue
		}
		parents := []*sidecar.Policy{parent}
		check.comparedWith(parents)
		for range childrenOfOne {
			child := parsed("team", "child", another())
			if child == nil || !run.more() {
				continue
			}
			c := newComparison(decision, child, parents)
			check.verdict(c, run.analyze(c), pool.next(200))
		}
	}
	run.report()
	if run.compared >= 500 { // of fewer, chance decides
		require.Less(t, run.counts[Unknown]*100, 4*run.compared)
	}
	require.Greater(t, run.counts[Proved], run.compared/4)
	require.Greater(t, run.counts[Counterexample], run.compared/20)
}
