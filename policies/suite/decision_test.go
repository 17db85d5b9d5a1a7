package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// TestViolationsCountOnce, even if an object and its expansion have the same ones.
func TestViolationsCountOnce(t *testing.T) {
	one := engine.Finding{Words: "no team", Details: map[string]any{"team": "red"}}
	other := engine.Finding{Words: "no team", Details: map[string]any{"team": "blue"}}
	found, err := violations(&engine.Decision{Denials: []engine.Finding{one, other, one}, Warnings: []engine.Finding{one}, Audits: []engine.Finding{{Words: "no owner"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"no team", "no team", "no owner"}, found)
	_, err = violations(&engine.Decision{Warnings: []engine.Finding{one, {Words: "it took too long", Error: true}}})
	require.ErrorContains(t, err, "it took too long")
}

// TestAnInvalidConstraintIsInvalidItself: an error in the template is not reported for the
// constraint.
func TestAnInvalidConstraintIsInvalidItself(t *testing.T) {
	constraint, template := definition.CompileError{File: "constraint.yaml"}, definition.CompileError{File: "template.yaml"}
	require.True(t, isAbout(definition.CompileErrorList{constraint, constraint}, "constraint.yaml"))
	require.False(t, isAbout(definition.CompileErrorList{constraint, template}, "constraint.yaml"))
}

// TestAllOutputsTogetherAreBounded: each case may print up to its own bound.
func TestAllOutputsTogetherAreBounded(t *testing.T) {
	r := &runner{}
	for range 2 * maxOutputsBytes / MaxOutputBytes {
		r.add(Case{Outcome: Passed, Output: strings.Repeat("x", 2*MaxOutputBytes)})
	}
	total := 0
	for _, c := range r.results.Cases {
		require.LessOrEqual(t, len(c.Output), MaxOutputBytes)
		total += len(c.Output)
	}
	require.Equal(t, maxOutputsBytes, total)
	require.Equal(t, len(r.results.Cases), r.results.Totals.Passed)
}
