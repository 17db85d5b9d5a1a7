package record

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// segmentOf writes a segment with one frame.
func segmentOf(t *testing.T, path string, header frameHeader, compressed []byte) string {
	t.Helper()
	name := filepath.Join(path, filepath.FromSlash(openName(start, "hostile")))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, append(header.appendTo(nil), compressed...), 0o600))
	return name
}

func compress(t *testing.T, plain []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	defer encoder.Close()
	return encoder.EncodeAll(plain, nil)
}

// TestHostileSegmentsAreSkipped: a reader reports them, and uses no more memory than for a frame.
func TestHostileSegmentsAreSkipped(t *testing.T) {
	t.Parallel()
	bomb := compress(t, make([]byte, 256<<20))
	line := []byte(`{"schema":1,"time":"2026-11-27T16:00:00Z"}` + "\n")
	good := compress(t, line)
	damaged := bytes.Clone(good)
	damaged[len(damaged)/2] ^= 0xff
	header := func(compressed, plain []byte, records uint32) frameHeader {
		return frameHeader{Compressed: uint32(len(compressed)), Plain: uint32(len(plain)), Records: records, First: start.UnixNano(), Last: start.UnixNano()}
	}
	later := []byte(`{"schema":2,"time":{"seconds":1},"request":7}` + "\n")
	for name, c := range map[string]struct {
		header     frameHeader
		compressed []byte
		want       string
	}{
		"a bomb":                  {header(bomb, line, 1), bomb, "the frame is damaged"},
		"a bomb that states it":   {frameHeader{Compressed: 10, Plain: 1 << 31, Records: 1}, bomb, "no valid header"},
		"a huge frame":            {frameHeader{Compressed: 1 << 31, Plain: 1, Records: 1}, good, "no valid header"},
		"a frame that is missing": {frameHeader{Compressed: 1 << 24, Plain: 1 << 24, Records: 1}, good, "truncated"},
		"other data":              {header(damaged, line, 1), damaged, "the frame is damaged"},
		"fewer records":           {header(good, line, 2), good, "does not have the records"},
		"no records":              {header(good, line, 0), good, "no valid header"},
		"no JSON":                 {header(compress(t, []byte("x\n")), []byte("x\n"), 1), compress(t, []byte("x\n")), "the record is damaged"},
		"no schema":               {header(compress(t, []byte("{}\n")), []byte("{}\n"), 1), compress(t, []byte("{}\n")), "no schema version"},
		"a later schema":          {header(compress(t, later), later, 1), compress(t, later), "schema version 2, and this version of Lintel reads up to 1"},
	} {
		store, path := openFolder(t)
		segmentOf(t, path, c.header, c.compressed)
		records, errs := readAll(t, store, time.Time{}, time.Time{})
		require.Empty(t, records, name)
		require.Len(t, errs, 1, name)
		require.ErrorContains(t, errs[0], c.want, name)
		var skipped *SkippedError
		require.ErrorAs(t, errs[0], &skipped, name)
	}
	var schema *SchemaError
	_, err := decode(later)
	require.ErrorAs(t, err, &schema)
}

// TestNamesCannotLeaveTheStore: other names are not segments, and links are not followed.
func TestNamesCannotLeaveTheStore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"../2026-11-27/20261127T160000.000000000Z_w.open.jsonl.zst", "2026-11-27/../../x_w.open.jsonl.zst", "/etc/passwd",
		"2026-11-27/20261127T160000.000000000Z_../x.open.jsonl.zst", "2026-11-27/20261127T160000.000000000Z_w.jsonl.zst",
		"2026-11-27/20261127T160000.000000000Z_20251127T160000.000000000Z_1_w.jsonl.zst", "2026-11-27/20261327T160000.000000000Z_w.open.jsonl.zst",
	} {
		_, ok := parseName(name)
		require.False(t, ok, name)
	}
	store, path := openFolder(t)
	outside := t.TempDir()
	secret := segmentOf(t, outside, frameHeader{}, nil)
	day := filepath.Join(path, "2026-11-27")
	require.NoError(t, os.Mkdir(day, 0o700))
	require.NoError(t, os.Symlink(secret, filepath.Join(day, filepath.Base(secret))))
	require.NoError(t, os.Symlink(filepath.Dir(secret), filepath.Join(path, "2026-11-26")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(day, "20261127T160000.000000000Z_pipe.open.jsonl.zst"), 0o600))
	segments, err := store.Segments(t.Context(), time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Empty(t, segments)
	for _, err := range store.Read(t.Context(), Segment{Name: "../x"}, time.Time{}, time.Time{}) {
		require.ErrorContains(t, err, "not the name of a segment")
	}
	for _, name := range []string{filepath.Base(secret), "20261127T160000.000000000Z_pipe.open.jsonl.zst"} {
		_, err = store.objects.open(t.Context(), "2026-11-27/"+name)
		require.ErrorContains(t, err, "not a regular file")
	}
}

