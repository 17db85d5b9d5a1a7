package restriction

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/sidecar"
	"github.com/lintel-policy/lintel/test/properties"
)

// TestRicherPairs counts how often the analysis does not know, on pairs as people write
// them; LINTEL_PAIRS and LINTEL_SEED say how many, and which. All that is proved is
// tried on inputs made at random, and every counterexample is evaluated again.
func TestRicherPairs(t *testing.T) {
	t.Parallel()
	pairs, seed := fromEnvironment("LINTEL_PAIRS", properties.Count(40, 1000)), properties.Seed(1)
	random := rand.New(rand.NewPCG(seed, 7))
	inputs := rand.New(rand.NewPCG(seed, 8))
	counts := map[Outcome]int{}
	reasons := map[string]int{}
	missed := 0
	for compiled := 0; compiled < pairs; {
		decision, parentText, childText := richerPair(random)
		parent, err := sidecar.Parse(sidecar.Source{Level: "enterprise", Name: "parent", Domain: anyDomain, Content: parentText})
		if err != nil {
			if os.Getenv("LINTEL_SHOW") == "broken" {
				t.Log(err, parentText)
			}
			continue
		}
		child, err := sidecar.Parse(sidecar.Source{Level: "team", Name: "child", Domain: anyDomain, Content: childText})
		if err != nil {
			continue
		}
		compiled++
		c := newComparison(decision, child, []*sidecar.Policy{parent})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		verdict := analyzeOne(ctx, c)
		cancel()
		counts[verdict.Outcome]++
		texts := fmt.Sprintf("pair %d of seed %d: %+v\n# parent\n%s\n# child\n%s", compiled, seed, verdict, parentText, childText)
		opa := replayOfOPA(t.Context())
		if verdict.Outcome == Counterexample {
			require.NotNil(t, c.judge(opa, inputOf(t, verdict)), texts)
			continue
		}
		for range 150 {
			input := richerInput(inputs)
			found := c.judge(opa, input)
			if found == nil {
				continue
			}
			require.NotEqual(t, Proved, verdict.Outcome, "a false proof: input %v: parent %v, child %v\n%s", input, found.parent, found.child, texts)
			missed++
			break
		}
		if verdict.Outcome == Unknown {
			_, reason, _ := strings.Cut(verdict.Reason, ": ")
			reasons[reason]++
			if show := os.Getenv("LINTEL_SHOW"); show == "all" || show != "" && strings.Contains(reason, show) {
				t.Log(texts)
			}
		}
	}
	t.Logf("seed %d: %d proved, %d counterexamples, %d unknown (%d of them have one), %.1f %%",
		seed, counts[Proved], counts[Counterexample], counts[Unknown], missed, 100*float64(counts[Unknown])/float64(pairs))
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		t.Log(reasons[reason], reason)
	}
	if pairs >= 500 { // of fewer, chance decides
		require.Less(t, counts[Unknown]*100, 4*pairs)
	}
	require.Greater(t, counts[Proved], pairs/4)
	require.Greater(t, counts[Counterexample], pairs/20)
}
