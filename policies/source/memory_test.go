//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package source

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// TestASourceBelowTheEnterpriseHasItsMemory: a small file may take much, on every replica
// and after every restart.
func TestASourceBelowTheEnterpriseHasItsMemory(t *testing.T) {
	compiler := testCompiler(t, patience)
	files := func(lists int) map[string]string {
		return map[string]string{"p.rego": "package p\ndeny contains \"x\" if data.big[0][0]", "data.json": `{"big":[` + strings.Repeat("[],", lists) + `[]]}`}
	}
	team := hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Namespaces: []string{"shop"}}
	_, err := compiler.Compile(t.Context(), definition.Source{Name: "team", Scope: team, Files: files(1000)})
	require.NoError(t, err)
	_, err = compiler.Compile(t.Context(), definition.Source{Name: "team", Scope: team, Files: files(300_000)})
	var errs definition.CompileErrorList
	require.ErrorAs(t, err, &errs)
	require.Contains(t, errs[0].Message, "below the enterprise a source has at most 16 MiB on each replica")
	_, err = compiler.Compile(t.Context(), definition.Source{Name: "all", Files: files(300_000)})
	require.NoError(t, err, "administrators' own")
	_, err = compiler.Compile(t.Context(), definition.Source{Name: "team", Scope: team, Files: files(3_000_000)})
	require.ErrorContains(t, err, "compiling takes more than 128 MiB of memory")
}
