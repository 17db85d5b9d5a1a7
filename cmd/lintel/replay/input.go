package replay

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// input is the records of all arguments.
type input struct {
	records iter.Seq2[*record.Record, error]
	total   int64 // of records, as far as it is known; 0 if it is not
	closers []io.Closer
}

func (in *input) close() {
	for _, one := range in.closers {
		_ = one.Close() // only read
	}
}

// openRecords opens folders and files of records.
func openRecords(ctx context.Context, names []string, stdin io.Reader, since, until time.Time) (*input, error) {
	in := &input{}
	var parts []iter.Seq2[*record.Record, error]
	for _, name := range names {
		if name == "-" {
			parts = append(parts, record.ReadLines("standard input", stdin, since, until))
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			in.close()
			return nil, fmt.Errorf("opening the records: %w", err)
		}
		if !info.IsDir() {
			file, err := os.Open(name)
			if err != nil {
				in.close()
				return nil, fmt.Errorf("opening the records: %w", err)
			}
			in.closers = append(in.closers, file)
			parts = append(parts, record.ReadLines(name, file, since, until))
			continue
		}
		store, err := record.OpenFolder(name)
		if err != nil {
			in.close()
			return nil, err
		}
		in.closers = append(in.closers, store)
		segments, err := store.Segments(ctx, since, until)
		if err != nil {
			in.close()
			return nil, err
		}
		for _, segment := range segments {
			in.total += segment.Records
		}
		parts = append(parts, core.InOrder(ctx, store, since, until))
	}
	in.records = func(yield func(*record.Record, error) bool) {
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
