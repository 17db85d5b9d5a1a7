package definition

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/loader"
	"github.com/stretchr/testify/require"
)

const bom = "\uFEFF"

// TestDataIsReadAsOPAReadsIt: by OPA's own loader, which `opa eval -d` and conftest use.
func TestDataIsReadAsOPAReadsIt(t *testing.T) {
	for name, c := range map[string]struct{ file, text string }{
		"booleans of YAML 1.1": {"data.yaml", "flags: {a: yes, b: on, n: 0644, o: 0o644, y: y, no: 1, t: true, u: True, v: ~, w: null}"},
		"numbers":              {"data.yaml", "{a: 1e3, b: 1.0, c: 0x1F, d: 1_000, e: 12345678901234567890, f: .5, g: -0, h: '1', i: 1:30, j: 0b11}"},
		"times":                {"data.yaml", "{a: 2023-01-01, b: 2023-01-01T00:00:00Z}"},
		"keys":                 {"data.yaml", "{1: a, true: b, 1.5: c, yes: d}"},
		"binary":               {"data.yaml", "a: !!binary aGVsbG8="},
		"tags":                 {"data.yml", "{a: !!str 1, b: !!float 1}"},
		"an overridden merge":  {"data.yaml", "base: &b {x: 1, z: 2}\nover:\n  <<: *b\n  x: 3"},
		"a merge after":        {"data.yaml", "base: &b {x: 1, z: 2}\nover:\n  x: 3\n  <<: *b"},
		"two merge keys":       {"data.yaml", "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nover:\n  <<: *a\n  <<: *b\n  w: 3"},
		"merge of a list":      {"data.yaml", "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nover:\n  <<: [*a, *b]\n  z: 3"},
		"multi-line strings":   {"data.yaml", "a: |\n  x\n  y\nb: >\n  x\n  y\n"},
		"two documents":        {"data.yaml", "a: 1\n---\nb: 2"},
		"byte order mark":      {"data.yaml", bom + "a: yes"},
		"JSON":                 {"data.json", `{"a": 1e3, "b": 1.0, "c": 12345678901234567890, "d": "yes", "e": 1E-2}`},
		"JSON in YAML":         {"data.yaml", `{"a": 1000, "b": "yes"}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			loaded, err := loader.NewFileLoader().All([]string{path})
			require.NoError(t, err)
			want, err := ast.InterfaceToValue(loaded.Documents)
			require.NoError(t, err)
			data, errs := ReadData(map[string]string{c.file: c.text})
			require.Empty(t, errs)
			require.Zero(t, want.Compare(data), "%v, not %v", data, want)
			var both [2][]byte // numbers compare by value; policies can print them
			for i, value := range []ast.Value{want, data} {
				plain, err := ast.JSON(value)
				require.NoError(t, err)
				both[i], err = json.Marshal(plain)
				require.NoError(t, err)
			}
			require.Equal(t, string(both[0]), string(both[1]))
		})
	}
}

// TestByteOrderMarks: METADATA in the first line is in the first column.
func TestByteOrderMarks(t *testing.T) {
	const policy = "# METADATA\n# title: x\npackage p\n\ndeny contains \"x\"\n"
	for _, text := range []string{policy, bom + policy, bom + "# METADATA\n# title: x\npackage p\n\ndeny[\"x\"] { true }\n"} {
		module, errs := ParseModule("p.rego", text)
		require.Empty(t, errs)
		require.Len(t, module.Annotations, 1)
		require.Equal(t, "x", module.Annotations[0].Title)
	}
	data, errs := ReadData(map[string]string{"data.json": bom + `{"a": 1}`})
	require.Empty(t, errs)
	require.Equal(t, 1, data.Len())
}
