package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

// hostsUnique denies an Ingress in a namespace whose host another Ingress has,
// anywhere.
func hostsUnique(namespace string) string {
	return fmt.Sprintf(`# METADATA
# custom:
#   match:
#     kinds: [{group: networking.k8s.io, kind: Ingress}]
#     namespaces: [%q]
#   requires: [{group: networking.k8s.io, kind: Ingress}]
package hosts

deny contains msg if {
	some rule in input.request.object.spec.rules
	some namespace, name
	other := data.cluster["Ingress.networking.k8s.io"][namespace][name]
	[namespace, name] != [input.request.namespace, input.name]
	some taken in other.spec.rules
	taken.host == rule.host
	msg := sprintf("host %%s belongs to Ingress %%s/%%s", [rule.host, namespace, name])
}`, namespace)
}

// ingressObjects is the metric of how many Ingresses the manager holds.
const ingressObjects = `lintel_cluster_data_objects{kind="Ingress.networking.k8s.io"}`

func ingress(namespace, name, host string) string {
	return fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":%q,"namespace":%q},"spec":{"rules":[{"host":%q,"http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`, name, namespace, host)
}

// metric is the value of a series of the manager's metrics: false where there is none.
func metric(t *testing.T, series string) (value string, ok bool) {
	t.Helper()
	return metricOf(t, manager, series)
}

func metricOf(t *testing.T, m *installation.Manager, series string) (value string, ok bool) {
	t.Helper()
	for line := range strings.Lines(allMetricsOf(t, m)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// allMetricsOf returns all metrics of a manager, in Prometheus' text format.
func allMetricsOf(t *testing.T, m *installation.Manager) string {
	t.Helper()
	response, err := http.Get(m.Metrics + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}

// TestRequires follows a policy over Ingresses from a source that may not read them to one
// whose objects are forgotten, next to another source all the time.
func TestRequires(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	// Audit may read Ingresses by default, and policies use the same permission.
	mustKubectl(t, "", "patch", "clusterrole", "lintel-audit-objects", "--type=json", "-p",
		`[{"op":"test","path":"/rules/3/apiGroups/0","value":"networking.k8s.io"},{"op":"replace","path":"/rules/3/resources","value":["networkpolicies"]}]`)
	eventually(t, func() bool {
		_, ok := kubectl(t, "", "auth", "can-i", "list", "ingresses", "-A", "--as", "system:serviceaccount:lintel-system:lintel-manager")
		return !ok
	}, "Ingresses to be forbidden")
	mustKubectl(t, ingress(namespace, "first", "a.example"), "apply", "-f", "-")
	applySource(t, "beside", inNamespace(namespace, configMapKind, "package beside\ndeny contains \"beside\""), nil)
	enforcesBeside := func() {
		t.Helper()
		output, ok := kubectl(t, configMap(namespace, "c"), "apply", "--dry-run=server", "-f", "-")
		require.False(t, ok)
		require.Contains(t, output, "denied the request: beside")
	}

	t.Cleanup(func() { removeSource(context.Background(), "hosts") })
	source := installation.PolicySource("hosts", map[string]string{"policy.rego": hostsUnique(namespace)}, nil)
	mustKubectl(t, source, "apply", "--server-side", "-f", "-")
	var message string
	eventually(t, func() bool {
		ready := meta.FindStatusCondition(readSource(t, "hosts").Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != "RequiresForbidden" {
			return false
		}
		message = ready.Message
		return true
	}, "the condition that Ingresses may not be read")
	require.Empty(t, readSource(t, "hosts").Status.Digest, "nothing is loaded that cannot be served")
	require.True(t, meta.IsStatusConditionTrue(readSource(t, "hosts").Status.Conditions, v1alpha1.ConditionCompiled))
	enforcesBeside()
	output, ok := apply(t, ingress(namespace, "early", "a.example"))
	require.True(t, ok, output)
	mustKubectl(t, "", "delete", "ingress", "early", "-n", namespace)

	// The commands of the condition work as they are printed.
	_, commands, found := strings.Cut(message, "permit it with: ")
	require.True(t, found, message)
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "clusterrole", "lintel-policy-data-ingresses.networking.k8s.io")
	})
	for _, command := range strings.Split(commands, " && ") {
		words := strings.Fields(command)
		require.Equal(t, "kubectl", words[0], message)
		mustKubectl(t, "", words[1:]...)
	}
	waitSource(t, "hosts")
	enforcesBeside()
	eventually(t, func() bool { count, _ := metric(t, ingressObjects); return count == "1" }, "the Ingress to be held")
	eventually(t, func() bool {
		output, ok := kubectl(t, ingress(namespace, "second", "a.example"), "apply", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(output, "denied the request: host a.example belongs to Ingress "+namespace+"/first [hosts deny, policy.rego:")
	}, "the second Ingress to be denied")
	output, ok = apply(t, ingress(namespace, "other", "b.example"))
	require.True(t, ok, output)
	output, ok = kubectl(t, ingress(namespace, "first", "a.example"), "apply", "-f", "-")
	require.True(t, ok, "an Ingress is not in its own way: %s", output)

	mustKubectl(t, "", "delete", "ingress", "first", "-n", namespace)
	eventually(t, func() bool {
		_, ok := kubectl(t, ingress(namespace, "second", "a.example"), "apply", "-f", "-")
		return ok
	}, "the host to be free")

	removeSource(t.Context(), "hosts")
	eventually(t, func() bool { _, held := metric(t, ingressObjects); return !held }, "the informer to stop with its source")
	enforcesBeside()
}

func TestRequiresOfAKindThatIsInstalledLater(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { removeSource(context.Background(), "widgets") })
	rego := "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}], namespaces: [nowhere]}\n#   requires: [{group: e2e.lintel.dev, kind: Widget}]\npackage widgets\ndeny contains \"x\" if data.cluster[\"Widget.e2e.lintel.dev\"].a"
	mustKubectl(t, installation.PolicySource("widgets", map[string]string{"policy.rego": rego}, nil), "apply", "--server-side", "-f", "-")
	eventually(t, func() bool {
		ready := meta.FindStatusCondition(readSource(t, "widgets").Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == "RequiresUnknownKind" && strings.Contains(ready.Message, "require Widget.e2e.lintel.dev, a kind that the cluster does not serve")
	}, "the condition that the kind is unknown")

	const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.e2e.lintel.dev"},"spec":{"group":"e2e.lintel.dev","scope":"Namespaced","names":{"kind":"Widget","plural":"widgets"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	const role = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"e2e-widgets","labels":{"lintel.dev/aggregate-to-policy-data":"true"}},"rules":[{"apiGroups":["e2e.lintel.dev"],"resources":["widgets"],"verbs":["list","watch"]}]}`
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "clusterrole/e2e-widgets", "crd/widgets.e2e.lintel.dev")
	})
	mustKubectl(t, crd, "apply", "-f", "-")
	mustKubectl(t, role, "apply", "-f", "-")
	waitSource(t, "widgets")
}
