package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A segment is a sequence of frames. Each is a skippable frame of zstd, which describes what
// follows, and a frame of zstd that contains records as lines of JSON. `zstd -dc` therefore prints
// the records of a segment.
const (
	// MaxRecordBytes is the size of the largest record, as JSON.
	MaxRecordBytes = 32 << 20
	// maxFrameBytes bounds a frame, compressed and not. A reader allocates no more for one.
	maxFrameBytes = MaxRecordBytes + 1

	skippableMagic = 0x184D2A50
	headerMagic    = 0x3152544C // LTR1
	headerBytes    = 4 + 3*4 + 2*8
)

// frameHeader describes a frame.
type frameHeader struct {
	Compressed, Plain, Records uint32
	First, Last                int64 // in nanoseconds since 1970
}

func (h frameHeader) appendTo(out []byte) []byte {
	out = binary.LittleEndian.AppendUint32(out, skippableMagic)
	out = binary.LittleEndian.AppendUint32(out, headerBytes)
	for _, n := range []uint32{headerMagic, h.Compressed, h.Plain, h.Records} {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(h.First))
	return binary.LittleEndian.AppendUint64(out, uint64(h.Last))
}

var (
	errTruncated = errors.New("the segment is truncated")
	errHeader    = errors.New("the segment is damaged: a frame has no valid header")
)

// readHeader returns io.EOF at the end of a segment.
func readHeader(from io.Reader) (h frameHeader, err error) {
	var raw [8 + headerBytes]byte
	switch n, err := io.ReadFull(from, raw[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return h, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return h, errTruncated
	case err != nil:
		return h, err
	}
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(raw[4*i:]) }
	if field(0) != skippableMagic || field(1) != headerBytes || field(2) != headerMagic {
		return h, errHeader
	}
	h = frameHeader{
		Compressed: field(3), Plain: field(4), Records: field(5),
		First: int64(binary.LittleEndian.Uint64(raw[24:])), Last: int64(binary.LittleEndian.Uint64(raw[32:])),
	}
	if h.Compressed > maxFrameBytes || h.Plain > maxFrameBytes || h.Records == 0 || h.Records > h.Plain {
		return h, errHeader
	}
	return h, nil
}

func (h frameHeader) overlaps(since, until time.Time) bool {
	return (until.IsZero() || h.First < until.UnixNano()) && (since.IsZero() || h.Last >= since.UnixNano())
}

// frameDecoder is shared by all readers of the process. It refuses frames that are larger than a
// writer creates, so that a small frame cannot fill the memory.
var frameDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxFrameBytes), zstd.WithDecoderMaxWindow(maxFrameBytes))
})

// frame reads the lines of the frame after a header. plain is a buffer that is reused.
func (h frameHeader) frame(from io.Reader, compressed *bytes.Buffer, plain []byte) ([]byte, error) {
	compressed.Reset()
	// CopyN allocates only for bytes that exist, not for the size in the header.
	if _, err := io.CopyN(compressed, from, int64(h.Compressed)); errors.Is(err, io.EOF) {
		return nil, errTruncated
	} else if err != nil {
		return nil, err
	}
	shared, err := frameDecoder()
	if err != nil {
		return nil, err
	}
	out, err := shared.DecodeAll(compressed.Bytes(), plain[:0])
	switch {
	case err != nil:
		return nil, &frameError{fmt.Errorf("the frame is damaged: %w", err)}
	case len(out) != int(h.Plain) || bytes.Count(out, []byte("\n")) != int(h.Records) || out[len(out)-1] != '\n':
		return nil, &frameError{errors.New("the frame does not have the records that its header states")}
	}
	return out, nil
}

// frameError is about one frame: the next one can be read.
type frameError struct{ error }

func (e *frameError) Unwrap() error { return e.error }

// decode reads one line.
func decode(line []byte) (*Record, error) {
	if len(line) > MaxRecordBytes {
		return nil, fmt.Errorf("a record has more than %d bytes", MaxRecordBytes)
	}
	r := &Record{}
	read := readRecord{Record: r}
	err := json.Unmarshal(line, &read)
	if err != nil {
		// The fields of a later version may have other types.
		var version struct {
			Schema int `json:"schema"`
		}
		if json.Unmarshal(line, &version) == nil {
			r.Schema = version.Schema
		}
	}
	switch {
	case r.Schema > Schema:
		return nil, &SchemaError{r.Schema}
	case err != nil:
		return nil, fmt.Errorf("the record is damaged: %w", err)
	case r.Schema < 1:
		return nil, errors.New("the record is damaged: it has no schema version")
	}
	if err := read.into(); err != nil {
		return nil, fmt.Errorf("the record is damaged: %w", err)
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("the record is damaged: %w", err)
	}
	return r, nil
}

// SchemaError refuses a record of a later version.
type SchemaError struct{ Schema int }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("the record has schema version %d, and this version of Lintel reads up to %d: use the version of Lintel that wrote it", e.Schema, Schema)
}
