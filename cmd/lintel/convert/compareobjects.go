package convert

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/kyverno"
)

func mapKeys[V any](of map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range of {
			if !yield(key) {
				return
			}
		}
	}
}

func keyOf(object map[string]any) string {
	kind, _ := object["kind"].(string)
	name, namespace := nameOf(object)
	return kind + " " + namespace + "/" + name
}

func nameOf(object map[string]any) (name, namespace string) {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ = metadata["name"].(string)
	namespace, _ = metadata["namespace"].(string)
	return name, namespace
}

// testObjects are the objects in YAML files in the folder of a policy.
func testObjects(policy kyverno.Policy) (out []map[string]any, err error) {
	err = filepath.WalkDir(filepath.Dir(policy.File), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !manifests.IsManifest(file) {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, part := range strings.Split("\n"+string(text), "\n---") {
			var object map[string]any
			if yaml.Unmarshal([]byte(part), &object) != nil {
				continue
			}
			out = append(out, itemsOf(object)...)
		}
		return nil
	})
	return out, err
}

// itemsOf are the objects of a document that policies may be about.
func itemsOf(object map[string]any) (out []map[string]any) {
	if items, ok := object["items"].([]any); ok {
		for _, item := range items {
			if one, ok := item.(map[string]any); ok {
				out = append(out, itemsOf(one)...)
			}
		}
		return out
	}
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := nameOf(object)
	group, _, _ := strings.Cut(apiVersion, "/")
	if apiVersion == "" || name == "" || strings.Contains(group, "kyverno.io") || strings.Contains(group, "chainsaw") || object["kind"] == "CustomResourceDefinition" {
		return nil
	}
	return []map[string]any{object}
}
