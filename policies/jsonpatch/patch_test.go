package jsonpatch

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	library "gopkg.in/evanphx/json-patch.v4"
)

// TestPatchAgreesWithTheAPIServersLibrary applies random operations to random
// documents: what the engine records must apply by the RFC and give the same.
func TestPatchAgreesWithTheAPIServersLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	succeeded := 0
	for range 20_000 {
		before, err := json.Marshal(map[string]any{"a": randomValue(random, 3), "b": randomValue(random, 3)})
		require.NoError(t, err)
		root, err := decodeAny(before)
		require.NoError(t, err)
		doc := &Document{Root: root}
		for range 1 + random.IntN(4) {
			op := Step{
				Op:    []string{"add", "replace", "remove", "move", "copy"}[random.IntN(5)],
				Path:  randomPath(random),
				From:  randomPath(random),
				Value: randomValue(random, 2),
			}
			if doc.Apply(op) != nil {
				break // the operations before it stay recorded
			}
			succeeded++
		}
		after, err := json.Marshal(doc.Root)
		require.NoError(t, err)
		require.JSONEq(t, string(after), byLibrary(t, string(before), doc.Applied))
	}
	require.Greater(t, succeeded, 5_000)
}

func decodeAny(text []byte) (any, error) {
	var value any
	return value, json.Unmarshal(text, &value)
}

func randomPath(random *rand.Rand) []string {
	path := []string{[]string{"a", "b"}[random.IntN(2)]}
	for range random.IntN(3) {
		path = append(path, []string{"a", "b", "0", "1", "-", "x/y~z"}[random.IntN(6)])
	}
	return path
}

func randomValue(random *rand.Rand, depth int) any {
	switch random.IntN(6) {
	case 0:
		return nil
	case 1:
		return "text"
	case 2:
		return float64(random.IntN(3))
	case 3:
		list := []any{}
		for range random.IntN(3) * min(depth, 1) {
			list = append(list, randomValue(random, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for range random.IntN(3) * min(depth, 1) {
			object[[]string{"a", "b", "x/y~z"}[random.IntN(3)]] = randomValue(random, depth-1)
		}
		return object
	}
}

// byLibrary is what the API server makes of an object.
func byLibrary(t *testing.T, object string, ops []Operation) string {
	t.Helper()
	text, err := json.Marshal(ops)
	require.NoError(t, err)
	patch, err := library.DecodePatch(text)
	require.NoError(t, err)
	after, err := patch.Apply([]byte(object))
	require.NoError(t, err, "%s\non %s", text, object)
	return string(after)
}
