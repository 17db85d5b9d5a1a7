package record

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// Bucket is a folder of an object store. Its objects are written as a whole.
type Bucket interface {
	// List returns the objects and folders in a folder, which is empty or ends in a slash. The
	// names are those from the root of the bucket, and those of folders end in a slash.
	List(ctx context.Context, folder string) iter.Seq2[Object, error]
	// Open returns an error that is fs.ErrNotExist for an object that does not exist.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Write creates or replaces an object. A reader sees all of it or nothing.
	Write(ctx context.Context, name string, from io.Reader) error
	// Delete deletes an object, if it exists.
	Delete(ctx context.Context, name string) error
	Close() error
}

// Object is an object or a folder of a Bucket.
type Object struct {
	Name  string
	Bytes int64
}

// NewStore returns the store in a bucket.
func NewStore(bucket Bucket) *Store { return &Store{objectStore{bucket}} }

// objectStore keeps complete segments: an object cannot be appended to.
type objectStore struct{ bucket Bucket }

func (s objectStore) close() error { return s.bucket.Close() }

func (s objectStore) durable() bool { return false }

func (s objectStore) segmentLimits() (int64, time.Duration) { return 4 << 20, 5 * time.Minute }

func (s objectStore) list(ctx context.Context, day func(string) bool) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for folder, err := range s.bucket.List(ctx, "") {
			if err != nil {
				yield(entry{}, fmt.Errorf("listing records: %w", err))
				return
			}
			of, isFolder := strings.CutSuffix(folder.Name, "/")
			if !isFolder || !day(of) {
				continue
			}
			for object, err := range s.bucket.List(ctx, folder.Name) {
				if err != nil {
					yield(entry{}, fmt.Errorf("listing records: %w", err))
					return
				}
				if !yield(entry{object.Name, object.Bytes}, nil) {
					return
				}
			}
		}
	}
}

func (s objectStore) open(ctx context.Context, name string) (io.ReadCloser, error) {
	return s.bucket.Open(ctx, name)
}

func (s objectStore) put(ctx context.Context, name string, from io.Reader) error {
	return s.bucket.Write(ctx, name, from)
}

func (s objectStore) create(context.Context, string) (sink, error) { return &objectSink{store: s}, nil }

func (s objectStore) remove(ctx context.Context, name string) error {
	return s.bucket.Delete(ctx, name)
}

// objectSink is in memory until the segment is complete.
type objectSink struct {
	store objectStore
	bytes bytes.Buffer
}

func (s *objectSink) append(frame []byte) error {
	_, err := s.bytes.Write(frame)
	return err
}

func (s *objectSink) commit(ctx context.Context, name string) error {
	if s.bytes.Len() == 0 {
		return nil
	}
	return s.store.put(ctx, name, bytes.NewReader(s.bytes.Bytes()))
}