func TestOldSegmentsAreDeleted(t *testing.T) {
	t.Parallel()
	store, path := openFolder(t)
	now := &clock{start}
	w := newWriter(t, store, WriterOptions{Now: now.Now, SegmentAge: 30 * time.Minute, MaxAge: 24 * time.Hour})
	crashed := newWriter(t, store, WriterOptions{Now: now.Now})
	require.NoError(t, crashed.Write(t.Context(), numbered(1000, now.now)))
	require.NoError(t, crashed.Flush(t.Context()))
	for n := range 100 {
		require.NoError(t, w.Write(t.Context(), numbered(n, now.now)))
		now.advance(time.Hour)
		require.NoError(t, w.Tick(t.Context()))
	}
	uids, errs := readAll(t, store, time.Time{}, time.Time{})
	require.Empty(t, errs)
	require.InDelta(t, 24, len(uids), 2)
	require.Equal(t, "99", uids[len(uids)-1])
	require.NotContains(t, uids, "1000", "segments that a crash left are deleted, too")
	days, err := os.ReadDir(path)
	require.NoError(t, err)
	require.LessOrEqual(t, len(days), 3, "empty folders are deleted")

	// The same by size: all but the newest.
	small := newWriter(t, store, WriterOptions{Now: now.Now, MaxBytes: 1000})
	require.NoError(t, small.Tick(t.Context()))
	left, errs := readAll(t, store, time.Time{}, time.Time{})
	require.Empty(t, errs)
	require.Greater(t, len(left), 1)
	require.Less(t, len(left), 10)
	require.Equal(t, "99", left[len(left)-1])
}

func TestSegmentsRotateBySize(t *testing.T) {
	t.Parallel()
	store, path := openFolder(t)
	w := newWriter(t, store, WriterOptions{FrameBytes: 1000, SegmentBytes: 2000})
	for n := range 500 {
		require.NoError(t, w.Write(t.Context(), numbered(n, start.Add(time.Duration(n)*time.Second))))
	}
	require.NoError(t, w.Close(t.Context()))
	names := files(t, path)
	require.Greater(t, len(names), 5)
	for _, name := range names {
		require.NotContains(t, name, ".open.")
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(4000))
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
	segments, err := store.Segments(t.Context(), time.Time{}, time.Time{})
	require.NoError(t, err)
	total := int64(0)
	for _, segment := range segments {
		total += segment.Records
	}
	require.EqualValues(t, 500, total, "the index counts the records")
	uids, errs := readAll(t, store, time.Time{}, time.Time{})
	require.Empty(t, errs)
	require.Len(t, uids, 500)
	require.EqualValues(t, 500, w.Stored())
}

// faulty is a folder whose writes fail, after a part of them.
type faulty struct {
	folder
	err error
}

type faultySink struct {
	*fileSink
	store *faulty
}

func (f *faulty) create(ctx context.Context, name string) (sink, error) {
	s, err := f.folder.create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &faultySink{s.(*fileSink), f}, nil
}

func (s *faultySink) append(frame []byte) error {
	if s.store.err == nil {
		return s.fileSink.append(frame)
	}
	return s.store.err
}

// TestAFullStoreLosesOnlyWhatItRefuses: the writer reports the loss, and continues when there is
// room again.
func TestAFullStoreLosesOnlyWhatItRefuses(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.ENOSPC, syscall.EACCES, context.DeadlineExceeded} {
		store, _ := openFolder(t)
		broken := &faulty{folder: store.objects.(folder)}
		store.objects = broken
		w := newWriter(t, store, WriterOptions{})
		lost := int64(0)
		for n := range 30 {
			broken.err = nil
			if n >= 10 && n < 20 {
				broken.err = cause
			}
			require.NoError(t, w.Write(t.Context(), numbered(n, start.Add(time.Duration(n)*time.Second))))
			if err := w.Flush(t.Context()); err != nil {
				var loss *LostError
				require.ErrorAs(t, err, &loss)
				require.ErrorIs(t, err, cause)
				lost += loss.Records
			}
		}
		require.NoError(t, w.Close(t.Context()))
		require.EqualValues(t, 10, lost)
		uids, errs := readAll(t, store, time.Time{}, time.Time{})
		require.Empty(t, errs)
		require.Len(t, uids, 20)
	}
}

// TestARecordThatIsTooLargeIsRefused before it is buffered.
func TestARecordThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	r := numbered(1, start)
	r.Entry = strings.Repeat("x", MaxRecordBytes)
	_, err := Encode(r)
	require.ErrorContains(t, err, "a record has more than")
}

// TestASegmentIsCompletedOrDeletedWhileItIsRead: a reader has listed the open segment.
func TestASegmentIsCompletedOrDeletedWhileItIsRead(t *testing.T) {
	t.Parallel()
	store, path := openFolder(t)
	w := newWriter(t, store, WriterOptions{})
	require.NoError(t, w.Write(t.Context(), numbered(1, start)))
	require.NoError(t, w.Flush(t.Context()))
	segments, err := store.Segments(t.Context(), time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Len(t, segments, 1)
	require.NoError(t, w.Close(t.Context()))
	read := 0
	for _, err := range store.Read(t.Context(), segments[0], time.Time{}, time.Time{}) {
		require.NoError(t, err)
		read++
	}
	require.Equal(t, 1, read)
	require.NoError(t, os.Remove(files(t, path)[0]))
	for _, err := range store.Read(t.Context(), segments[0], time.Time{}, time.Time{}) {
		require.ErrorContains(t, err, "deleted after it was listed")
		require.False(t, errors.Is(err, fs.ErrNotExist))
	}
}

func TestLocationsOfStores(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), "file://"+t.TempDir())
	require.NoError(t, err)
	require.NoError(t, store.Close())
	for location, want := range map[string]string{
		"/var/lib": "scheme must be file", "s3://bucket": "scheme must be file", "file://host/x": "must have the form file:///folder",
		"file:///missing-folder-of-records": "opening the folder", "file:relative": "must have the form", ":": "not a URL", "file:///tmp?x=y": "must have the form",
	} {
		_, err := Open(t.Context(), location)
		require.ErrorContains(t, err, want, location)
	}
}
