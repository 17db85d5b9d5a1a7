package samples_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/suite"
)

func gatekeeperSamples(t *testing.T) definition.Source {
	t.Helper()
	files, err := source.ReadFolder("gatekeeper", definition.IsPolicyFile, source.MaxArtifactBytes)
	require.NoError(t, err)
	return definition.Source{Name: "gatekeeper", Files: files}
}

func TestTemplatesPassTheirSuites(t *testing.T) {
	results, err := suite.Run(t.Context(), gatekeeperSamples(t), suite.Options{Coverage: true})
	require.NoError(t, err)
	for _, c := range results.Cases {
		assert.Equal(t, suite.Passed, c.Outcome, "%s: %s: %s", c.File, c.Name, c.Message)
	}
	templates, err := filepath.Glob("gatekeeper/*/template.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(templates), 30)
	require.Equal(t, len(templates), results.Totals.Suites, "each template has a suite")
	require.Len(t, results.Coverage, len(templates))
	for _, file := range results.Coverage {
		assert.InDelta(t, 100, file.Percent, 0, "%s: not covered: %v", file.File, file.NotCovered)
	}
}

// TestTemplatesAreOneSource: packages and libraries of different templates have the
// same names.
func TestTemplatesAreOneSource(t *testing.T) {
	set, err := source.Compile(gatekeeperSamples(t))
	require.NoError(t, err)
	templates, err := filepath.Glob("gatekeeper/*/template.yaml")
	require.NoError(t, err)
	require.Equal(t, len(templates), set.Policies())
	require.Contains(t, set.Requires(), admission.GroupVersionKind{Group: "networking.k8s.io", Kind: "Ingress"})
}
