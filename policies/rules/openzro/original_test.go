package openzro

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/policies/kinds"
)

// TestManifestsOfTheOriginalOperator checks that the manifests which the first paragraph of
// docs/openzro/index.md names apply unchanged: no unknown fields, no violation of a CRD rule or
// an admission rule. It also lists the manifests that do not apply.
func TestManifestsOfTheOriginalOperator(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/openzro/index.md")
	require.NoError(t, err)
	first := strings.Split(string(page), "\n\n")[1]
	unchanged, limited, found := strings.Cut(first, "An `OZPolicy` needs a namespace")
	require.True(t, found, first)
	text, err := os.ReadFile("testdata/original.yaml")
	require.NoError(t, err)
	snapshot, err := New()
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	served := kinds.New()
	var seen []string
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		text, err := yaml.YAMLToJSON([]byte(document))
		require.NoError(t, err)
		var kind metav1.TypeMeta
		require.NoError(t, json.Unmarshal(text, &kind))
		arrived, err := served.Arrive(text, kind.GroupVersionKind(), true)
		require.NoError(t, err, document)
		empty, err := scheme.New(kind.GroupVersionKind())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(arrived, empty))
		empty.(v1.Object).SetUID("u")
		verdict, err := Evaluate(t.Context(), snapshot, empty.(v1.Object), Facts{})
		require.NoError(t, err)
		require.Empty(t, verdict.Message(), document)
		seen = append(seen, kind.Kind)
		if kind.Kind != "OZPolicy" {
			require.Contains(t, unchanged, "`"+kind.Kind+"`")
		}
	}
	for _, name := range kindNames {
		if strings.Contains(unchanged, "`"+name+"`") {
			require.Contains(t, seen, name, "the page names it, and no manifest shows it")
		}
	}
	for _, kind := range []string{"Group", "SetupKey", "NetworkRouter", "NetworkResource", "SidecarProfile"} {
		known, err := served.Know(schema.GroupVersionKind{Group: v1.GroupName, Version: "v1alpha1", Kind: kind})
		require.NoError(t, err)
		require.False(t, known, kind)
		require.Contains(t, limited, "`"+kind+"`")
	}
	for _, annotation := range []string{v1.SetupKeyAnnotation, v1.InitSidecarAnnotation, v1.ExtraDNSLabelsAnnotation, v1.ExposeAnnotation} {
		require.Contains(t, unchanged, "`"+annotation+"`")
	}
	require.True(t, slices.Contains(seen, "OZPolicy"))
}
