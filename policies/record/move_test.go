package record

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestASpoolIsMoved: complete segments and those that a crash left, and not the one that is being
// written.
func TestASpoolIsMoved(t *testing.T) {
	t.Parallel()
	spool, path := openFolder(t)
	to, _ := openFolder(t)
	now := &clock{start}
	crashed := newWriter(t, spool, WriterOptions{Now: now.Now, Spool: true})
	require.NoError(t, crashed.Write(t.Context(), numbered(1, now.now)))
	require.NoError(t, crashed.Flush(t.Context()))
	now.advance(2 * time.Hour)
	w := newWriter(t, spool, WriterOptions{Now: now.Now, Spool: true})
	require.NoError(t, w.Write(t.Context(), numbered(2, now.now)))
	require.NoError(t, w.Flush(t.Context()))
	now.advance(6 * time.Minute)
	require.NoError(t, w.Tick(t.Context()), "a segment of a spool is complete after 5 minutes")
	require.NoError(t, w.Write(t.Context(), numbered(3, now.now)))
	require.NoError(t, w.Flush(t.Context()))

	moved, err := spool.Move(t.Context(), to, now.now)
	require.NoError(t, err)
	require.EqualValues(t, 2, moved.Segments)
	require.Equal(t, 1, moved.Left)
	uids, errs := readAll(t, to, time.Time{}, time.Time{})
	require.Empty(t, errs)
	require.Equal(t, []string{"1", "2"}, uids)
	require.Len(t, files(t, path), 1)

	require.NoError(t, w.Close(t.Context()))
	_, err = spool.Move(t.Context(), to, now.now)
	require.NoError(t, err)
	require.Empty(t, files(t, path))
	uids, _ = readAll(t, to, time.Time{}, time.Time{})
	require.Equal(t, []string{"1", "2", "3"}, uids)
}

// TestASpoolThatIsNotMoved: the writer reports it before records are lost, and the loss.
func TestASpoolThatIsNotMoved(t *testing.T) {
	t.Parallel()
	spool, _ := openFolder(t)
	now := &clock{start}
	w := newWriter(t, spool, WriterOptions{Now: now.Now, Spool: true, MaxBytes: 1000, SegmentBytes: 1})
	require.NoError(t, w.Write(t.Context(), numbered(0, now.now)))
	require.NoError(t, w.Flush(t.Context()))
	require.False(t, w.Behind())
	now.advance(16 * time.Minute)
	require.ErrorContains(t, w.Tick(t.Context()), "records since 2026-11-27T16:00:00Z are not yet in the object store")
	require.True(t, w.Behind())
	lost := int64(0)
	for n := range 20 {
		require.NoError(t, w.Write(t.Context(), numbered(n, now.now)))
		var loss *LostError
		if err := w.Flush(t.Context()); errors.As(err, &loss) {
			require.ErrorContains(t, err, "not moved to the object store")
			lost += loss.Records
		}
	}
	uids, _ := readAll(t, spool, time.Time{}, time.Time{})
	require.EqualValues(t, 21, int(lost)+len(uids))
	require.Positive(t, lost)
	to, _ := openFolder(t)
	_, err := spool.Move(t.Context(), to, now.now)
	require.NoError(t, err)
	now.advance(time.Minute)
	require.NoError(t, w.Tick(t.Context()))
	require.False(t, w.Behind())
}

func TestFilesNextToSegments(t *testing.T) {
	t.Parallel()
	store, _ := openFolder(t)
	for name, want := range map[string]string{
		"../x": "not the name of a file", "/etc/x": "not the name of a file", "": "not the name of a file",
		openName(start, "w"): "is the name of a segment",
	} {
		require.ErrorContains(t, store.WriteFile(t.Context(), name, strings.NewReader("x")), want, name)
	}
	_, err := store.ReadFile(t.Context(), "../x", 1)
	require.ErrorContains(t, err, "not the name of a file")
}
