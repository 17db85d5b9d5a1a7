package manifests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// titles are what Parse found, each with the place it was found at.
func titles(objects []Object) []string {
	out := []string{}
	for _, o := range objects {
		out = append(out, o.Kind.GroupVersion().String()+" "+o.Title()+" @ "+o.Origin)
	}
	return out
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		file, text string
		want       []string
	}{
		"nothing":       {"f.yaml", "", []string{}},
		"only comments": {"f.yaml", "# one\n---\n# two\n--- # three\n", []string{}},
		"one":           {"f.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}", []string{"v1 Pod a @ f.yaml:1: document 1"}},
		"byte order mark": {"f.json", "\uFEFF{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}", []string{
			"v1 Pod (no name) @ f.json:1: document 1",
		}},
		"several": {"f.yaml", "---\n# first\napiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n--- # next\r\n\r\n---\nkind: Deployment\napiVersion: apps/v1\nmetadata: {generateName: b-}\n", []string{
			"v1 Pod shop/a @ f.yaml:3: document 1",
			"apps/v1 Deployment b- @ f.yaml:9: document 2",
		}},
		"markers inside text": {"f.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    x\n    ---\n    y\n", []string{
			"v1 ConfigMap (no name) @ f.yaml:1: document 1",
		}},
		"JSON in a row": {"f.json", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}", []string{
			"v1 Pod (no name) @ f.json:1: document 1",
			"v1 Secret (no name) @ f.json:3: document 2",
		}},
		"JSON between markers": {"f.yaml", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}", []string{
			"v1 Pod (no name) @ f.yaml:1: document 1",
			"v1 Secret (no name) @ f.yaml:3: document 2",
		}},
		"flow style": {"f.yaml", "{apiVersion: v1, kind: Pod}", []string{"v1 Pod (no name) @ f.yaml:1: document 1"}},
		"list": {"f.yaml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n- apiVersion: v1\n  kind: List\n  items: [{apiVersion: v1, kind: Secret}]\n", []string{
			"v1 Pod (no name) @ f.yaml:1: document 1, items[0]",
			"v1 Secret (no name) @ f.yaml:1: document 1, items[1], items[0]",
		}},
		"typed list": {"f.yaml", "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: a}\n- {apiVersion: v1, kind: Pod}\n", []string{
			"apps/v1 Deployment a @ f.yaml:1: document 1, items[0]",
			"v1 Pod (no name) @ f.yaml:1: document 1, items[1]",
		}},
		"empty list":                  {"f.yaml", "apiVersion: v1\nkind: List\n", []string{}},
		"a kind that is named a list": {"f.yaml", "apiVersion: x.io/v1\nkind: AllowList\n", []string{"x.io/v1 AllowList (no name) @ f.yaml:1: document 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse(test.file, []byte(test.text))
			require.NoError(t, err)
			assert.Equal(t, test.want, titles(objects))
		})
	}
}

func TestParseKeepsNumbersAndYAML11(t *testing.T) {
	objects, err := Parse("f.yaml", []byte("apiVersion: v1\nkind: X\nspec: {big: 9007199254740993, on: yes}"))
	require.NoError(t, err)
	text, err := objects[0].JSON()
	require.NoError(t, err)
	assert.Contains(t, string(text), `"big":9007199254740993`)
	assert.Contains(t, string(text), `"true":true`, "kubectl reads YAML 1.1, where on and yes are booleans")
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ file, text, want string }{
		"duplicate key":             {"f.yaml", "a: 1\n---\nkind: Pod\nmetadata:\n  name: a\n  name: b\n", `f.yaml:6: key "name" already set in map`},
		"broken YAML":               {"f.yaml", "a: 1\n---\nkind: [\n", "f.yaml:"},
		"tab":                       {"f.yaml", "a:\n\tb: 1\n", "f.yaml:2: found character that cannot start any token"},
		"text after a marker":       {"f.yaml", "a: 1\n--- b: 2\n", "f.yaml:2: put what follows --- on a line of its own"},
		"duplicate key in JSON":     {"f.json", "{\"kind\":\"Pod\",\n\"kind\":\"Pod\"}", "f.json:2: reading JSON: duplicate object member name"},
		"second JSON is broken":     {"f.yaml", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n{]", "f.yaml:2: reading JSON: "},
		"JSON cut off":              {"f.json", "{\"kind\":", "f.json:1: reading JSON: unexpected EOF"},
		"text in JSON":              {"f.json", "{kind: Pod}", "f.json:1: reading JSON: invalid character 'k'"},
		"text":                      {"f.yaml", "hello", "f.yaml:1: document 1 is not a Kubernetes object: it has no fields"},
		"no identity":               {"f.yaml", "apiVersion: v1\nkind: Pod\n---\n# values\nreplicas: 3\n", "f.yaml:5: document 2 is not a Kubernetes object: it has no apiVersion and no kind"},
		"no apiVersion":             {"f.yaml", "kind: Pod", "f.yaml:1: document 1: Pod has no apiVersion"},
		"no kind":                   {"f.yaml", "apiVersion: v1", "f.yaml:1: document 1 has no kind"},
		"apiVersion of three parts": {"f.yaml", "apiVersion: a/b/c\nkind: X", `apiVersion "a/b/c" is not <group>/<version>`},
		"name that is a number":     {"f.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: 1}", "metadata.name is not a string: put it in quotes"},
		"metadata that is a list":   {"f.yaml", "apiVersion: v1\nkind: Pod\nmetadata: []", "metadata is not an object"},
		"item that is text":         {"f.yaml", "apiVersion: v1\nkind: List\nitems: [x]", "f.yaml:1: document 1, items[0] is not a Kubernetes object"},
		"items that are text":       {"f.yaml", "apiVersion: v1\nkind: List\nitems: x", "items is not a list"},
		"invalid UTF-8":             {"f.yaml", "apiVersion: v1\nkind: \"\xff\"", "f.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(test.file, []byte(test.text))
			require.ErrorContains(t, err, test.want)
			assert.True(t, strings.HasPrefix(err.Error(), test.file+":"), err)
		})
	}
}

// Every object that is read from any text has an identity and a line in the file, and its JSON
// decodes to the same object.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}{}",
		"apiVersion: v1\nkind: PodList\nitems:\n- &a {metadata: {name: b}}\n- *a\n",
		"--- #\r\n...\n---\n",
		"kind: a\nkind: b",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := Parse("f.yaml", text)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f.yaml:"), err)
			return
		}
		for _, o := range objects {
			require.NotEmpty(t, o.Kind.Kind)
			require.NotEmpty(t, o.Kind.Version)
			text, err := o.JSON()
			require.NoError(t, err)
			require.True(t, json.Valid(text))
			again, err := Parse("f.json", text)
			require.NoError(t, err)
			if len(again) == 1 {
				require.Equal(t, o.fields, again[0].fields)
			}
		}
	})
}
