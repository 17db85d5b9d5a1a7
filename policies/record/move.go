package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// abandonedAfter is the age after which an open segment of a spool is no longer written to: a
// writer of a spool completes its segments after spoolSegmentAge.
const (
	abandonedAfter  = time.Hour
	spoolSegmentAge = 5 * time.Minute
)

// Moved counts the segments of one call of Move.
type Moved struct {
	Segments, Records, Bytes int64
	// Left is the number of segments that stay: those that are being written.
	Left int
}

// Move moves complete segments to another store, the oldest first, and those that a crash left. It
// ends at the first error, and may be called again: a segment has the same name in both stores, and
// is deleted only after the other store has it.
func (s *Store) Move(ctx context.Context, to *Store, now time.Time) (m Moved, err error) {
	segments, err := s.Segments(ctx, time.Time{}, time.Time{})
	if err != nil {
		return m, err
	}
	m.Left = len(segments)
	for _, segment := range segments {
		if segment.Open && now.Before(segment.First.Add(abandonedAfter)) {
			continue
		}
		moved, err := s.moveOne(ctx, to, segment)
		if err != nil {
			return m, fmt.Errorf("moving segment %s: %w", segment.Name, err)
		}
		m.Left--
		if !moved {
			continue
		}
		m.Segments++
		m.Records += segment.Records
		m.Bytes += segment.Bytes
	}
	return m, nil
}

// moveOne returns false for a segment that was deleted meanwhile.
func (s *Store) moveOne(ctx context.Context, to *Store, segment Segment) (bool, error) {
	from, err := s.objects.open(ctx, segment.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	defer from.Close() // only read
	if err := to.objects.put(ctx, segment.Name, from); err != nil {
		return false, err // a missing bucket is fs.ErrNotExist, too
	}
	return true, s.objects.remove(ctx, segment.Name)
}

// Retain deletes the segments of all writers that are older or more than the limits allow, the
// oldest first. 0 means unlimited. It returns the number of records in these.
func (s *Store) Retain(ctx context.Context, maxAge time.Duration, maxBytes int64, now time.Time) (records int64, err error) {
	return s.retain(ctx, maxAge, maxBytes, now, "")
}

// retain is Retain for a writer, whose open segment stays.
func (s *Store) retain(ctx context.Context, maxAge time.Duration, maxBytes int64, now time.Time, writer string) (records int64, err error) {
	if maxAge == 0 && maxBytes == 0 {
		return 0, nil
	}
	segments, err := s.Segments(ctx, time.Time{}, time.Time{})
	if err != nil {
		return 0, fmt.Errorf("deleting old records: %w", err)
	}
	total := int64(0)
	for _, segment := range segments {
		total += segment.Bytes
	}
	for _, segment := range segments {
		last := segment.Last
		if segment.Open {
			// Another writer may still add to it, unless it is older than any segment can be.
			if last = segment.First.Add(maxSegmentAge); now.Before(last) || segment.writer == writer {
				continue
			}
		}
		old := maxAge > 0 && last.Before(now.Add(-maxAge))
		if !old && (maxBytes == 0 || total <= maxBytes) {
			continue
		}
		if err := s.objects.remove(ctx, segment.Name); err != nil {
			return records, fmt.Errorf("deleting old records: %w", err)
		}
		total -= segment.Bytes
		records += cmp.Or(segment.Records, 1)
	}
	return records, nil
}

// WriteFile stores a text under a name that is not that of a segment, such as the result of a part
// of a replay.
func (s *Store) WriteFile(ctx context.Context, name string, text io.Reader) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("%q is not the name of a file", name)
	}
	if _, ok := parseName(name); ok {
		return fmt.Errorf("%q is the name of a segment", name)
	}
	return s.objects.put(ctx, name, text)
}

// ReadFile returns a text that WriteFile has stored, of at most this size. The error is
// fs.ErrNotExist if there is none.
func (s *Store) ReadFile(ctx context.Context, name string, maxBytes int64) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("%q is not the name of a file", name)
	}
	file, err := s.objects.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && int64(len(text)) > maxBytes {
		err = fmt.Errorf("%s has more than %d bytes", name, maxBytes)
	}
	return text, err
}
