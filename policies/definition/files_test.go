package definition

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModulesAreThoseThatCompile(t *testing.T) {
	modules, err := Modules(Source{Files: map[string]string{
		"p.rego": "package p\ndeny contains \"x\"", "old.rego": "package q\ndeny[\"x\"] { true }",
		"p_test.rego": "package p_test", "data.yaml": "a: 1",
	}})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"p.rego", "old.rego"}, slices.Sorted(maps.Keys(modules)))

	_, err = Modules(Source{Files: map[string]string{"p.rego": "package p\n}"}})
	require.ErrorContains(t, err, "p.rego:2")
}

func TestDataThatIsRefused(t *testing.T) {
	aliases := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for _, pair := range []string{"ba", "cb", "dc", "ed", "fe", "gf"} {
		aliases += fmt.Sprintf("%c: &%[1]c [%s]\n", pair[0], strings.Repeat(","+"*"+pair[1:], 10)[1:])
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"two folders":                  {map[string]string{"a/data.yaml": "x: 1", "b/data.json": `{"x": 2}`}, ""},
		"keys of one object":           {map[string]string{"a/data.yaml": "x: 1", "a/data.json": `{"y": 2}`}, ""},
		"one value twice":              {map[string]string{"a/data.yaml": "x: 1", "data.json": `{"a": {"x": 2}}`}, "sets a value that another data file sets, too"},
		"a list":                       {map[string]string{"data.yaml": "[1]"}, "data files hold an object at the top"},
		"a key twice":                  {map[string]string{"data.yaml": "x: 1\nx: 2"}, `line 2: key "x" is already set in line 1`},
		"a key twice, next to a merge": {map[string]string{"data.yaml": "a: &a {x: 1}\nb:\n  <<: *a\n  x: 1\n  x: 2"}, `line 5: key "x" is already set in line 4`},
		"a key twice in JSON":          {map[string]string{"data.json": `{"x": 1, "x": 2}`}, "duplicate"},
		"objects of the cluster":       {map[string]string{"data.yaml": "cluster: {}"}, "data.cluster is reserved; use another key"},
		"a folder of that name":        {map[string]string{"lintel/data.yaml": "a: 1"}, "data.lintel is reserved; use another key"},
		"aliases of aliases":           {map[string]string{"data.yaml": aliases}, "its aliases stand for more than 1048576 values or 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := ReadData(c.files)
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1)
			require.ErrorContains(t, errs, c.want)
		})
	}
}
