package gatekeeper

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// BenchmarkTemplates is one Pod against all templates of the samples.
func BenchmarkTemplates(b *testing.B) {
	files := map[string]string{}
	for _, name := range []string{"template.yaml", "constraint.yaml"} {
		paths, err := filepath.Glob("../../config/samples/gatekeeper/*/" + name)
		require.NoError(b, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(b, err)
			files[path] = string(text)
		}
	}
	set, err := policyset.Compile(definition.Source{Name: "s", Files: files}, Dialect)
	require.NoError(b, err)
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	review, err := admission.NewReview([]byte(`{"uid":"u","operation":"CREATE","kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},"name":"web","namespace":"shop",
		"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"web","image":"registry.example.com/web:1"},{"name":"log","image":"registry.example.com/log:1"}]}}}`))
	require.NoError(b, err)
	options := engine.Options{Cluster: clusterdata.Empty()}
	policies := snapshot.Validate(b.Context(), review, options).Policies
	for b.Loop() {
		snapshot.Validate(b.Context(), review, options)
	}
	b.ReportMetric(float64(policies), "policies")
}
