package record

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"time"
)

// OpenFolder opens the store in a folder, which must exist. Records are confidential: files and
// folders that it creates are for the owner alone.
func OpenFolder(name string) (*Store, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of records: %w", err)
	}
	return &Store{folder{root}}, nil
}

// folder keeps segments in folders by day. Its root does not follow links that leave it.
type folder struct{ root *os.Root }

func (f folder) close() error { return f.root.Close() }

func (f folder) durable() bool { return true }

func (f folder) segmentLimits() (int64, time.Duration) { return 64 << 20, time.Hour }

func (f folder) list(ctx context.Context, day func(string) bool) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		days, err := fs.ReadDir(f.root.FS(), ".")
		if err != nil {
			yield(entry{}, fmt.Errorf("listing records: %w", err))
			return
		}
		for _, of := range days {
			if !of.IsDir() || !day(of.Name()) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(entry{}, err)
				return
			}
			files, err := fs.ReadDir(f.root.FS(), of.Name())
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				yield(entry{}, fmt.Errorf("listing records: %w", err))
				return
			}
			for _, file := range files {
				info, err := file.Info()
				if err != nil || !info.Mode().IsRegular() { // deleted meanwhile, or a device
					continue
				}
				if !yield(entry{path.Join(of.Name(), file.Name()), info.Size()}, nil) {
					return
				}
			}
		}
	}
}

func (f folder) open(_ context.Context, name string) (io.ReadCloser, error) {
	// A file that was replaced by a pipe must not block the reader.
	if info, err := f.root.Lstat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return f.root.Open(name)
}

// put renames a complete file, so that no reader sees a part of it.
func (f folder) put(_ context.Context, name string, from io.Reader) error {
	if err := f.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	temporary := fmt.Sprintf("%s.%s.tmp", name, rand.Text())
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = f.root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(temporary))
	}
	return nil
}

func (f folder) create(_ context.Context, name string) (sink, error) {
	if err := f.root.Mkdir(path.Dir(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &fileSink{root: f.root, file: file, name: name}, nil
}

func (f folder) remove(_ context.Context, name string) error {
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A folder with other segments stays.
	_ = f.root.Remove(path.Dir(name))
	return nil
}

// fileSink is a file under its open name until it is complete.
type fileSink struct {
	root *os.Root
	file *os.File
	name string
	size int64
}

// append undoes an incomplete write. If that is impossible, readers stop at the incomplete frame.
func (s *fileSink) append(frame []byte) error {
	n, err := s.file.Write(frame)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, s.file.Truncate(s.size))
		}
		return err
	}
	s.size += int64(n)
	return nil
}

func (s *fileSink) commit(_ context.Context, name string) error {
	if s.size == 0 {
		return errors.Join(s.file.Close(), s.root.Remove(s.name))
	}
	return errors.Join(s.file.Sync(), s.file.Close(), s.root.Rename(s.name, name))
}
