// Package samples_test holds the samples to what the documentation promises of
// them: they are formatted, documented, tested in every branch, and each bad
// manifest meets the policy that it is named after and no other.
package samples_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/test/reviews"
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
		SetTimeout(time.Hour).
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
		decides := slices.ContainsFunc(module.Rules, isEntryPoint)
		annotations := map[string]*ast.Annotations{}
		for _, annotation := range module.Annotations {
			annotations[annotation.Scope] = annotation
		}
		if assert.Contains(t, annotations, "package", path) {
			assert.NotEmpty(t, annotations["package"].Title, path)
			assert.NotEmpty(t, annotations["package"].Description, path)
			assert.Equal(t, decides, annotations["package"].Custom["match"] != nil, "%s: match is for what decides", path)
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
	snapshot, cluster := snapshot(t), clusterData(t)
	folders, err := filepath.Glob("manifests/*")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	require.Len(t, folders, len(snapshot.Policies()), "every policy has manifests")

	for _, folder := range folders {
		policy := filepath.Base(folder)
		t.Run(policy, func(t *testing.T) {
			assert.Empty(t, firing(t, snapshot, cluster, filepath.Join(folder, "good.yaml")))
			assert.Equal(t, []string{policy}, firing(t, snapshot, cluster, filepath.Join(folder, "bad.yaml")))
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

// snapshot is the folder of policies as one source.
func snapshot(t *testing.T) *engine.Snapshot {
	files := map[string]string{}
	for path, text := range sources(t) {
		if relative, ok := strings.CutPrefix(path, "policies/"); ok && !strings.HasSuffix(path, "_test.rego") {
			files[relative] = string(text)
		}
	}
	set, err := policyset.Compile(definition.Source{Name: "samples", Files: files})
	require.NoError(t, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set)
}

// clusterData is the folder of objects that exist.
func clusterData(t *testing.T) *clusterdata.Objects {
	paths, err := filepath.Glob("cluster/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var objects []json.RawMessage
	for _, path := range paths {
		objects = append(objects, readManifest(t, path))
	}
	data, err := clusterdata.New(objects)
	require.NoError(t, err)
	return data
}

func readManifest(t *testing.T, path string) json.RawMessage {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	object, err := yaml.YAMLToJSONStrict(text)
	require.NoError(t, err)
	return object
}

// firing returns the policies that have anything to say about the creation of the
// object in a manifest.
func firing(t *testing.T, snapshot *engine.Snapshot, cluster *clusterdata.Objects, path string) []string {
	text := readManifest(t, path)
	var object metav1.PartialObjectMetadata
	require.NoError(t, json.Unmarshal(text, &object))
	kind := object.GroupVersionKind()
	resource, ok := admission.BuiltinResources().ByKind(kind.Group, kind.Kind)
	require.True(t, ok, kind)
	review := reviews.MakeCreation(kind, resource.Name, text).Named(cmp.Or(object.Namespace, "default"), object.Name).Obj(t)
	options := engine.Options{Cluster: cluster}
	mutation := snapshot.Mutate(t.Context(), review, options)
	decision := snapshot.Validate(t.Context(), mutation.Review, options)
	names := map[string]bool{}
	for _, findings := range [][]engine.Finding{mutation.Denials, mutation.Warnings, decision.Denials, decision.Warnings} {
		for _, finding := range findings {
			assert.False(t, finding.Error, finding.Words)
			names[strings.TrimPrefix(finding.Policy, "samples.")] = true
		}
	}
	for range mutation.Patch {
		names[mutating] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// mutating is the one sample that does: a patch does not say whose it is.
const mutating = "default_requests"
