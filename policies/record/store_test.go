package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Date(2026, 11, 27, 16, 0, 0, 0, time.UTC)

// clock is a fake clock.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

const podRequest = `{"uid":%q,"operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"object":{"apiVersion":"v1","kind":"Pod"}}`

func numbered(n int, at time.Time) *Record {
	return &Record{Schema: Schema, Time: at, Entry: "validate/policies-fail", Request: json.RawMessage(fmt.Sprintf(podRequest, fmt.Sprint(n))), Decision: Decision{Allowed: true}}
}

func openFolder(t *testing.T) (store *Store, path string) {
	t.Helper()
	path = t.TempDir()
	store, err := OpenFolder(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store, path
}

func newWriter(t *testing.T, store *Store, options WriterOptions) *Writer {
	t.Helper()
	w, err := NewWriter(store, options)
	require.NoError(t, err)
	return w
}

// readAll returns the uids of the records, and the errors.
func readAll(t *testing.T, store *Store, since, until time.Time) (uids []string, errs []error) {
	t.Helper()
	for r, err := range store.Records(t.Context(), since, until) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var request struct{ UID string }
		require.NoError(t, json.Unmarshal(r.Request, &request))
		uids = append(uids, request.UID)
	}
	return uids, errs
}

func files(t *testing.T, path string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(path, "*", "*"))
	require.NoError(t, err)
	return names
}

func TestRecordsAreReadByTime(t *testing.T) {
	t.Parallel()
	store, path := openFolder(t)
	now := &clock{start}
	w := newWriter(t, store, WriterOptions{Now: now.Now, FrameAge: time.Minute, SegmentAge: 5 * time.Minute})
	for n := range 20 {
		require.NoError(t, w.Write(t.Context(), numbered(n, now.now)))
		require.NoError(t, w.Tick(t.Context()))
		now.advance(time.Minute)
	}
	require.NoError(t, w.Close(t.Context()))
	require.Greater(t, len(files(t, path)), 2)

	all, errs := readAll(t, store, time.Time{}, time.Time{})
	require.Empty(t, errs)
	require.Len(t, all, 20)
	some, errs := readAll(t, store, start.Add(7*time.Minute), start.Add(9*time.Minute))
	require.Empty(t, errs)
	require.Equal(t, []string{"7", "8"}, some)
	segments, err := store.Segments(t.Context(), start.Add(7*time.Minute), start.Add(9*time.Minute))
	require.NoError(t, err)
	require.Less(t, len(segments), 3, "other segments are not opened")
}

func TestATruncatedSegmentIsReadableUpToItsLastFrame(t *testing.T) {
	t.Parallel()
	store, path := openFolder(t)
	w := newWriter(t, store, WriterOptions{})
	ends := map[int64]bool{0: true} // of frames
	for n := range 4 {
		require.NoError(t, w.Write(t.Context(), numbered(n, start)))
		require.NoError(t, w.Flush(t.Context()))
		ends[w.segment.Bytes] = true
	}
	name := files(t, path)[0] // the process ends without Close
	complete := 4
	for size := w.segment.Bytes; size >= 0; size-- {
		require.NoError(t, os.Truncate(name, size))
		uids, errs := readAll(t, store, time.Time{}, time.Time{})
		if ends[size] {
			require.Len(t, uids, complete)
			require.Empty(t, errs)
			complete--
			continue
		}
		require.Len(t, uids, complete)
		var skipped *SkippedError
		require.Len(t, errs, 1)
		require.ErrorAs(t, errs[0], &skipped)
		require.ErrorIs(t, errs[0], errTruncated)
	}
}
