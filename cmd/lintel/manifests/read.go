// Package manifests reads Kubernetes objects from files, folders and standard input.
//
// Invariant: the objects are those that would be applied. A folder whose files are rendered
// first, such as a chart, is refused.
package manifests

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/lintel-policy/lintel/policies/source"
)

// standardInput is the path that stands for it.
const standardInput = "-"

// maxManifestBytes bounds the size of the manifests in one folder: a larger one is probably the
// wrong folder.
const maxManifestBytes = 512 << 20

// Read reads the objects of files, folders and standard input.
func Read(paths []string, stdin io.Reader) ([]Object, error) {
	var objects []Object
	for i, path := range paths {
		if path == standardInput && slices.Contains(paths[:i], path) {
			return nil, errors.New("-f - is specified twice: standard input can be read only once")
		}
		found, err := readPathOrStream(path, stdin)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func readPathOrStream(path string, stdin io.Reader) ([]Object, error) {
	if path != standardInput {
		return ReadPath(path)
	}
	text, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	objects, err := Parse("standard input", text)
	for i := range objects {
		objects[i].File = ""
	}
	return objects, err
}

// IsManifest says whether a file of this name holds YAML or JSON.
func IsManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// IsRendered returns an error with the next step if the file marks a folder that is rendered
// before it is applied: the files of such a folder are not the objects that the cluster gets.
func IsRendered(file string) error {
	folder := filepath.Dir(file)
	switch filepath.Base(file) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return fmt.Errorf("%s makes %s a kustomization, whose files are not applied as they are: build it first, `kustomize build %s | lintel check -f - …`, or name its files one by one", file, folder, folder)
	case "Chart.yaml":
		return fmt.Errorf("%s makes %s a chart, whose templates are not objects yet: render it first, `helm template %s | lintel check -f - …`", file, folder, folder)
	}
	return nil
}

// ReadPath reads a file, or all YAML and JSON files of a folder and below.
func ReadPath(path string) ([]Object, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	if !info.IsDir() {
		if err := IsRendered(path); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		return Parse(path, text)
	}
	var rendered error
	files, err := source.ReadFolder(path, func(name string) bool {
		if rendered == nil {
			rendered = IsRendered(filepath.Join(path, filepath.FromSlash(name)))
		}
		return IsManifest(name)
	}, maxManifestBytes)
	if err = cmp.Or(rendered, err); err != nil {
		return nil, err
	}
	var objects []Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		found, err := Parse(filepath.Join(path, filepath.FromSlash(name)), []byte(files[name]))
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}
