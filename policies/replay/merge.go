package replay

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
)

// maxOpen is how many segments are read at the same time: one for each replica that wrote them.
const maxOpen = 64

// reading is a segment that is being read.
type reading struct {
	head *record.Record
	next func() (*record.Record, error, bool)
	stop func()
}

// InOrder returns the records of a store from since (inclusive) to until (exclusive), merged in the
// order of their times. Errors are those of record.Store.Records. Memory is that of one frame for
// each segment whose times overlap.
func InOrder(ctx context.Context, store *record.Store, since, until time.Time) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		segments, err := store.Segments(ctx, since, until)
		if err != nil {
			yield(nil, err)
			return
		}
		var open []*reading
		defer func() {
			for _, one := range open {
				one.stop()
			}
		}()
		// advance reads the next record of a segment, and removes the segment at its end.
		advance := func(i int) bool {
			for {
				r, err, ok := open[i].next()
				switch {
				case !ok:
					open[i].stop()
					open = append(open[:i], open[i+1:]...)
					return true
				case err == nil:
					open[i].head = r
					return true
				}
				var skipped *record.SkippedError
				if !yield(nil, err) || !errors.As(err, &skipped) {
					return false
				}
			}
		}
		for {
			for len(segments) > 0 && len(open) < maxOpen {
				if i := earliest(open); i >= 0 && open[i].head.Time.Before(segments[0].First) {
					break
				}
				next, stop := iter.Pull2(store.Read(ctx, segments[0], since, until))
				segments = segments[1:]
				open = append(open, &reading{next: next, stop: stop})
				if !advance(len(open) - 1) {
					return
				}
			}
			i := earliest(open)
			if i < 0 {
				return
			}
			if !yield(open[i].head, nil) || !advance(i) {
				return
			}
		}
	}
}

// earliest is the index of the segment with the earliest record: -1 if there is none.
func earliest(open []*reading) int {
	found := -1
	for i, one := range open {
		if found < 0 || one.head.Time.Before(open[found].head.Time) {
			found = i
		}
	}
	return found
}
