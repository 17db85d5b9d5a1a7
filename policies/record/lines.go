package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// ReadLines returns the records of uncompressed JSON lines from since (inclusive) to until
// (exclusive). name is that of the input, for errors, which are those of Store.Records.
func ReadLines(name string, from io.Reader, since, until time.Time) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		scanner := bufio.NewScanner(from)
		scanner.Buffer(make([]byte, 0, 64<<10), MaxRecordBytes+1)
		number := 0
		skip := func(err error) bool {
			return yield(nil, &SkippedError{Segment: fmt.Sprintf("%s:%d", name, number), Records: 1, Err: err})
		}
		for scanner.Scan() {
			number++
			line := bytes.TrimSpace(scanner.Bytes())
			if len(line) == 0 {
				continue
			}
			r, err := decode(line)
			switch {
			case err != nil:
				if !skip(err) {
					return
				}
			case !since.IsZero() && r.Time.Before(since), !until.IsZero() && !r.Time.Before(until):
			case !yield(r, nil):
				return
			}
		}
		number++
		switch err := scanner.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, &SkippedError{Segment: fmt.Sprintf("%s:%d", name, number), Err: fmt.Errorf("a record has more than %d bytes, and those after it are not read", MaxRecordBytes)})
		case err != nil:
			yield(nil, fmt.Errorf("reading %s: %w", name, err))
		}
	}
}
