package exceptions

import (
	"embed"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/suite"
)

//go:embed *.rego
var testFiles embed.FS

// TestRego runs the tests of the rule, which must reach all of it.
func TestRego(t *testing.T) {
	t.Parallel()
	entries, err := testFiles.ReadDir(".")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, entry := range entries {
		text, err := testFiles.ReadFile(entry.Name())
		require.NoError(t, err)
		texts[entry.Name()] = string(text)
	}
	results, err := suite.Run(t.Context(), definition.Source{Name: "exceptions", Files: texts}, suite.Options{})
	require.NoError(t, err)
	assert.Equal(t, 0, results.Totals.Failed, "%+v", results)
	assert.Equal(t, 9, results.Totals.Cases)
}
