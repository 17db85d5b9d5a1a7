// Package convert reads records from the logs of other programs: decision logs of OPA, and audit
// logs of an API server. The records are not masked.
//
// Invariant: an entry is a record, an *IgnoredError or a *record.SkippedError; none is dropped
// silently.
package convert

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/lintel-policy/lintel/policies/record"
)

// IgnoredError is about an entry that is not about a request to admission, such as a read.
type IgnoredError struct{ Reason string }

func (e *IgnoredError) Error() string { return e.Reason }

// errTooLarge ends an input: what follows cannot be located.
var errTooLarge = fmt.Errorf("an entry has more than %d bytes, and those after it are not read", record.MaxRecordBytes)

// Read returns the records of a log: JSON lines or an array, also compressed with gzip. Memory is
// that of one entry. An error of another type than *IgnoredError and *record.SkippedError is the
// last one.
func Read(name string, from io.Reader) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		buffered := bufio.NewReaderSize(from, 64<<10)
		if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
			plain, err := gzip.NewReader(buffered)
			if err != nil {
				yield(nil, fmt.Errorf("reading %s: %w", name, err))
				return
			}
			buffered = bufio.NewReaderSize(plain, 64<<10)
		}
		isArray, err := beginsWithArray(buffered)
		if err != nil {
			yield(nil, fmt.Errorf("reading %s: %w", name, err))
			return
		}
		entries, number := lines(buffered), 0
		if isArray {
			entries = elements(buffered)
		}
		for entry, err := range entries {
			number++
			where := fmt.Sprintf("%s, entry %d", name, number)
			if err != nil {
				// The number of entries after a damaged part is unknown.
				yield(nil, &record.SkippedError{Segment: where, Err: err})
				return
			}
			for _, one := range itemsOf(entry) {
				r, err := convert(one)
				var ignored *IgnoredError
				if err != nil && !errors.As(err, &ignored) {
					err = &record.SkippedError{Segment: where, Records: 1, Err: err}
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

func beginsWithArray(from *bufio.Reader) (bool, error) {
	for {
		next, err := from.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case !bytes.ContainsRune([]byte(" \t\r\n"), rune(next)):
			return next == '[', from.UnreadByte()
		}
	}
}

// lines returns JSON lines without empty ones.
func lines(from io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		scanner := bufio.NewScanner(from)
		scanner.Buffer(make([]byte, 0, 64<<10), record.MaxRecordBytes+1)
		for scanner.Scan() {
			if line := bytes.TrimSpace(scanner.Bytes()); len(line) > 0 && !yield(line, nil) {
				return
			}
		}
		switch err := scanner.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, errTooLarge)
		case err != nil:
			yield(nil, err)
		}
	}
}

// bounded is a reader that ends with an error after a number of bytes.
type bounded struct {
	from io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// elements returns the elements of an array.
func elements(from io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		limit := &bounded{from, record.MaxRecordBytes}
		decoder := json.NewDecoder(limit)
		if _, err := decoder.Token(); err != nil {
			yield(nil, err)
			return
		}
		for decoder.More() {
			limit.left = record.MaxRecordBytes
			var element json.RawMessage
			if err := decoder.Decode(&element); err != nil {
				yield(nil, fmt.Errorf("the rest is not read: %w", err))
				return
			}
			if !yield(element, nil) {
				return
			}
		}
		if _, err := decoder.Token(); err != nil { // the end is missing
			yield(nil, fmt.Errorf("the rest is not read: %w", err))
		}
	}
}

// itemsOf are the events of an EventList, as an API server sends them to a webhook.
func itemsOf(entry []byte) []json.RawMessage {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(entry, &list) == nil && list.Kind == "EventList" {
		return list.Items
	}
	return []json.RawMessage{entry}
}

// convert returns the record of an entry of any of the logs.
func convert(entry []byte) (*record.Record, error) {
	var shape struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Input      json.RawMessage `json:"input"`
		DecisionID string          `json:"decision_id"`
		Process    string          `json:"process"`
	}
	if err := json.Unmarshal(entry, &shape); err != nil {
		return nil, fmt.Errorf("the entry is damaged: %w", err)
	}
	var r *record.Record
	var err error
	switch {
	case shape.Kind == "Event" && shape.APIVersion == "audit.k8s.io/v1":
		r, err = fromAudit(entry)
	case len(shape.Input) > 0 || shape.DecisionID != "":
		r, err = fromDecision(entry)
	case shape.Process == "admission":
		return nil, errors.New("a line of Gatekeeper's log lacks the request: import a decision log")
	default:
		return nil, errors.New("it is neither a decision of OPA nor an audit.k8s.io/v1 Event")
	}
	if err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}
