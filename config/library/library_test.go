// Package library_test checks the library of policies: the policies are formatted, tested in
// every branch, and each denies its bad manifest and admits its good one.
package library_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/library"
)

func TestPoliciesAreFormatted(t *testing.T) {
	t.Parallel()
	for path, text := range files(t) {
		if filepath.Ext(path) != ".rego" {
			continue
		}
		formatted, err := format.Source(path, []byte(text))
		require.NoError(t, err)
		assert.Equal(t, string(formatted), text, "%s: run make fmt", path)
	}
}

func TestPoliciesPassTheirTests(t *testing.T) {
	t.Parallel()
	modules := map[string]*ast.Module{}
	for path, text := range files(t) {
		if filepath.Ext(path) == ".rego" {
			module, err := ast.ParseModuleWithOpts(path, text, ast.ParserOptions{ProcessAnnotation: true})
			require.NoError(t, err)
			modules[path] = module
		}
	}
	coverage := cover.New()
	results, err := tester.NewRunner().SetTimeout(time.Hour).SetModules(modules).RaiseBuiltinErrors(true).
		SetCoverageQueryTracer(coverage).RunTests(t.Context(), nil)
	require.NoError(t, err)
	tests := 0
	for result := range results {
		tests++
		assert.True(t, result.Pass(), "%v: %v", result.Location, result)
	}
	require.Greater(t, tests, 60)
	for path, file := range coverage.Report(modules).Files {
		assert.InDelta(t, 100, file.Coverage, 0, "%s: not covered: %v", path, file.NotCovered)
	}
}

// TestRulesAreDocumented: each rule that denies has a title, which reports show.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	texts := files(t)
	for _, policy := range read(t).Policies {
		file := policy.Folder + "/" + policy.Name + ".rego"
		module, err := ast.ParseModuleWithOpts(file, texts[file], ast.ParserOptions{ProcessAnnotation: true})
		require.NoError(t, err)
		denies := 0
		for _, rule := range module.Rules {
			if rule.Head.Ref()[0].Value.Compare(ast.Var("deny")) == 0 {
				denies++
				if assert.NotEmpty(t, rule.Annotations, "%v: METADATA are missing", rule.Location) {
					assert.NotEmpty(t, rule.Annotations[0].Title, "%v: title is missing", rule.Location)
				}
			}
		}
		assert.Positive(t, denies, file)
	}
}

// TestEachPolicyIsAlone: a policy imports shared packages only, so that a selection of policies
// is complete, and its package has its name.
func TestEachPolicyIsAlone(t *testing.T) {
	t.Parallel()
	l := read(t)
	require.GreaterOrEqual(t, len(l.Policies), 60)
	for _, policy := range l.Policies {
		assert.NotEmpty(t, policy.Bundles, "%s is in no bundle", policy.Name)
		infos := snapshotOf(t, l, policy.Name).Policies()
		if assert.Len(t, infos, 1, policy.Name) {
			assert.Equal(t, "library."+policy.Name, infos[0].Package)
		}
	}
}

// files are the texts of all files of the library by their slash-separated paths.
func files(t *testing.T) map[string]string {
	t.Helper()
	read := map[string]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		read[filepath.ToSlash(path)] = string(text)
		return err
	}))
	return read
}

func read(t *testing.T) *library.Library {
	t.Helper()
	l, err := library.Read(files(t))
	require.NoError(t, err)
	return l
}
