package e2e

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

const broken = "package broken\n\ndeny contains msg if {\n\tnope(input)\n}"

func TestAPolicySourceThatDoesNotCompileIsRejected(t *testing.T) {
	t.Parallel()
	output, ok := apply(t, installation.PolicySource("broken", map[string]string{"team/broken.rego": broken}, nil))
	require.False(t, ok)
	require.Contains(t, output, `admission webhook "policysource.policy.lintel.dev" denied the request: the policies of PolicySource broken do not compile:`)
	require.Contains(t, output, "team/broken.rego:4:2: rego_type_error: undefined function nope")
}

func TestAPolicySourceWhoseTestsFailIsRejected(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"p.rego":      "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}], namespaces: [nowhere]}\npackage tested\ndeny contains \"no\"",
		"p_test.rego": "package tested_test\n\ntest_it_says_yes if \"yes\" in data.tested.deny",
	}
	output, ok := apply(t, installation.PolicySource("tested", files, nil))
	require.False(t, ok)
	require.Contains(t, output, "denied the request: tests of PolicySource tested fail:\np_test.rego:3: test tested_test/test_it_says_yes failed")
	files["p_test.rego"] = "package tested_test\n\ntest_it_says_no if \"no\" in data.tested.deny"
	t.Cleanup(func() { removeSource(context.Background(), "tested") })
	output, ok = apply(t, installation.PolicySource("tested", files, nil))
	require.True(t, ok, output)
}

func TestPoliciesThatCannotBeRegisteredAreRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec map[string]any
		rego string
		want string
	}{
		"versions": {nil, "# METADATA\n# custom:\n#   match: {kinds: [{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}, {group: autoscaling, version: v2, kind: HorizontalPodAutoscaler}]}\npackage p\ndeny contains \"x\"", "HorizontalPodAutoscaler.autoscaling in two versions, v1 and v2"},
	} {
		t.Run(name, func(t *testing.T) {
			output, ok := apply(t, installation.PolicySource("unserved", map[string]string{"p.rego": c.rego}, c.spec))
			require.False(t, ok)
			require.Contains(t, output, c.want)
		})
	}
}

// TestOneVersionBesideAllOfThem: the API server serves HorizontalPodAutoscalers in two
// versions, and does not convert them if one policy matches every kind.
func TestOneVersionBesideAllOfThem(t *testing.T) {
	namespace := newNamespace(t)
	applySource(t, "wide", matchless(namespace), nil)
	scaling := func(version string) string {
		return installation.PolicySource("scaling", map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: autoscaling, kind: HorizontalPodAutoscaler" + version + "}]}\npackage scaling\ndeny contains \"x\" if input.name == \"x\""}, nil)
	}
	output, ok := apply(t, scaling(""))
	require.False(t, ok)
	require.Contains(t, output, "policy matchless (wide) takes HorizontalPodAutoscaler.autoscaling in every version")
	require.Contains(t, output, "policy scaling (scaling) is written for v2 of it")
	t.Cleanup(func() { removeSource(context.Background(), "scaling") })
	output, ok = apply(t, scaling(`, version: "*"`))
	require.True(t, ok, output)
}

func TestParametersReachThePolicies(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	rego := inNamespace(namespace, configMapKind, "package parameters\ndeny contains input.parameters.words")
	applySource(t, "parameters", rego, map[string]any{"parameters": map[string]any{"words": "one"}})
	output, _ := apply(t, configMap(namespace, "c"))
	require.Contains(t, output, "denied the request: one")
	serveSource(t, "parameters", map[string]string{"policy.rego": rego}, map[string]any{"parameters": map[string]any{"words": "two"}})
	eventually(t, func() bool {
		output, _ := apply(t, configMap(namespace, "c"))
		return strings.Contains(output, "denied the request: two")
	}, "new parameters to be used")
}

func TestArtifactsAreKeptAndPruned(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	digests := func() map[string]bool {
		var list struct {
			Items []struct {
				Metadata  struct{ Annotations map[string]string }
				Immutable bool
			}
		}
		require.NoError(t, json.Unmarshal([]byte(mustGet(t, "configmaps", "-n", installation.Namespace, "-l", "lintel.dev/source=artifacts", "-o", "json")), &list))
		found := map[string]bool{}
		for _, item := range list.Items {
			require.True(t, item.Immutable)
			found[item.Metadata.Annotations["lintel.dev/digest"]] = true
		}
		return found
	}
	for _, words := range []string{"one", "two", "three"} {
		applySource(t, "artifacts", inNamespace(namespace, configMapKind, "package artifacts\ndeny contains \""+words+"\""), nil)
	}
	live := readSource(t, "artifacts").Status.Digest
	eventually(t, func() bool { found := digests(); return len(found) == 2 && found[live] }, "the last two artifacts to be kept")

	mustKubectl(t, "", "delete", "configmaps", "-n", installation.Namespace, "-l", "lintel.dev/source=artifacts")
	eventually(t, func() bool { return digests()[live] }, "a lost artifact to be stored again")
	removeSource(t.Context(), "artifacts")
	eventually(t, func() bool { return len(digests()) == 0 }, "the artifacts to go with their source")
}

func readSource(t *testing.T, name string) *v1alpha1.PolicySource {
	t.Helper()
	return read[v1alpha1.PolicySource](t, "", "policysource/"+name)
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
