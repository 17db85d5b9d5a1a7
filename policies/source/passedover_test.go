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
		"another of that group": {"a.yaml", "apiVersion: kyverno.io/v2\nkind: PolicyException\n", "PolicyException is Kyverno's"},
		"in a list":             {"a.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kyverno.io/v1\n  kind: ClusterPolicy\n", "ClusterPolicy is Kyverno's"},
		"in a list of its kind": {"a.yaml", "apiVersion: kyverno.io/v1\nkind: ClusterPolicyList\nitems:\n- apiVersion: kyverno.io/v1\n  kind: ClusterPolicy\n", "ClusterPolicy is Kyverno's"},
		"a quoted kind":         {"a.yaml", "\"apiVersion\": \"policy.lintel.dev/v1alpha1\"\n\"kind\": \"PolicySource\"\n", "a PolicySource within a source is not enforced"},
		"an exception":          {"a.yaml", "apiVersion: policy.lintel.dev/v1alpha1\nkind: PolicyException\n", "a PolicyException within a source has no effect: apply it. Commands read it from its own file, with another -p"},
		"external data":         {"a.yaml", "apiVersion: policy.lintel.dev/v1alpha1\nkind: DataSource\n", "Commands read its data with --external NAME=FILE"},
		"a bundle":              {"a.yaml", "apiVersion: openclaw.enterprise.io/v1\nkind: PolicyBundle\n", "a PolicyBundle within a source has no effect"},
		"a SigningPolicy":       {"a.yaml", "apiVersion: openvox.voxpupuli.org/v1alpha1\nkind: SigningPolicy\n", "a SigningPolicy within a source has no effect"},
		"another policy engine": {"a.yaml", "apiVersion: policy.sigstore.dev/v1beta1\nkind: ClusterImagePolicy\n", "ClusterImagePolicy is the Sigstore policy controller's"},
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

// TestPoliciesInJSONAreNamed: a source contains objects in YAML only.
func TestPoliciesInJSONAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"a template":     {`{"apiVersion":"templates.gatekeeper.sh/v1","kind":"ConstraintTemplate"}`, 1},
		"a constraint":   {`{"apiVersion":"constraints.gatekeeper.sh/v1beta1","kind":"K8sA"}`, 1},
		"an exception":   {`{"apiVersion":"policy.lintel.dev/v1alpha1","kind":"PolicyException"}`, 1},
		"Kyverno's":      {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy"},{"apiVersion":"v1","kind":"Pod"}]}`, 1},
		"a Suite":        {`{"apiVersion":"test.gatekeeper.sh/v1alpha1","kind":"Suite"}`, 0},
		"another object": {`{"apiVersion":"v1","kind":"Pod"}`, 0},
		"no object":      {`[1]`, 0},
		"no JSON":        {`{`, 0},
	} {
		found := UnreadJSON(map[string]string{"a.json": c.text})
		require.Len(t, found, c.want, name)
		for _, one := range found {
			require.Contains(t, one.Message, "is not read: files of a source that contain objects are .yaml or .yml")
		}
	}
}
