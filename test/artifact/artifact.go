// Package artifact keeps files that are expensive to make in the user's cache folder.
//
// A file in the cache is complete or absent: it is written under another name, and its name has
// the digest of its content, which is verified each time that it is read.
package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Folder is that of the cache. It exists.
func Folder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	folder := filepath.Join(cache, "lintel", "artifacts")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache folder: %w", err)
	}
	return folder, nil
}

// File returns the file that is stored for a key. When there is none, or its content has
// changed, the file is created, and others of its kind are removed: kind is the type of the
// file, and key has all of its inputs.
func File(kind, key string, make func(path string) error) (string, error) {
	folder, err := Folder()
	if err != nil {
		return "", err
	}
	return fileIn(folder, kind, key, make)
}

func fileIn(folder, kind, key string, make func(path string) error) (string, error) {
	sum := sha256.Sum256([]byte(key))
	prefix := filepath.Join(folder, kind+"-"+hex.EncodeToString(sum[:8])+"-")
	found, err := filepath.Glob(prefix + "*")
	if err != nil {
		return "", fmt.Errorf("searching %s: %w", folder, err)
	}
	for _, path := range found {
		if digest, err := Digest(path); err == nil && path == prefix+digest {
			return path, nil
		}
	}
	scratch, err := os.MkdirTemp(folder, ".unfinished-")
	if err != nil {
		return "", fmt.Errorf("creating a folder for %s: %w", kind, err)
	}
	defer os.RemoveAll(scratch)
	unfinished := filepath.Join(scratch, "file")
	if err := make(unfinished); err != nil {
		return "", fmt.Errorf("making %s: %w", kind, err)
	}
	digest, err := Digest(unfinished)
	if err != nil {
		return "", err
	}
	if err := os.Rename(unfinished, prefix+digest); err != nil {
		return "", fmt.Errorf("storing %s: %w", kind, err)
	}
	return prefix + digest, removeOthers(folder, kind, prefix+digest)
}

// removeOthers removes files of a kind, which other packages or commits have left.
func removeOthers(folder, kind, but string) error {
	all, err := filepath.Glob(filepath.Join(folder, kind+"-*"))
	if err != nil {
		return fmt.Errorf("searching %s: %w", folder, err)
	}
	var problems error
	for _, path := range all {
		if path != but {
			problems = errors.Join(problems, os.Remove(path))
		}
	}
	return problems
}

// Digest is the SHA-256 of a file, in hexadecimal.
func Digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
