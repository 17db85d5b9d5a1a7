package installation

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Depend opens the files of folders of the checkout. Go's test cache then runs a test again
// when one of them has changed, also if only programs that the test starts read them.
func Depend(folders ...string) error {
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(Root(), folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			return file.Close()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
