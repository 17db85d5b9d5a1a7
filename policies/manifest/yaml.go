package manifest

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

const mergeTag = "!!merge"

// toJSON converts a YAML document as kubectl does, without duplicate keys.
//
// Strict decoding also refuses a mapping that overrides a key of its merge key (<<), which is
// what merge keys are for. So such a document is decoded as kubectl decodes it, once each
// mapping is known to have no duplicate keys of its own.
func toJSON(text []byte) ([]byte, error) {
	converted, err := yaml.YAMLToJSONStrict(text)
	if err == nil || !bytes.Contains(text, []byte("<<")) || CheckKeys(text) != nil {
		return converted, err
	}
	return yaml.YAMLToJSON(text)
}

// CheckKeys refuses a YAML document in which a mapping has a key twice. Keys of a merge
// (<<) are not keys of the mapping: it may override them.
func CheckKeys(text []byte) error {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return err
	}
	return checkNode(&document)
}

func checkNode(node *yamlv3.Node) error {
	if node.Kind == yamlv3.MappingNode {
		lines := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind == yamlv3.AliasNode {
				key = key.Alias
			}
			if key.Kind != yamlv3.ScalarNode || key.Tag == mergeTag {
				continue
			}
			if first, ok := lines[key.Value]; ok {
				return fmt.Errorf("yaml: line %d: key %q is already set in line %d", node.Content[i].Line, key.Value, first)
			}
			lines[key.Value] = node.Content[i].Line
		}
	}
	for _, child := range node.Content {
		if err := checkNode(child); err != nil {
			return err
		}
	}
	return nil
}
