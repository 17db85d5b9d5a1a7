// Package dump reads the objects of a cluster from files, one at a time: manifests, lists as
// `kubectl get -o yaml` and `-o json` write them, and backups of Velero, as folders and archives.
//
// Invariant: memory depends on the largest object, and not on the number of objects. A file that
// cannot be read completely is reported: none of its objects is passed over silently.
package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/source"
)

const (
	// standardInput is the path that stands for it.
	standardInput = "-"
	// maxWholeBytes is the size up to which a file is read as a whole.
	maxWholeBytes = 8 << 20
	// maxObjectBytes bounds a single object: the API server stores none that is larger.
	maxObjectBytes = 16 << 20
)

// Dump is a set of files that can be read several times.
type Dump struct {
	paths []string
	// spool is a copy of standard input: nil if that is not one of the paths.
	spool *os.File
}

// Open checks that the paths exist, and copies standard input to a temporary file if "-" is one
// of them.
func Open(paths []string, stdin io.Reader) (*Dump, error) {
	d := &Dump{paths: paths}
	for i, path := range paths {
		if path != standardInput {
			if _, err := os.Stat(path); err != nil {
				return nil, errors.Join(fmt.Errorf("reading objects: %w", err), d.Close())
			}
			continue
		}
		if slices.Contains(paths[:i], path) {
			return nil, errors.Join(errors.New("-f - occurs twice, but standard input can be read once"), d.Close())
		}
		if err := d.copyStandardInput(stdin); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

func (d *Dump) copyStandardInput(stdin io.Reader) (err error) {
	if d.spool, err = os.CreateTemp("", "lintel-audit-"); err == nil {
		_, err = io.Copy(d.spool, stdin)
	}
	if err != nil {
		return fmt.Errorf("copying standard input: %w", err)
	}
	return nil
}

// Close removes the copy of standard input.
func (d *Dump) Close() error {
	if d.spool == nil {
		return nil
	}
	return errors.Join(d.spool.Close(), os.Remove(d.spool.Name()))
}

// Visitor receives what a Dump contains.
type Visitor struct {
	// Object is called for each object. Its error ends the reading.
	Object func(manifests.Object) error
	// Unreadable is called for each file, or rest of a file, that cannot be read: the error
	// starts with the file and the line.
	Unreadable func(error)
}

// Each visits all objects, in the order of the paths. Files of a folder are sorted by path. The
// error is that of the visitor or of the context.
func (d *Dump) Each(ctx context.Context, visitor Visitor) error {
	r := &reader{ctx: ctx, visitor: visitor}
	for _, path := range d.paths {
		r.backup = newBackup()
		if err := r.notify(d.readPath(r, path)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dump) readPath(r *reader, path string) error {
	if path == standardInput {
		if _, err := d.spool.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
		return r.file("standard input", "", d.spool)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("reading objects: %w", err)
	}
	if info.IsDir() {
		return r.folder(path)
	}
	if err := manifests.IsRendered(path); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading objects: %w", err)
	}
	defer file.Close()
	return r.file(path, path, file)
}

// reader reads files for one visitor.
type reader struct {
	ctx     context.Context
	visitor Visitor
	// backup contains the objects of a backup of Velero in the current path.
	backup *backup
}

// stopped marks an error of the visitor or of the context, in contrast to one of a file.
type stopped struct{ error }

func (s stopped) Unwrap() error { return s.error }

// notify passes the error of a file to the visitor, and returns any other.
func (r *reader) notify(err error) error {
	if err == nil {
		return nil
	}
	if stop, ok := errors.AsType[stopped](err); ok {
		return stop.error
	}
	r.visitor.Unreadable(err)
	return nil
}

// objects passes objects to the visitor. file is the one that a user can open.
func (r *reader) objects(file string, objects []manifests.Object) error {
	for _, o := range objects {
		if err := r.ctx.Err(); err != nil {
			return stopped{fmt.Errorf("reading %s: %w", o.Origin, err)}
		}
		o.File = file
		if err := r.visitor.Object(o); err != nil {
			return stopped{err}
		}
	}
	return nil
}

// folder reads the manifests and archives of a folder. A file that cannot be read does not keep
// the others from being read.
func (r *reader) folder(folder string) error {
	var rendered error
	wanted := func(name string) bool {
		if rendered == nil {
			rendered = manifests.IsRendered(filepath.Join(folder, filepath.FromSlash(name)))
		}
		return rendered == nil && (manifests.IsManifest(name) || isArchive(name)) && r.backup.wants(name)
	}
	err := source.WalkFolder(folder, wanted, func(name string, file *os.File) error {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if stop := r.notify(r.file(path, path, file)); stop != nil {
			return stopped{stop}
		}
		return nil
	})
	if rendered != nil {
		return rendered
	}
	return err
}

// file reads a file that messages call by name. It is empty for one that a user cannot open.
func (r *reader) file(name, file string, content *os.File) error {
	magic := make([]byte, 2)
	if n, err := content.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading %s: %w", name, err)
	} else if isCompressed(magic[:n]) {
		return r.compressed(name, file, content)
	}
	if filepath.Ext(name) == ".tar" {
		return r.archive(name, file, content)
	}
	info, err := content.Stat()
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return r.text(name, file, content, info.Size())
}

// text reads manifests: small ones as a whole, others as a stream.
func (r *reader) text(name, file string, content io.Reader, size int64) error {
	if size > maxWholeBytes {
		return r.stream(name, file, content)
	}
	text, err := io.ReadAll(io.LimitReader(content, maxWholeBytes+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if len(text) > maxWholeBytes {
		return fmt.Errorf("reading %s: the file grows while it is read", name)
	}
	objects, err := manifests.Parse(name, text)
	if err != nil {
		return err
	}
	return r.objects(file, objects)
}
