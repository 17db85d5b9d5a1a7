package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/record"
)

// manyPolicies are the samples in five copies: about 45 policies.
func manyPolicies(b *testing.B) *engine.Snapshot {
	b.Helper()
	files := map[string]string{}
	for name, text := range samples(b) {
		for i := range 5 {
			files[fmt.Sprintf("copy%d/%s", i, name)] = strings.ReplaceAll(text, "samples.", fmt.Sprintf("copy%d.", i))
		}
	}
	return snapshotOf(b, "samples", files)
}

// BenchmarkReplay compares the cost of a record in a store with that of its evaluation alone.
func BenchmarkReplay(b *testing.B) {
	snapshot := manyPolicies(b)
	random := rand.New(rand.NewPCG(1, 1))
	b.Run("evaluation", func(b *testing.B) {
		var requests [][]byte
		for i := range 1000 {
			requests = append(requests, randomPod(random, fmt.Sprint("u", i)))
		}
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			review, err := admission.NewReview(requests[i%len(requests)])
			require.NoError(b, err)
			snapshot.Validate(b.Context(), review, engine.Options{Offline: true})
		}
	})
	b.Run("replay", func(b *testing.B) {
		store, err := record.OpenFolder(b.TempDir())
		require.NoError(b, err)
		now := epoch
		writer, err := record.NewWriter(store, record.WriterOptions{Now: func() time.Time { return now }})
		require.NoError(b, err)
		for i := range b.N {
			now = now.Add(10 * time.Millisecond)
			one := recorded(b, nil, entry, randomPod(random, fmt.Sprint("u", i)), now)
			require.NoError(b, writer.Write(b.Context(), one))
		}
		require.NoError(b, writer.Close(b.Context()))
		tally := NewTally()
		replayer := New(snapshot, nil, now)
		b.ReportAllocs()
		b.ResetTimer()
		err = replayer.Run(b.Context(), GroupRequests(InOrder(b.Context(), store, time.Time{}, time.Time{})), 2, 0, func(one *Evaluated) error {
			tally.Add(one.Result, 3)
			return nil
		})
		require.NoError(b, err)
		require.EqualValues(b, b.N, tally.Requests)
	})
}
