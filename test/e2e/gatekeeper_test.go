package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// sampleTemplate is a template of the samples.
func sampleTemplate(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(installation.Root(), "config/samples/gatekeeper", name, "template.yaml"))
	require.NoError(t, err)
	return string(text)
}

// constraintIn is a constraint about one kind in one namespace.
func constraintIn(namespace, kind, group, of string) string {
	return `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: ` + kind + `
metadata:
  name: here
spec:
  match:
    kinds: [{apiGroups: ["` + group + `"], kinds: [` + of + `]}]
    namespaces: ["` + namespace + `"]
`
}

// failing has two values at once for a Pod named broken.
const failing = `apiVersion: templates.gatekeeper.sh/v1beta1
kind: ConstraintTemplate
metadata:
  name: podsizes
spec:
  crd:
    spec:
      names:
        kind: PodSizes
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package podsizes

        violation[{"msg": msg}] {
          size > 7
          msg := "too large"
        }

        size = 1 {
          input.review.object.kind == "Pod"
        }

        size = 2 {
          input.review.object.metadata.name == "broken"
        }
`

// TestGatekeeper brings templates and constraints as they are.
func TestGatekeeper(t *testing.T) {
	namespace := newNamespace(t)
	roles := filepath.Join(installation.Root(), "config/samples/rbac")
	t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), "", "delete", "-f", roles, "--ignore-not-found") })
	mustKubectl(t, "", "apply", "-f", roles)
	t.Cleanup(func() { removeSource(context.Background(), "gatekeeper") })
	require.NoError(t, cluster.ApplySource(t.Context(), "gatekeeper", map[string]string{
		"privileged/template.yaml": sampleTemplate(t, "privileged"),
		"hosts/template.yaml":      sampleTemplate(t, "unique-ingress-hosts"),
		"sizes/template.yaml":      failing,
		"constraints.yaml": strings.Join([]string{
			constraintIn(namespace, "PodsAreNotPrivileged", "", "Pod"),
			constraintIn(namespace, "IngressHostsAreUnique", "networking.k8s.io", "Ingress"),
			constraintIn(namespace, "PodSizes", "", "Pod"),
		}, "---\n"),
	}, nil))
	status := readSource(t, "gatekeeper").Status
	require.EqualValues(t, 3, status.Policies)

	output, ok := apply(t, pod(namespace, "plain", `{"containers":[{"name":"web","image":"web:1"}]}`))
	require.True(t, ok, output)
	output, ok = apply(t, pod(namespace, "root", `{"containers":[{"name":"web","image":"web:1","securityContext":{"privileged":true}}]}`))
	require.False(t, ok)
	require.Contains(t, output, `admission webhook "fail.policies.lintel.dev" denied the request: container web is privileged: set securityContext.privileged to false [PodsAreNotPrivileged/here deny, privileged/template.yaml:`)

	output, ok = apply(t, ingress(namespace, "first", "a.example"))
	require.True(t, ok, output)
	eventually(t, func() bool {
		output, ok := kubectl(t, ingress(namespace, "second", "a.example"), "apply", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(output, "host a.example is taken by Ingress "+namespace+"/first [IngressHostsAreUnique/here deny, ")
	}, "the inventory to have the first Ingress")

	output, ok = apply(t, pod(namespace, "broken", `{"containers":[{"name":"web","image":"web:1"}]}`))
	require.False(t, ok, "an ordinary Pod is denied where a template fails at run time")
	require.Contains(t, output, "policy PodSizes/here cannot be evaluated: rule size produced conflicting values")
	require.Contains(t, output, "[PodSizes/here size, sizes/template.yaml:")
	count, found := metric(t, `lintel_policy_evaluation_errors_total{policy="PodSizes/here",source="gatekeeper"}`)
	require.True(t, found)
	require.NotEqual(t, "0", count)

	broken := installation.PolicySource("gatekeeper", map[string]string{"sizes.yaml": strings.Replace(failing, "size > 7", "large(7)", 1)}, nil)
	output, ok = kubectl(t, broken, "apply", "--server-side", "--force-conflicts", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, "sizes.yaml:16: rego_type_error: undefined function large", "the line of the YAML file")
}
