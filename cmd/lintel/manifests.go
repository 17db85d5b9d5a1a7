package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// standardInput is the path that stands for it.
const standardInput = "-"

// maxManifestBytes bounds what is read from one folder: somebody named the wrong one.
const maxManifestBytes = 512 << 20

// readManifests reads the objects of files, folders and standard input.
func readManifests(paths []string, stdin io.Reader) ([]object, error) {
	var objects []object
	stdinRead := false
	for _, path := range paths {
		var found []object
		var err error
		switch {
		case path != standardInput:
			found, err = readManifestPath(path)
		case stdinRead:
			err = fmt.Errorf("-f - is given twice, but standard input can be read once")
		default:
			stdinRead = true
			found, err = readManifestStream(stdin)
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func readManifestStream(stdin io.Reader) ([]object, error) {
	text, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return readObjects("standard input", text)
}

// readManifestPath reads a file, or all YAML and JSON files of a folder and below.
func readManifestPath(path string) ([]object, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	if !info.IsDir() {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		return readObjects(path, text)
	}
	files, err := readFolder(path, isManifest, maxManifestBytes)
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, name := range sortedNames(files) {
		found, err := readObjects(filepath.Join(path, filepath.FromSlash(name)), []byte(files[name]))
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}
