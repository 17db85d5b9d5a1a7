package record

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"time"
)

// Store contains records in segments. Its methods may be called in parallel.
type Store struct{ objects objects }

// objects is where a store is. Names have passed parseName.
type objects interface {
	// list returns the names of a store in no order, of the days that are selected.
	list(ctx context.Context, day func(day string) bool) iter.Seq2[entry, error]
	// open returns an error that is fs.ErrNotExist for a name that does not exist.
	open(ctx context.Context, name string) (io.ReadCloser, error)
	// put creates or replaces an object as a whole.
	put(ctx context.Context, name string, from io.Reader) error
	// create starts an object.
	create(ctx context.Context, name string) (sink, error)
	// remove deletes an object, if it exists.
	remove(ctx context.Context, name string) error
	// segmentLimits are the default size and age of a segment.
	segmentLimits() (bytes int64, age time.Duration)
	// durable reports whether an object contains each frame before it is complete.
	durable() bool
	close() error
}

type entry struct {
	name  string
	bytes int64
}

// sink is an object that is being written.
type sink interface {
	// append adds a frame as a whole, or returns an error and adds nothing.
	append(frame []byte) error
	// commit ends the object under its final name.
	commit(ctx context.Context, name string) error
}

// SkippedError is about records that could not be read. The iteration continues after it.
type SkippedError struct {
	// Segment is the name of a segment or an input, with the line if it is about one.
	Segment string
	// Records is how many were skipped, as far as the segment states it; 0 if that is unknown.
	Records int64
	Err     error
}

func (e *SkippedError) Error() string {
	if e.Records > 0 {
		return fmt.Sprintf("%s: %d records are skipped: %v", e.Segment, e.Records, e.Err)
	}
	return fmt.Sprintf("%s: an unknown number of records is skipped: %v", e.Segment, e.Err)
}

func (e *SkippedError) Unwrap() error { return e.Err }

// Close releases the store. Readers and writers must have ended.
func (s *Store) Close() error { return s.objects.close() }

// Segments returns the segments that may have records from since (inclusive) to until
// (exclusive), in the order of their first records. A zero time sets no limit.
func (s *Store) Segments(ctx context.Context, since, until time.Time) ([]Segment, error) {
	var found []Segment
	for entry, err := range s.objects.list(ctx, func(day string) bool { return dayOverlaps(day, since, until) }) {
		if err != nil {
			return nil, err
		}
		segment, ok := parseName(entry.name)
		if !ok || !segment.overlaps(since, until) {
			continue
		}
		segment.Bytes = entry.bytes
		found = append(found, segment)
	}
	slices.SortFunc(found, func(a, b Segment) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

// Records returns the records from since (inclusive) to until (exclusive). A zero time sets
// no limit. Records of several writers are in the order of their segments, and may overlap in time.
// An error of type *SkippedError is about records that could not be read, and the iteration
// continues after it; any other error is the last one.
func (s *Store) Records(ctx context.Context, since, until time.Time) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		segments, err := s.Segments(ctx, since, until)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, segment := range segments {
			for r, err := range s.Read(ctx, segment, since, until) {
				if !yield(r, err) {
					return
				}
				var skipped *SkippedError
				if err != nil && !errors.As(err, &skipped) {
					return
				}
			}
		}
	}
}

// Read returns the records of one segment, like Records. It uses memory for one frame.
func (s *Store) Read(ctx context.Context, segment Segment, since, until time.Time) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		skip := func(records int64, err error) bool {
			return yield(nil, &SkippedError{Segment: segment.Name, Records: records, Err: err})
		}
		if _, ok := parseName(segment.Name); !ok {
			yield(nil, fmt.Errorf("%q is not the name of a segment", segment.Name))
			return
		}
		object, err := s.openSegment(ctx, segment)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			skip(segment.Records, errors.New("the segment was deleted after it was listed"))
			return
		case err != nil:
			yield(nil, err)
			return
		}
		defer object.Close() // only read
		reader := frames{from: bufio.NewReaderSize(object, 64<<10)}
		read := int64(0)
		for {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			header, err := reader.next()
			switch {
			case errors.Is(err, io.EOF):
				if !segment.Open && read < segment.Records {
					skip(segment.Records-read, errTruncated)
				}
				return
			case errors.Is(err, errTruncated), errors.Is(err, errHeader):
				// Later frames cannot be located.
				skip(max(segment.Records-read, 0), err)
				return
			case err != nil:
				yield(nil, fmt.Errorf("%s: %w", segment.Name, err))
				return
			}
			if !header.overlaps(since, until) {
				read += int64(header.Records)
				if reader.skip(header) != nil {
					skip(max(segment.Records-read, int64(header.Records)), errTruncated)
					return
				}
				continue
			}
			lines, err := reader.lines(header)
			var damaged *frameError
			switch {
			case errors.As(err, &damaged):
				if !skip(int64(header.Records), err) {
					return
				}
			case errors.Is(err, errTruncated):
				skip(max(segment.Records-read, int64(header.Records)), err)
				return
			case err != nil:
				yield(nil, fmt.Errorf("%s: %w", segment.Name, err))
				return
			}
			line := read
			read += int64(header.Records)
			for text := range bytes.Lines(lines) {
				line++
				r, err := decode(text)
				switch {
				case err != nil:
					if !yield(nil, &SkippedError{Segment: fmt.Sprintf("%s:%d", segment.Name, line), Records: 1, Err: err}) {
						return
					}
				case !since.IsZero() && r.Time.Before(since), !until.IsZero() && !r.Time.Before(until):
				case !yield(r, nil):
					return
				}
			}
		}
	}
}

// openSegment also finds a segment that was completed after it was listed.
func (s *Store) openSegment(ctx context.Context, segment Segment) (io.ReadCloser, error) {
	object, err := s.objects.open(ctx, segment.Name)
	if !segment.Open || !errors.Is(err, fs.ErrNotExist) {
		return object, err
	}
	day := segment.First.UTC().Format(dayLayout)
	for entry, listErr := range s.objects.list(ctx, func(other string) bool { return other == day }) {
		if listErr != nil {
			return nil, listErr
		}
		if other, ok := parseName(entry.name); ok && other.writer == segment.writer && !other.First.After(segment.First) && !other.Last.Before(segment.First) {
			return s.objects.open(ctx, other.Name)
		}
	}
	return nil, err
}

// frames reads the frames of a segment.
type frames struct {
	from       *bufio.Reader
	compressed bytes.Buffer
	plain      []byte
}

func (f *frames) next() (frameHeader, error) { return readHeader(f.from) }

func (f *frames) skip(h frameHeader) error {
	_, err := f.from.Discard(int(h.Compressed))
	return err
}

// lines are valid until the next call.
func (f *frames) lines(h frameHeader) ([]byte, error) {
	lines, err := h.frame(f.from, &f.compressed, f.plain)
	if err == nil {
		f.plain = lines
	}
	return lines, err
}
