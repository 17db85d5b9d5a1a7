package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// TestRelatedClaims compares with all claims one by one.
func TestRelatedClaims(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	randomPath := func() (path []string) {
		for range 1 + random.IntN(4) {
			path = append(path, string(rune('a'+random.IntN(3))))
		}
		return path
	}
	for range 200 {
		var tree claimTree
		var paths [][]string
		for i := range random.IntN(40) {
			paths = append(paths, randomPath())
			tree.add(paths[i], i)
		}
		path := randomPath()
		var want []int
		for i, other := range paths {
			if jsonpatch.IsPrefix(other, path) || jsonpatch.IsPrefix(path, other) {
				want = append(want, i)
			}
		}
		require.Equal(t, want, tree.related(path))
	}
}
