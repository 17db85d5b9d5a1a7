package openclaw

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/suite"
)

// TestRulesInRego runs the _test.rego files, which reach every line of the rules.
func TestRulesInRego(t *testing.T) {
	files := map[string]string{}
	names, err := fs.Glob(os.DirFS("."), "*.rego")
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files[name] = string(text)
	}
	results, err := suite.Run(t.Context(), definition.Source{Name: "openclaw", Files: files}, suite.Options{Coverage: true})
	require.NoError(t, err)
	require.Positive(t, results.Totals.Passed)
	for _, c := range results.Cases {
		require.Equal(t, suite.Passed, c.Outcome, "%s:%d: %s", c.File, c.Line, c.Message)
	}
	for _, file := range results.Coverage {
		require.InDelta(t, 100, file.Percent, 0, "%s: not covered: %v", file.File, file.NotCovered)
	}
}
