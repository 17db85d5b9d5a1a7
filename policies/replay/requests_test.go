package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/record"
)

// TestEachCallHasAUIDOfItsOwn: the API server makes a uid for each call of a webhook entry.
func TestEachCallHasAUIDOfItsOwn(t *testing.T) {
	t.Parallel()
	at := func(uid, entry, image string, after time.Duration) *record.Record {
		return &record.Record{Schema: record.Schema, Time: epoch.Add(after), Entry: entry, Request: podRequest(uid, image)}
	}
	records := []*record.Record{
		at("1", "mutate/policies-fail", "x", 0),
		at("2", "validate/policies-fail", "x", time.Second),
		at("3", "validate/policies-ignore", "x", 2*time.Second),
		at("4", "validate/policies-fail", "y", 3*time.Second),
		at("5", "validate/policies-fail", "x", time.Minute),
	}
	var sizes []int
	for request, err := range GroupRequests(func(yield func(*record.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}) {
		require.NoError(t, err)
		sizes = append(sizes, len(request.Records))
	}
	require.Equal(t, []int{1, 2, 1, 1}, sizes)
}
