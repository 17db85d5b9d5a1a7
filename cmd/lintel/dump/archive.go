package dump

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
)

const (
	// maxArchiveBytes bounds the content of an archive, uncompressed.
	maxArchiveBytes = 64 << 30
	// maxRatio bounds the content by the compressed size, once there is more than
	// maxWholeBytes of it: JSON of objects compresses by a factor of 10 to 30.
	maxRatio = 500
)

// isArchive says whether a file of this name is an archive.
func isArchive(name string) bool {
	return slices.ContainsFunc([]string{".tar.gz", ".tgz", ".tar"}, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

func isCompressed(start []byte) bool { return bytes.Equal(start, []byte{0x1f, 0x8b}) }

// compressed reads a compressed archive.
func (r *reader) compressed(name, file string, content io.Reader) error {
	counted := &counter{from: content}
	plain, err := gzip.NewReader(counted)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return r.archive(name, file, &expansion{from: plain, compressed: counted})
}

// archive reads the manifests of an archive. Nothing of it is written to a disk. An entry that
// cannot be read does not keep the others from being read.
func (r *reader) archive(name, file string, content io.Reader) error {
	entries := tar.NewReader(content)
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: the rest of the archive cannot be read: %w", name, err)
		}
		if err := r.entry(name, file, header, entries); err != nil {
			return err
		}
	}
}

// entry returns an error that ends the archive.
func (r *reader) entry(name, file string, header *tar.Header, content io.Reader) error {
	at := name + ": " + path.Clean(header.Name)
	switch {
	case leavesArchive(header.Name):
		return r.unreadable(fmt.Errorf("%s: the path leaves the archive", at))
	case header.Typeflag == tar.TypeDir, !manifests.IsManifest(header.Name):
		return nil
	case header.Typeflag != tar.TypeReg:
		return r.unreadable(fmt.Errorf("%s: is not a regular file", at))
	case !r.backup.wants(header.Name):
		return nil
	}
	if err := manifests.IsRendered(path.Clean(header.Name)); err != nil {
		return r.unreadable(fmt.Errorf("%s: %w", name, err))
	}
	return r.unreadable(r.text(at, file, content, header.Size))
}

// unreadable passes an error to the visitor, and returns one that stops the reading.
func (r *reader) unreadable(err error) error {
	if stop := r.notify(err); stop != nil {
		return stopped{stop}
	}
	return nil
}

func leavesArchive(name string) bool {
	name = strings.ReplaceAll(name, `\`, "/")
	return path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..")
}

// counter counts the bytes that were read.
type counter struct {
	from  io.Reader
	count int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.count += int64(n)
	return n, err
}

// expansion ends an archive that expands to much more than a backup does.
type expansion struct {
	from       io.Reader
	compressed *counter
	count      int64
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.count += int64(n)
	if e.count > maxArchiveBytes {
		return 0, fmt.Errorf("more than %d GiB uncompressed", maxArchiveBytes>>30)
	}
	if e.count > maxWholeBytes && e.count/maxRatio > e.compressed.count {
		return 0, fmt.Errorf("expands to more than %d times its size", maxRatio)
	}
	return n, err
}
