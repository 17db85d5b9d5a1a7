package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/record"
)

// randomRequests are requests of several users with denials, warnings, masked values and equal
// requests to several entries, and records that cannot be read.
func randomRequests(t *testing.T, n int, random *rand.Rand) iter.Seq2[*record.Record, error] {
	t.Helper()
	before := snapshotOf(t, "s", policy(`deny contains "seven" if input.request.object.spec.containers[0].image == "7:1"`))
	var all []*record.Record
	for i := range n {
		image := fmt.Sprint(random.IntN(10))
		if random.IntN(2) == 0 {
			image += ":1"
		}
		at := epoch.Add(time.Duration(i) * time.Second)
		first := recorded(t, before, entry, podRequest(fmt.Sprintf("%d-a", i), image), at)
		if random.IntN(5) == 0 {
			first.Masked = []string{"/object/spec/containers/0/env/0/value"}
		}
		first.Count = int64(random.IntN(4)) // 0 is 1
		all = append(all, first)
		if random.IntN(3) == 0 {
			all = append(all, recorded(t, before, "validate/policies-ignore", podRequest(fmt.Sprintf("%d-b", i), image), at.Add(time.Duration(random.IntN(40))*time.Second)))
		}
	}
	slices.SortStableFunc(all, func(a, b *record.Record) int { return a.Time.Compare(b.Time) })
	return func(yield func(*record.Record, error) bool) {
		for i, r := range all {
			if i%17 == 0 && !yield(nil, &record.SkippedError{Segment: "x", Records: 1, Err: errors.New("damaged")}) || !yield(r, nil) {
				return
			}
		}
	}
}

// tallied is the tally of a part, as it is read from the store.
func tallied(t *testing.T, replayer *Replayer, records iter.Seq2[*record.Record, error], part Part) *Tally {
	t.Helper()
	tally := NewTally()
	require.NoError(t, replayer.Run(t.Context(), part.Requests(GroupRequests(records)), 2, 0, func(one *Evaluated) error {
		var skipped *record.SkippedError
		if errors.As(one.Err, &skipped) {
			tally.Skip(skipped.Segment, skipped.Err.Error(), skipped.Records)
			return nil
		}
		require.NoError(t, one.Err)
		tally.Add(one.Result, 2)
		return nil
	}))
	text, err := json.Marshal(tally)
	require.NoError(t, err)
	read := NewTally()
	require.NoError(t, json.Unmarshal(text, read))
	for i, example := range read.Examples {
		example.Request = tally.Examples[i].Request
	}
	return read
}

// TestPartsAddUpToOneRun: the same totals, groups, reasons and examples, for any number of parts.
func TestPartsAddUpToOneRun(t *testing.T) {
	t.Parallel()
	const seed = 35
	records := randomRequests(t, 150, rand.New(rand.NewPCG(seed, seed)))
	replayer := New(snapshotOf(t, "s", policy(`
deny contains "no tag" if not contains(input.request.object.spec.containers[0].image, ":")
deny contains "env" if input.request.object.spec.containers[0].env[0].value == "x"
warn contains "three" if startswith(input.request.object.spec.containers[0].image, "3")`)), nil, time.Now())
	one := tallied(t, replayer, records, Part{})
	require.Positive(t, one.NewlyDenied)
	require.Positive(t, one.NewlyAdmitted)
	require.Positive(t, one.Undecided)
	require.Positive(t, one.WarningsChanged)
	require.Greater(t, one.Records, one.Evaluated, "some records are joined")
	require.Greater(t, one.Requests, one.Evaluated, "some records stand for several requests")
	one.SelectExamples(2)
	for _, parts := range []int{1, 2, 3, 8} {
		merged := NewTally()
		for index := range parts {
			part := tallied(t, replayer, records, Part{index, parts})
			if parts < 8 {
				require.Positive(t, part.Requests)
			}
			merged.Merge(part)
		}
		merged.SelectExamples(2)
		for _, tally := range []*Tally{one, merged} {
			slices.SortFunc(tally.UndecidedReasons, func(a, b Reason) int { return cmp.Compare(a.Reason, b.Reason) })
			for i := range tally.UndecidedReasons {
				tally.UndecidedReasons[i].First = ""
			}
		}
		want, err := json.Marshal(one)
		require.NoError(t, err)
		got, err := json.Marshal(merged)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), "%d parts", parts)
	}
}

// TestAPartThatIsInterrupted has no result, and the error of its context.
func TestAPartThatIsInterrupted(t *testing.T) {
	t.Parallel()
	records := randomRequests(t, 50, rand.New(rand.NewPCG(1, 1)))
	replayer := New(snapshotOf(t, "s", policy("deny contains \"x\" if false")), nil, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	evaluated := 0
	err := replayer.Run(ctx, Part{0, 2}.Requests(GroupRequests(records)), 1, 0, func(*Evaluated) error {
		if evaluated++; evaluated == 5 {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, evaluated, 20)
}
