package dump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
)

// mark is the byte order mark, with which a file may begin.
const mark = "\uFEFF"

// stream reads a large file: documents in a row, or a list whose items are read one by one.
func (r *reader) stream(name, file string, content io.Reader) error {
	lines := newLineReader(content)
	if start, _ := lines.from.Peek(len(mark)); string(start) == mark {
		_, _ = lines.from.Discard(len(mark))
	}
	first, err := lines.firstByte()
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if first == '{' {
		return r.jsonStream(name, file, lines.from)
	}
	return r.yamlStream(name, file, lines)
}

// checkList refuses a document with items whose kind is not that of a list.
func checkList(name string, line int, kind schema.GroupVersionKind) error {
	switch {
	case isList(kind) && kind.Version != "":
		return nil
	case isList(kind):
		return fmt.Errorf("%s:%d: %s has no valid apiVersion", name, line, kind.Kind)
	}
	return fmt.Errorf("%s:%d: the document has items, and its kind %q is not that of a list", name, line, kind.Kind)
}

func isList(kind schema.GroupVersionKind) bool { return strings.HasSuffix(kind.Kind, "List") }

// item passes an item of a list to the visitor. An item that is invalid does not keep the others
// from being read.
func (r *reader) item(name, file string, line int, kind schema.GroupVersionKind, text []byte) error {
	objects, err := manifests.ParseItem(name, line, kind, text)
	if err != nil {
		return r.unreadable(err)
	}
	return r.objects(file, objects)
}

var errTooLarge = fmt.Errorf("an object is larger than %d MiB", maxObjectBytes>>20)

// lineReader reads lines of bounded length.
type lineReader struct {
	from *bufio.Reader
	line int // of the last line that was read, from 1
}

func newLineReader(content io.Reader) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(content, 64<<10)}
}

// firstByte is the first one that is not white space, or 0.
func (l *lineReader) firstByte() (byte, error) {
	for size := 64; ; size *= 2 {
		start, err := l.from.Peek(size)
		if text := bytes.TrimSpace(start); len(text) > 0 {
			return text[0], nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// next is the next line with its end. The text is valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	var long []byte
	for {
		part, err := l.from.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if long = append(long, part...); len(long) > maxObjectBytes {
				return nil, errTooLarge
			}
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(part)+len(long) == 0):
			return nil, err
		}
		l.line++
		if long != nil {
			return append(long, part...), nil
		}
		return part, nil
	}
}
