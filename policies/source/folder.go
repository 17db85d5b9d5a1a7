package source

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ReadFolder reads the wanted files below a folder, by their slash-separated paths in it;
// together they have at most limit bytes. Hidden files are skipped. Links that leave the folder,
// and links to folders, are errors: an incomplete policy is worse than none.
func ReadFolder(folder string, wanted func(name string) bool, limit int64) (map[string]string, error) {
	files := map[string]string{}
	err := WalkFolder(folder, wanted, func(name string, file *os.File) error {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if info.Size() > limit {
			return fmt.Errorf("%s and the files before it are too large together: name a smaller folder", name)
		}
		text, err := io.ReadAll(file)
		limit -= int64(len(text))
		files[name] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// WalkFolder opens the files that ReadFolder reads, one after the other and sorted by path,
// and closes each after the visit.
func WalkFolder(folder string, wanted func(name string) bool, visit func(name string, file *os.File) error) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("reading the folder: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		isLink := err == nil && entry.Type()&fs.ModeSymlink != 0
		switch {
		case err != nil:
			return err
		case isHidden(name) && entry.IsDir():
			return fs.SkipDir
		case isHidden(name), entry.IsDir():
			return nil
		case isLink && isFolder(filepath.Join(folder, filepath.FromSlash(name))):
			return fmt.Errorf("%s is a link to a folder, which is not followed: replace it by the folder", name)
		case !wanted(name):
			return nil
		}
		file, err := openRegular(root, name)
		if err != nil && isLink {
			return fmt.Errorf("%s is a link that leaves the folder or leads nowhere: replace it by the file", name)
		}
		if err != nil {
			return err
		}
		defer file.Close()
		return visit(name, file)
	})
	if err != nil {
		return fmt.Errorf("reading the folder %s: %w", folder, err)
	}
	return nil
}

// openRegular opens a file that is neither pipe nor device.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return root.Open(filepath.FromSlash(name))
}

func isHidden(name string) bool {
	return name != "." && strings.HasPrefix(path.Base(name), ".")
}

func isFolder(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.IsDir()
}
