package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestMergeKeys: merge keys, overridden or not, are read as kubectl reads them.
func TestMergeKeys(t *testing.T) {
	const anchors = "a: &a {x: 1, z: 2}\nb: &b {x: 5, y: 6}\n"
	for name, text := range map[string]string{
		"overridden":                anchors + "over:\n  <<: *a\n  x: 3",
		"overridden before":         anchors + "over:\n  x: 3\n  <<: *a",
		"not overridden":            anchors + "over:\n  <<: *a\n  w: 3",
		"a list of maps":            anchors + "over:\n  <<: [*a, *b]\n  w: 3",
		"a list that is overridden": anchors + "over:\n  <<: [*a, *b]\n  x: 3",
		"two merge keys":            anchors + "over:\n  <<: *a\n  <<: *b\n  x: 3",
		"a map without an anchor":   "over:\n  <<: {x: 1}\n  x: 3",
		"within a merged map":       anchors + "c: &c\n  <<: *a\n  x: 3\nover:\n  <<: *c\n  x: 4",
		"in a list":                 "list:\n- &base {name: web, image: a}\n- <<: *base\n  name: sidecar",
		"a nested map":              "a: &a {x: {y: 1}}\nover:\n  <<: *a\n  x: {z: 2}",
		"YAML 1.1":                  "a: &a {x: yes, n: 0644}\nover:\n  <<: *a\n  x: off",
		"a key by an alias":         "k: &k x\nover:\n  <<: {x: 1}\n  *k : 2",
		"no merge key":              "over:\n  \"<<\": {x: 1}\n  x: 3",
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := Read("a.yaml", []byte(text))
			require.NoError(t, err)
			require.Len(t, documents, 1)
			var ours, kubectl any
			require.NoError(t, yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096).Decode(&kubectl))
			require.NoError(t, json.Unmarshal(documents[0].JSON, &ours))
			require.Equal(t, kubectl, ours)
		})
	}
}

// TestDuplicateKeys are refused with their line, next to merge keys, too.
func TestDuplicateKeys(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":                     {"x: 1\nx: 2", `a.yaml:2: key "x" already set in map`},
		"with a merge":              {"a: &a {x: 1}\nover:\n  <<: *a\n  x: 3\n  x: 4", "a.yaml:4: key"},
		"in another map":            {"a: &a {x: 1}\nover:\n  <<: *a\n  x: 3\nother:\n  y: 3\n  y: 4", "a.yaml:4: key"},
		"in the merged map":         {"a: &a {x: 1, x: 2}\nover:\n  <<: *a\n  x: 3", "a.yaml:1: key"},
		"in the map of an alias":    {"a: &a\n  y: {z: 1, z: 2}\nover:\n  <<: *a\n  y: 3", "a.yaml:2: key"},
		"by an alias":               {"k: &k x\nover:\n  <<: {x: 1}\n  *k : 2\n  x: 3", "a.yaml:4: key"},
		"of a merge without a map":  {"over:\n  <<: 1\n  x: 3", "map merge requires map"},
		"an anchor that is missing": {"over:\n  <<: *b\n  x: 3", "unknown anchor"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("a.yaml", []byte(c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
}
