package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

// cache is the last answer about one node, in a file of its own.
type cache struct {
	endpoints.Cache
	certname string
}

// path has a prefix, for a certname may be that of a device to some file systems.
func (c cache) path() string { return filepath.Join(c.Directory, "node-"+c.certname) }

// write has the whole answer in the file, or the one before.
func (c cache) write(answer []byte) (err error) {
	if !c.Enabled {
		return nil
	}
	file, err := os.CreateTemp(c.Directory, "new-") // of mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(answer)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.path())
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func (c cache) remove() error {
	if !c.Enabled {
		return nil
	}
	if err := os.Remove(c.path()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// read is nil where there is no answer.
func (c cache) read() (answer []byte, at string, err error) {
	if !c.Enabled {
		return nil, "", nil
	}
	answer, err = os.ReadFile(c.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if !json.Valid(answer) {
		return nil, "", fmt.Errorf("%s is damaged; delete it", c.path())
	}
	info, err := os.Stat(c.path())
	if err != nil {
		return nil, "", err
	}
	return answer, info.ModTime().UTC().Format(time.RFC3339), nil
}
