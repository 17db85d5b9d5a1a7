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

// TestARecordCountsAsTheRequestsThatItStandsFor, once for all entries of a request.
func TestARecordCountsAsTheRequestsThatItStandsFor(t *testing.T) {
	t.Parallel()
	replayer := New(snapshotOf(t, "s", policy(`deny contains "no" if input.request.object.spec.containers[0].image == "bad"`)), nil, epoch)
	tally := NewTally()
	for n, image := range []string{"good", "bad", "bad"} {
		first := recorded(t, nil, "validate/policies-fail", podRequest("1", image), epoch)
		second := recorded(t, nil, "validate/policies-ignore", podRequest("2", image), epoch)
		first.Count, second.Count = int64(10*n), int64(10*n+1)
		result, err := replayer.Evaluate(t.Context(), &Request{"1", []*record.Record{first, second}})
		require.NoError(t, err)
		tally.Add(result, 2)
	}
	require.EqualValues(t, 1+11+21, tally.Requests)
	require.EqualValues(t, 3, tally.Evaluated)
	require.EqualValues(t, 6, tally.Records)
	require.EqualValues(t, 1, tally.Same)
	require.EqualValues(t, 32, tally.NewlyDenied)
	require.EqualValues(t, 32, tally.Users["jane"].NewlyDenied)
	require.Len(t, tally.Examples, 2, "different requests, whatever their number")
}
