package source

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatIsPassedOverIsNamed: who puts it into a source expects it to be enforced.
func TestWhatIsPassedOverIsNamed(t *testing.T) {
	const kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"a chart":               {"chart/Chart.yaml", "name: a", "a chart is not rendered"},
		"Kyverno's":             {"a.yaml", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n", "ClusterPolicy is Kyverno's"},
		"another of that group": {"a.yaml", "apiVersion: kyverno.io/v2\nkind: PolicyException\n# Policy\n", ""},
		"the API server's":      {"a.yaml", "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n", "is enforced by the API server, not by a PolicySource"},
		"any of a group":        {"a.yaml", "apiVersion: templates.kubewarden.io/v1\nkind: Anything\n", "Anything is Kubewarden's"},
		"a PolicySource":        {"a.yaml", "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicySource\n", "a PolicySource within a source is not enforced"},
		"one of another group":  {"a.yaml", "apiVersion: example.com/v1\nkind: PolicySource\n", ""},
		"a list of files":       {"a.yaml", kustomization + "resources: [b.yaml, below]\n", ""},
		"files elsewhere":       {"a.yaml", kustomization + "resources: [b.yaml, ../c.yaml]\n", "../c.yaml is not in the source"},
		"files that are hidden": {"a.yaml", kustomization + "resources: [below/../../c.yaml]\n", "below/../../c.yaml is not in the source"},
		"files of a server":     {"a.yaml", kustomization + "resources: ['https://example.com/a']\n", "https://example.com/a is not in the source"},
		"changes":               {"a.yaml", kustomization + "namePrefix: a-\n", "its namePrefix change nothing here"},
		"by its name":           {"kustomization.yml", "namePrefix: a-\n", "its namePrefix change nothing here"},
		"another file":          {"a.json", kustomization + "namePrefix: a-\n", ""},
		"no YAML":               {"a.yaml", "kind: PolicySource\n  - [", ""},
	} {
		found := PassedOver(map[string]string{c.file: c.text})
		if c.want == "" {
			require.Empty(t, found, name)
			continue
		}
		require.Len(t, found, 1, name)
		require.Equal(t, c.file, found[0].File, name)
		require.Contains(t, found[0].Message, c.want, name)
	}
}
