package source

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
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

// gzipWriters are reused: each has tables of 800 KiB, and an artifact is packed whenever its
// source changes, for the comparison with the stored one.
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
	return slices.Collect(slices.Chunk(compressed.Bytes(), ChunkBytes)), nil
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
