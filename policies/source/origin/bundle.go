package origin

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"
)

// unpackedShare is how much a tarball may unpack to, policy or not, as a multiple of
// what policy files may have.
const unpackedShare = 16

// bundle gathers the policy files of tarballs, such as OPA's bundles.
type bundle struct {
	limits    Limits
	selects   func(name string) bool
	folder    string // that is wanted, "" for all
	hasFolder bool
	tarballs  int
	entries   int
	unpacked  *budget
	collected *collection
}

func newBundle(folder string, limits Limits, selects func(name string) bool) *bundle {
	return &bundle{
		limits: limits, selects: selects, folder: path.Clean("/" + folder)[1:], collected: newCollection(limits),
		unpacked: &budget{left: unpackedShare * limits.TotalBytes},
	}
}

// add reads a gzipped tarball to its end.
func (b *bundle) add(compressed io.Reader) error {
	b.tarballs++
	unzipped, err := gzip.NewReader(compressed)
	if err != nil {
		return broken(err)
	}
	files := tar.NewReader(b.unpacked.reader(unzipped))
	seen := map[string]bool{}
	for {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			// The data after the end of the archive counts for the digest of the layer.
			_, err := io.Copy(io.Discard, b.unpacked.reader(unzipped))
			if err != nil {
				return b.failed(err)
			}
			_, err = io.Copy(io.Discard, compressed)
			return err
		case err != nil:
			return b.failed(err)
		}
		if err := b.entry(header, files, seen); err != nil {
			return err
		}
	}
}

func (b *bundle) entry(header *tar.Header, content io.Reader, seen map[string]bool) error {
	if b.entries++; b.entries > b.limits.Entries {
		return refuse(ReasonTooLarge, "there are more than %d files and folders: push the policies alone", b.limits.Entries)
	}
	name, err := b.name(header.Name)
	switch {
	case err != nil:
		return err
	case name == "", header.Typeflag == tar.TypeDir, !b.selects(name):
		return nil
	case header.Typeflag != tar.TypeReg:
		return refuse(ReasonContentRefused, "%s is a link or no regular file, which is not followed: push the file itself", name)
	case seen[name]:
		return refuse(ReasonContentRefused, "%s is twice in one tarball: push it once", name)
	}
	seen[name] = true
	err = b.collected.add(name, header.Size, content)
	if b.unpacked.spent {
		return b.failed(errBudget)
	}
	return err
}

// name is that of a file below the folder that is wanted: "" for others. Bundles of OPA
// begin names with a slash, others with "./".
func (b *bundle) name(given string) (string, error) {
	for _, part := range strings.Split(given, "/") {
		if part == ".." || strings.ContainsAny(part, "\\\x00") {
			return "", refuse(ReasonContentRefused, "the tarball has a file named %q, which leaves its folder", shortPath(given))
		}
	}
	name := path.Clean("/" + given)[1:]
	if b.folder != "" {
		if name == b.folder {
			b.hasFolder = true
			return "", nil
		}
		below, ok := strings.CutPrefix(name, b.folder+"/")
		if !ok {
			return "", nil
		}
		b.hasFolder = true
		name = below
	}
	for _, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") {
			return "", nil
		}
	}
	return name, nil
}

func (b *bundle) failed(err error) error {
	if b.unpacked.spent {
		return refuse(ReasonTooLarge, "the tarball unpacks to more than %d bytes: push the policies alone", unpackedShare*b.limits.TotalBytes)
	}
	return broken(err)
}

func broken(err error) error {
	if errors.Is(err, errBudget) {
		return err
	}
	return refuse(ReasonContentRefused, "the artifact holds no gzipped tarball that can be read (%v): push it again", err)
}
