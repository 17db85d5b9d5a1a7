package sources

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/config/crd"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/manifest"
	"github.com/lintel-policy/lintel/policies/source/schema"
)

// Definitions are the CustomResourceDefinitions among the files of a source, by their
// paths, and those of Lintel's kinds that are not among them; and the kinds of a cluster
// that has them.
func Definitions(files map[string]string) ([]*schema.Definition, *admission.Resources, error) {
	own, err := ownDefinitions()
	if err != nil {
		return nil, nil, err
	}
	given, err := readDefinitions(files)
	if err != nil {
		return nil, nil, err
	}
	definitions := slices.Clone(own)
	var defined []admission.ServedResource
	for _, definition := range given {
		definitions = append(slices.DeleteFunc(definitions, definition.IsOfKind), definition)
		defined = append(defined, definition.Resources()...)
	}
	return definitions, admission.BuiltinResourcesWith(defined...), nil
}

// ownDefinitions are those of Lintel's kinds.
var ownDefinitions = sync.OnceValues(func() ([]*schema.Definition, error) {
	files := map[string]string{}
	err := fs.WalkDir(crd.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := crd.Files.ReadFile(name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return readDefinitions(files)
})

func readDefinitions(files map[string]string) ([]*schema.Definition, error) {
	var definitions []*schema.Definition
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !manifests.IsManifest(name) || !strings.Contains(files[name], "CustomResourceDefinition") {
			continue
		}
		documents, err := manifest.Read(name, []byte(files[name]))
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			definition, err := schema.ReadDefinition(document.JSON)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", document, err)
			}
			if definition != nil {
				definitions = append(definitions, definition)
			}
		}
	}
	return definitions, nil
}
