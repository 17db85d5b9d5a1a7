package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lintel-policy/lintel/policies/source"
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

// isRendered says of a file that marks a folder which is rendered before it is applied
// what to do: what is in the folder is not what the cluster gets.
func isRendered(file string) error {
	folder := filepath.Dir(file)
	switch filepath.Base(file) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return fmt.Errorf("%s makes %s a kustomization, whose files are not what is applied: build it first, `kustomize build %s | lintel check -f - …`, or name its files one by one", file, folder, folder)
	case "Chart.yaml":
		return fmt.Errorf("%s makes %s a chart, whose templates are no objects yet: render it first, `helm template %s | lintel check -f - …`", file, folder, folder)
	}
	return nil
}

// readManifestPath reads a file, or all YAML and JSON files of a folder and below.
func readManifestPath(path string) ([]object, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	if !info.IsDir() {
		if err := isRendered(path); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		return readObjects(path, text)
	}
	var rendered error
	files, err := source.ReadFolder(path, func(name string) bool {
		if rendered == nil {
			rendered = isRendered(filepath.Join(path, filepath.FromSlash(name)))
		}
		return isManifest(name)
	}, maxManifestBytes)
	if err = cmp.Or(rendered, err); err != nil {
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
