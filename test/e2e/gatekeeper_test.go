package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// permitGatekeeper installs Gatekeeper's kinds, and what a manager with --gatekeeper
// may do.
func permitGatekeeper(ctx context.Context) error {
	for _, folder := range []string{"config/gatekeeper", "config/rbac/gatekeeper"} {
		if output, err := cluster.Kubectl(ctx, "", "apply", "-k", filepath.Join(installation.Root(), folder)); err != nil {
			return fmt.Errorf("installing %s: %w: %s", folder, err, output)
		}
	}
	return nil
}

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
	t.Cleanup(func() { removeSource(context.Background(), "templates") })
	require.NoError(t, cluster.ApplySource(t.Context(), "templates", map[string]string{
		"privileged/template.yaml": sampleTemplate(t, "privileged"),
		"hosts/template.yaml":      sampleTemplate(t, "unique-ingress-hosts"),
		"sizes/template.yaml":      failing,
		"constraints.yaml": strings.Join([]string{
			constraintIn(namespace, "PodsAreNotPrivileged", "", "Pod"),
			constraintIn(namespace, "IngressHostsAreUnique", "networking.k8s.io", "Ingress"),
			constraintIn(namespace, "PodSizes", "", "Pod"),
		}, "---\n"),
	}, nil))
	status := readSource(t, "templates").Status
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
	count, found := metric(t, `lintel_policy_evaluation_errors_total{policy="PodSizes/here",source="templates"}`)
	require.True(t, found)
	require.NotEqual(t, "0", count)

	broken := installation.PolicySource("templates", map[string]string{"sizes.yaml": strings.Replace(failing, "size > 7", "large(7)", 1)}, nil)
	output, ok = kubectl(t, broken, "apply", "--server-side", "--force-conflicts", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, "sizes.yaml:16: rego_type_error: undefined function large", "the line of the YAML file")
}

// TestGatekeeperOfTheCluster keeps in force what the cluster's own templates and
// constraints say.
func TestGatekeeperOfTheCluster(t *testing.T) {
	namespace := newNamespace(t)
	template := sampleTemplate(t, "disallowed-repos")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), template, "delete", "--ignore-not-found", "-f", "-")
	})
	mustKubectl(t, template, "apply", "-f", "-")
	cel := `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: celonly}
spec:
  crd: {spec: {names: {kind: CelOnly}}}
  targets: [{target: admission.k8s.gatekeeper.sh, code: [{engine: K8sNativeValidation, source: {}}]}]
`
	t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), cel, "delete", "--ignore-not-found", "-f", "-") })
	mustKubectl(t, cel, "apply", "-f", "-")
	eventually(t, func() bool {
		output, ok := kubectl(t, "", "get", "imagesdonotcomefrom.constraints.gatekeeper.sh")
		return ok && strings.Contains(output, "No resources found")
	}, "the kind of the template's constraints")

	constraint := constraintIn(namespace, "ImagesDoNotComeFrom", "", "Pod") + "  parameters: {repos: [evil.example/]}\n"
	bad := strings.Replace(constraint, "[evil.example/]", "evil.example/", 1)
	output, ok := kubectl(t, bad, "apply", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, "spec.parameters.repos: Invalid value", "the API server knows the template's schema")
	mustKubectl(t, constraint, "apply", "-f", "-")
	evil := pod(namespace, "evil", `{"containers":[{"name":"web","image":"evil.example/web:1"}]}`)
	eventually(t, func() bool {
		output, ok := kubectl(t, evil, "apply", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(output, "image evil.example/web:1 comes from evil.example/ [ImagesDoNotComeFrom/here deny, imagesdonotcomefrom.yaml:")
	}, "the constraint to be enforced, beside a template that cannot be")
	eventually(t, func() bool {
		output, ok := kubectl(t, "", "get", "events", "-A", "--field-selector=reason=NotEnforced", "-o", "jsonpath={.items[*].message}")
		return ok && strings.Contains(output, "written in CEL alone")
	}, "an Event about the template in CEL")

	mustKubectl(t, template, "delete", "-f", "-")
	eventually(t, func() bool {
		_, ok := kubectl(t, evil, "apply", "--dry-run=server", "-f", "-")
		_, there := kubectl(t, "", "get", "policysource", "gatekeeper")
		return ok && !there
	}, "the template, its constraints and the source to go")
}
