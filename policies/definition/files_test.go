package definition

import (
	"maps"
	"slices"
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
