// Package samples_test holds the samples to what the documentation promises of
// them: they are formatted, documented, tested in every branch, and each bad
// manifest meets the policy that it is named after and no other.
package samples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

func TestPoliciesAreFormatted(t *testing.T) {
	for path, text := range sources(t) {
		formatted, err := format.Source(path, text)
		require.NoError(t, err)
		assert.Equal(t, string(formatted), string(text), "%s: run make fmt", path)
	}
}

func TestPoliciesPassTheirTests(t *testing.T) {
	modules := parse(t, sources(t))
	coverage := cover.New()
	results, err := tester.NewRunner().
		SetModules(modules).
		RaiseBuiltinErrors(true).
		SetCoverageQueryTracer(coverage).
		RunTests(t.Context(), nil)
	require.NoError(t, err)

	tests := 0
	for result := range results {
		tests++
		assert.True(t, result.Pass(), "%v: %v", result.Location, result)
	}
	assert.Positive(t, tests)

	for path, file := range coverage.Report(modules).Files {
		assert.InDelta(t, 100, file.Coverage, 0, "%s: not covered: %v", path, file.NotCovered)
	}
}

func TestPoliciesAreDocumented(t *testing.T) {
	for path, module := range policies(t) {
		annotations := map[string]*ast.Annotations{}
		for _, annotation := range module.Annotations {
			annotations[annotation.Scope] = annotation
		}
		if assert.Contains(t, annotations, "package", path) {
			assert.NotEmpty(t, annotations["package"].Title, path)
			assert.NotEmpty(t, annotations["package"].Description, path)
			assert.Contains(t, annotations["package"].Custom, "match", path)
		}

		for _, rule := range module.Rules {
			if !isEntryPoint(rule) {
				continue
			}
			if assert.NotEmpty(t, rule.Annotations, "%v: no METADATA", rule.Location) {
				assert.NotEmpty(t, rule.Annotations[0].Title, "%v: no title", rule.Location)
			}
		}
	}
}

func TestManifests(t *testing.T) {
	query := prepare(t)
	folders, err := filepath.Glob("manifests/*")
	require.NoError(t, err)
	require.NotEmpty(t, folders)

	for _, folder := range folders {
		policy := filepath.Base(folder)
		t.Run(policy, func(t *testing.T) {
			assert.Empty(t, firing(t, query, filepath.Join(folder, "good.yaml")))
			assert.Equal(t, []string{policy}, firing(t, query, filepath.Join(folder, "bad.yaml")))
		})
	}
}

// entryPoints are the rules of a policy that decide.
var entryPoints = []string{"deny", "warn", "patch", "defaults"}

func isEntryPoint(rule *ast.Rule) bool {
	for _, name := range entryPoints {
		if rule.Head.Ref()[0].Value.Compare(ast.Var(name)) == 0 {
			return true
		}
	}
	return false
}

// sources returns the text of every Rego file, those inside policysource.yaml
// included, by path.
func sources(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	paths, err := filepath.Glob("policies/*/*.rego")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		files[path], err = os.ReadFile(path)
		require.NoError(t, err)
	}

	text, err := os.ReadFile("policysource.yaml")
	require.NoError(t, err)
	source := v1alpha1.PolicySource{}
	require.NoError(t, yaml.UnmarshalStrict(text, &source))
	for path, text := range source.Spec.Inline.Files {
		files[filepath.Join("policysource.yaml", path)] = []byte(text)
	}
	return files
}

func parse(t *testing.T, files map[string][]byte) map[string]*ast.Module {
	modules := map[string]*ast.Module{}
	for path, text := range files {
		module, err := ast.ParseModuleWithOpts(path, string(text), ast.ParserOptions{ProcessAnnotation: true})
		require.NoError(t, err)
		modules[path] = module
	}
	return modules
}

func policies(t *testing.T) map[string]*ast.Module {
	modules := parse(t, sources(t))
	for path := range modules {
		if strings.HasSuffix(path, "_test.rego") {
			delete(modules, path)
		}
	}
	return modules
}

func prepare(t *testing.T) rego.PreparedEvalQuery {
	options := []func(*rego.Rego){rego.Query("data.samples"), rego.StrictBuiltinErrors(true)}
	for _, module := range policies(t) {
		options = append(options, rego.ParsedModule(module))
	}
	query, err := rego.New(options...).PrepareForEval(t.Context())
	require.NoError(t, err)
	return query
}

// firing returns the policies that have anything to say about the creation of
// the Pod in a manifest.
func firing(t *testing.T, query rego.PreparedEvalQuery, path string) []string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, yaml.UnmarshalStrict(text, &object))
	require.Equal(t, "Pod", object["kind"])

	results, err := query.Eval(t.Context(), rego.EvalInput(map[string]any{
		"name":       object["metadata"].(map[string]any)["name"],
		"parameters": map[string]any{},
		"request": map[string]any{
			"kind":      map[string]any{"group": "", "version": "v1", "kind": "Pod"},
			"operation": "CREATE",
			"object":    object,
		},
	}))
	require.NoError(t, err)

	var names []string
	for name, document := range results[0].Expressions[0].Value.(map[string]any) {
		for _, entryPoint := range entryPoints {
			if said := document.(map[string]any)[entryPoint]; said != nil && fmt.Sprint(said) != "[]" {
				names = append(names, name)
			}
		}
	}
	return names
}
