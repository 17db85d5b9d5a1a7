package source

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/lintel-policy/lintel/policies/definition"
)

const (
	// ChunkBytes is how much of an artifact goes into one object: binaryData grows
	// by a third in JSON, and etcd takes 1.5 MiB.
	ChunkBytes = 700 << 10
	// MaxArtifactBytes is how much an artifact may hold when unpacked.
	MaxArtifactBytes = 64 << 20
)

// gzipWriters are used again: each has tables of 800 KiB, and an artifact is packed
// whenever something about its source changes, to compare it with what is stored.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// Pack compresses the files of a revision into chunks of at most ChunkBytes. The
// same files give the same chunks.
func Pack(files map[string]string) ([][]byte, error) {
	var compressed bytes.Buffer
	writer := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(writer)
	writer.Reset(&compressed)
	if err := json.NewEncoder(writer).Encode(files); err != nil {
		return nil, fmt.Errorf("packing the artifact: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("packing the artifact: %w", err)
	}
	var chunks [][]byte
	for rest := compressed.Bytes(); len(rest) > 0; {
		n := min(ChunkBytes, len(rest))
		chunks = append(chunks, rest[:n])
		rest = rest[n:]
	}
	return chunks, nil
}

// Unpack is the reverse of Pack, and checks the files against the digest.
func Unpack(chunks [][]byte, digest string) (map[string]string, error) {
	reader, err := gzip.NewReader(bytes.NewReader(bytes.Join(chunks, nil)))
	if err != nil {
		return nil, fmt.Errorf("unpacking the artifact: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, MaxArtifactBytes+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking the artifact: %w", err)
	}
	if len(text) > MaxArtifactBytes {
		return nil, fmt.Errorf("unpacking the artifact: it holds more than %d bytes", MaxArtifactBytes)
	}
	var files map[string]string
	if err := json.Unmarshal(text, &files); err != nil {
		return nil, fmt.Errorf("unpacking the artifact: %w", err)
	}
	if got := (definition.Source{Files: files}).Digest(); got != digest {
		return nil, fmt.Errorf("the artifact holds %s, not %s", got, digest)
	}
	return files, nil
}
