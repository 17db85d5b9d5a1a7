package source

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

// manyPolicies are the sample policies again and again, each time in packages of
// their own.
func manyPolicies(tb testing.TB, sources int) engine.Source {
	tb.Helper()
	files, err := ReadFolder("../../config/samples/policies", engine.IsPolicyFile, MaxArtifactBytes)
	require.NoError(tb, err)
	many := map[string]string{}
	for i := range sources {
		for name, text := range files {
			if strings.HasSuffix(name, ".rego") && !strings.HasSuffix(name, "_test.rego") {
				folder := fmt.Sprintf("samples%d", i)
				many[folder+"/"+name] = strings.NewReplacer("package samples.", "package "+folder+".", "import data.samples.", "import data."+folder+".").Replace(text)
			}
		}
	}
	return engine.Source{Name: "many", Files: many}
}

// BenchmarkCompile500 is what the gate takes for a source of 500 policies, without
// and with the check of references.
func BenchmarkCompile500(b *testing.B) {
	many := manyPolicies(b, 50)
	for name, schemas := range map[string]Schemas{"plain": nil, "references": schemasWith(b)} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				compiler := testCompiler(b, time.Minute)
				compiler.Schemas = schemas
				many.Revision = fmt.Sprint(i)
				set, err := compiler.Compile(b.Context(), many)
				require.NoError(b, err)
				require.Equal(b, 500, set.Policies())
			}
		})
	}
}

// BenchmarkReferences500 is the check of references alone: of all policies, and of one
// that changed.
func BenchmarkReferences500(b *testing.B) {
	many := manyPolicies(b, 50)
	set, err := engine.Compile(many)
	require.NoError(b, err)
	request := referenceRequest{Checks: referenceChecks(b.Context(), schemasWith(b), matchesOf(set))}
	first, err := checkReferences(set, matchesOf(set), request)
	require.NoError(b, err)
	require.Len(b, first.Clean, 500)
	for name, clean := range map[string][]string{"all": nil, "one": first.Clean[1:]} {
		b.Run(name, func(b *testing.B) {
			request := referenceRequest{Checks: request.Checks, Clean: clean}
			for b.Loop() {
				answer, err := checkReferences(set, matchesOf(set), request)
				require.NoError(b, err)
				require.Empty(b, answer.Errors)
			}
		})
	}
}
