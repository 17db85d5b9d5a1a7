package record

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// WriterOptions are the limits of a Writer; zero values are defaults.
type WriterOptions struct {
	// FrameBytes is the size of the JSON that is compressed together (512 KiB), and FrameAge is
	// when a smaller amount is written (5 s). A crash loses the records of an incomplete frame.
	FrameBytes int
	FrameAge   time.Duration
	// SegmentBytes is the compressed size after which a segment is complete (64 MiB, or 4 MiB for
	// object stores, which receive only complete segments), and SegmentAge the age (1 h, 5 min).
	SegmentBytes int64
	SegmentAge   time.Duration
	// MaxAge is the age after which segments are deleted, and MaxBytes the size of the store above
	// which the oldest are. 0 means unlimited.
	MaxAge   time.Duration
	MaxBytes int64
	// Spool is set for a folder from which Store.Move moves segments. Those that are deleted before
	// are lost.
	Spool bool
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// maxSegmentAge is what readers rely on: see dayOverlaps.
const maxSegmentAge = 24 * time.Hour

// Writer adds records to a store. It is for one goroutine, and calls the store in the methods that
// return an error. Several writers, also of several processes, may use one store.
type Writer struct {
	store   *Store
	options WriterOptions
	encoder *zstd.Encoder
	id      string

	frame      []byte // lines of JSON
	header     frameHeader
	frameSince time.Time

	sink         sink // nil if no segment is open
	segments     int64
	segment      Segment
	first, last  int64
	segmentSince time.Time

	retained     time.Time // of the last deletion of old segments
	spoolChecked time.Time
	behind       bool
	stored       int64
	out          []byte
}

// LostError is about records that were accepted and could not be stored.
type LostError struct {
	Records int64
	Err     error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%d records are lost: %v", e.Records, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// NewWriter returns a writer without any call of the store.
func NewWriter(store *Store, options WriterOptions) (*Writer, error) {
	bytes, age := store.objects.segmentLimits()
	if options.Spool {
		age = spoolSegmentAge
	}
	options.FrameBytes = cmp.Or(options.FrameBytes, 512<<10)
	options.FrameAge = cmp.Or(options.FrameAge, 5*time.Second)
	options.SegmentBytes = cmp.Or(options.SegmentBytes, bytes)
	options.SegmentAge = min(cmp.Or(options.SegmentAge, age), maxSegmentAge)
	if options.Now == nil {
		options.Now = time.Now
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	return &Writer{store: store, options: options, encoder: encoder, id: strings.ToLower(rand.Text())[:16]}, nil
}

// Encode returns a record as a line of JSON.
func Encode(r *Record) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding a record: %w", err)
	}
	if line = append(line, '\n'); len(line) > MaxRecordBytes {
		return nil, fmt.Errorf("a record has more than %d bytes", MaxRecordBytes)
	}
	return line, nil
}

// Write adds a record. An error of type *LostError is about this and earlier records.
func (w *Writer) Write(ctx context.Context, r *Record) error {
	line, err := Encode(r)
	if err != nil {
		return err
	}
	return w.Append(ctx, r.Time, line)
}

// Append adds a record as Encode returns it.
func (w *Writer) Append(ctx context.Context, at time.Time, line []byte) error {
	var lost error
	if len(w.frame) > 0 && len(w.frame)+len(line) > w.options.FrameBytes {
		lost = w.Flush(ctx)
	}
	nanos := at.UnixNano()
	if w.tooFar(nanos) { // imported records, or a clock that was set
		lost = errors.Join(lost, w.Flush(ctx))
		if w.sink != nil {
			lost = errors.Join(lost, w.complete(ctx))
		}
	}
	if len(w.frame) == 0 {
		w.header = frameHeader{First: nanos, Last: nanos}
		w.frameSince = w.options.Now()
	}
	w.frame = append(w.frame, line...)
	w.header.Records++
	w.header.First, w.header.Last = min(w.header.First, nanos), max(w.header.Last, nanos)
	return lost
}

// tooFar reports that a record is not of the time of the open segment: see dayOverlaps.
func (w *Writer) tooFar(nanos int64) bool {
	var first, last int64
	switch {
	case w.sink != nil && len(w.frame) > 0:
		first, last = min(w.first, w.header.First), max(w.last, w.header.Last)
	case w.sink != nil:
		first, last = w.first, w.last
	case len(w.frame) > 0:
		first, last = w.header.First, w.header.Last
	default:
		return false
	}
	return max(last, nanos)-min(first, nanos) > int64(maxSegmentAge)
}

// Stored is the number of records that the writer has added to the store.
func (w *Writer) Stored() int64 { return w.stored }

// Buffered is the size of the records that are not yet in the store.
func (w *Writer) Buffered() int { return len(w.frame) }

// Tick writes a frame and completes a segment that have reached their age, and deletes old
// segments. Call it about once per second.
func (w *Writer) Tick(ctx context.Context) error {
	var errs []error
	now := w.options.Now()
	if len(w.frame) > 0 && !now.Before(w.frameSince.Add(w.options.FrameAge)) {
		errs = append(errs, w.Flush(ctx))
	}
	if w.sink != nil && !now.Before(w.segmentSince.Add(w.options.SegmentAge)) {
		errs = append(errs, w.complete(ctx))
	}
	const interval = time.Hour
	if w.retained.IsZero() || !now.Before(w.retained.Add(interval)) {
		errs = append(errs, w.retain(ctx))
	}
	return errors.Join(append(errs, w.checkSpool(ctx))...)
}

// Flush writes all records. For an object store, they are in the store once their segment is
// complete.
func (w *Writer) Flush(ctx context.Context) error {
	if len(w.frame) == 0 {
		return nil
	}
	records := int64(w.header.Records)
	err := w.flush(ctx)
	if w.frame = w.frame[:0]; cap(w.frame) > 4*w.options.FrameBytes {
		w.frame = nil // it had an exceptionally large record
	}
	if err != nil {
		err = &LostError{records, err}
		if w.sink != nil { // the next frame may find another segment writable
			err = errors.Join(err, w.complete(ctx))
		}
		return err
	}
	if w.segment.Bytes >= w.options.SegmentBytes {
		return errors.Join(w.complete(ctx), w.retain(ctx))
	}
	return nil
}

func (w *Writer) flush(ctx context.Context) error {
	if w.sink == nil {
		first := time.Unix(0, w.header.First)
		// Two segments of one time must not have one name.
		writer := w.id + strconv.FormatInt(w.segments, 36)
		w.segments++
		name := openName(first, writer)
		sink, err := w.store.objects.create(ctx, name)
		if err != nil {
			return err
		}
		w.sink, w.segmentSince = sink, w.options.Now()
		w.segment = Segment{Name: name, Open: true, First: first, writer: writer}
		w.first, w.last = w.header.First, w.header.Last
	}
	// The header is in front of a frame whose size is known afterwards.
	w.out = append(w.out[:0], make([]byte, 8+headerBytes)...)
	w.out = w.encoder.EncodeAll(w.frame, w.out)
	w.header.Plain, w.header.Compressed = uint32(len(w.frame)), uint32(len(w.out)-8-headerBytes)
	w.header.appendTo(w.out[:0])
	if err := w.sink.append(w.out); err != nil {
		return err
	}
	w.segment.Bytes += int64(len(w.out))
	w.segment.Records += int64(w.header.Records)
	if w.store.objects.durable() {
		w.stored += int64(w.header.Records)
	}
	w.first, w.last = min(w.first, w.header.First), max(w.last, w.header.Last)
	return nil
}

// complete ends the open segment. If that fails, its records are lost for an object store, and
// readable for a folder.
func (w *Writer) complete(ctx context.Context) error {
	sink, segment := w.sink, w.segment
	w.sink = nil
	err := sink.commit(ctx, completeName(segment, time.Unix(0, w.first), time.Unix(0, w.last), segment.Records))
	switch {
	case err == nil && !w.store.objects.durable():
		w.stored += segment.Records
		return nil
	case err == nil, segment.Records == 0:
		return nil
	case w.store.objects.durable():
		return fmt.Errorf("completing a segment: %w", err)
	}
	return &LostError{segment.Records, err}
}

// Close writes all records and completes the open segment.
func (w *Writer) Close(ctx context.Context) error {
	err := w.Flush(ctx)
	if w.sink != nil {
		err = errors.Join(err, w.complete(ctx))
	}
	return errors.Join(err, w.encoder.Close())
}

// retain deletes segments that are older or more than the limits allow, the oldest first.
func (w *Writer) retain(ctx context.Context) error {
	w.retained = w.options.Now()
	records, err := w.store.retain(ctx, w.options.MaxAge, w.options.MaxBytes, w.retained, w.segment.writer)
	if w.options.Spool && records > 0 {
		err = errors.Join(err, &LostError{records, errSpool})
	}
	return err
}

var errSpool = errors.New("they were not moved to the object store before they reached the maximum age or the maximum size of the spool")

// maxBehind is the age of a complete segment after which a spool is behind.
const maxBehind = 15 * time.Minute

// checkSpool reports segments that were not moved.
func (w *Writer) checkSpool(ctx context.Context) error {
	now := w.options.Now()
	if !w.options.Spool || now.Before(w.spoolChecked.Add(time.Minute)) {
		return nil
	}
	w.spoolChecked = now
	segments, err := w.store.Segments(ctx, time.Time{}, time.Time{})
	if err != nil {
		return err
	}
	w.behind = len(segments) > 0 && !segments[0].Open && segments[0].Last.Before(now.Add(-maxBehind))
	if w.behind {
		return fmt.Errorf("records since %s are not yet in the object store", segments[0].First.Format(time.RFC3339))
	}
	return nil
}

// Behind reports that the records of a spool are not moved.
func (w *Writer) Behind() bool { return w.behind }
