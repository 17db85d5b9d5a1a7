package openzro

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/stretchr/testify/require"
)

// TestRulesInRego runs the _test.rego files, which reach every line of the rules.
func TestRulesInRego(t *testing.T) {
	paths, err := filepath.Glob("*.rego")
	require.NoError(t, err)
	modules := map[string]*ast.Module{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		modules[path], err = ast.ParseModule(path, string(text))
		require.NoError(t, err)
	}
	coverage := cover.New()
	results, err := tester.NewRunner().SetTimeout(time.Hour).SetModules(modules).RaiseBuiltinErrors(true).SetCoverageQueryTracer(coverage).RunTests(t.Context(), nil)
	require.NoError(t, err)
	count := 0
	for result := range results {
		count++
		require.True(t, result.Pass(), "%v: %v", result.Location, result)
	}
	require.Positive(t, count)
	for path, file := range coverage.Report(modules).Files {
		require.InDelta(t, 100, file.Coverage, 0, "%s: not covered: %v", path, file.NotCovered)
	}
}
