package source

import (
	"fmt"
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
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the folder: %w", err)
	}
	defer root.Close()
	files := map[string]string{}
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
		text, err := readRegular(root, name, limit)
		if err != nil && isLink {
			return fmt.Errorf("%s is a link that leaves the folder or leads nowhere: replace it by the file", name)
		}
		if err != nil {
			return err
		}
		limit -= int64(len(text))
		files[name] = text
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the folder %s: %w", folder, err)
	}
	return files, nil
}

// readRegular reads a file of at most limit bytes that is neither pipe nor device.
func readRegular(root *os.Root, name string, limit int64) (string, error) {
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", name)
	case info.Size() > limit:
		return "", fmt.Errorf("%s and the files before it are too large together: name a smaller folder", name)
	}
	text, err := root.ReadFile(filepath.FromSlash(name))
	return string(text), err
}

func isHidden(name string) bool {
	return name != "." && strings.HasPrefix(path.Base(name), ".")
}

func isFolder(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.IsDir()
}
