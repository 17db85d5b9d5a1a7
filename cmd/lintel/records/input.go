// Package records is `lintel record`: it lists, shows, imports and uploads recorded requests.
package records

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/policies/record/stores"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// Input is the records of all arguments of a command.
type Input struct {
	Records iter.Seq2[*record.Record, error]
	// Total is the number of records as far as it is known; 0 if it is not.
	Total   int64
	closers []io.Closer
}

// Close closes all stores and files.
func (in *Input) Close() {
	for _, one := range in.closers {
		_ = one.Close() // only read
	}
}

// Open opens stores and files of records from since (inclusive) to until (exclusive).
func Open(ctx context.Context, names []string, stdin io.Reader, since, until time.Time) (*Input, error) {
	in := &Input{}
	var parts []iter.Seq2[*record.Record, error]
	for _, name := range names {
		part, err := in.open(ctx, name, stdin, since, until)
		if err != nil {
			in.Close()
			return nil, err
		}
		parts = append(parts, part)
	}
	in.Records = func(yield func(*record.Record, error) bool) {
		for _, part := range parts {
			for r, err := range part {
				if !yield(r, err) {
					return
				}
			}
		}
	}
	return in, nil
}

func (in *Input) open(ctx context.Context, name string, stdin io.Reader, since, until time.Time) (iter.Seq2[*record.Record, error], error) {
	if name == "-" {
		return record.ReadLines("standard input", stdin, since, until), nil
	}
	if !stores.IsURL(name) {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("opening the records: %w", err)
		}
		if !info.IsDir() {
			file, err := os.Open(name)
			if err != nil {
				return nil, fmt.Errorf("opening the records: %w", err)
			}
			in.closers = append(in.closers, file)
			return record.ReadLines(name, file, since, until), nil
		}
	}
	store, err := stores.OpenNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, store)
	segments, err := store.Segments(ctx, since, until)
	if err != nil {
		return nil, err
	}
	for _, segment := range segments {
		in.Total += segment.Records
	}
	return core.InOrder(ctx, store, since, until), nil
}
