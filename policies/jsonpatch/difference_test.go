package jsonpatch

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/properties"
)

// randomPart is a value with few names, so that two of them share parts.
func randomPart(r *rand.Rand, depth int) any {
	switch n := r.IntN(6); {
	case n < 2 && depth > 0:
		fields := map[string]any{}
		for range r.IntN(4) {
			fields[string(rune('a'+r.IntN(4)))+"/~"] = randomPart(r, depth-1)
		}
		return fields
	case n < 4 && depth > 0:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, randomPart(r, depth-1))
		}
		return list
	case n == 4:
		return json.Number(strconv.Itoa(r.IntN(3)))
	}
	return []any{nil, true, "x"}[r.IntN(3)]
}

// TestDifferenceLeadsThere applies the difference of random documents.
func TestDifferenceLeadsThere(t *testing.T) {
	t.Parallel()
	seed := properties.Seed(7)
	r := rand.New(rand.NewPCG(seed, 0))
	copyOf := func(value any) any {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var decoded any
		require.NoError(t, decoder.Decode(&decoded))
		return decoded
	}
	for range properties.Count(5000, 500_000) {
		before := map[string]any{"spec": randomPart(r, 4), "status": randomPart(r, 2)}
		after := map[string]any{"spec": randomPart(r, 4), "status": randomPart(r, 2)}
		document := &Document{Root: copyOf(before)}
		for _, step := range Difference(before, after) {
			require.NoError(t, document.Apply(step), "seed %d: %v to %v", seed, before, after)
		}
		require.Equal(t, copyOf(after), document.Root, "seed %d: from %v", seed, before)
		require.Empty(t, Difference(after, copyOf(after)))
	}
}

// TestDifferenceSharesNewMaps: another difference may add other fields of the same new map.
func TestDifferenceSharesNewMaps(t *testing.T) {
	t.Parallel()
	after := map[string]any{"labels": map[string]any{"a": "1"}}
	require.Equal(t, []Step{
		{Op: "add", Path: []string{"labels"}, Value: map[string]any{}},
		{Op: "add", Path: []string{"labels", "a"}, Value: "1"},
	}, Difference(map[string]any{}, after))
}
