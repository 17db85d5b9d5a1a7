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

// shapes are one policy for each kind of request that an API server sends.
var shapes = map[string]string{
	"generated.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: ConfigMap}], namespaces: [NAMESPACE]}
package shapes.generated
deny contains sprintf("%v is refused", [input.name]) if startswith(input.name, "refused-")`,

	"deleted.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: ConfigMap}], operations: [DELETE], namespaces: [NAMESPACE]}
package shapes.deleted
deny contains sprintf("%v is kept", [input.name]) if input.request.oldObject.metadata.labels.keep == "yes"`,

	"connected.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Pod}], operations: [CONNECT], subresources: [exec], namespaces: [NAMESPACE]}
package shapes.connected
deny contains sprintf("no shell in %v", [input.name])`,

	"scaled.rego": `# METADATA
# custom:
#   match: {kinds: [{group: apps, kind: Deployment}], operations: [UPDATE], subresources: [scale], namespaces: [NAMESPACE]}
package shapes.scaled
deny contains sprintf("%v replicas of %v are too many", [input.request.object.spec.replicas, input.name]) if input.request.object.spec.replicas > 3`,

	"frozen.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Pod}, {group: "", kind: ConfigMap}], operations: [UPDATE], namespaces: [NAMESPACE], objectSelector: {matchLabels: {frozen: "yes"}}}
package shapes.frozen
deny contains sprintf("%v is frozen", [input.name])`,

	"expanded.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Pod}], namespaces: [NAMESPACE], expand: warn}
package shapes.expanded
deny contains "the host's network is not yours" if input.request.object.spec.hostNetwork`,
}

// TestAdmissionShapes: the real API server sends reviews in the form that policies expect, and
// returns their messages.
func TestAdmissionShapes(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	files := map[string]string{}
	for name, text := range shapes {
		files[name] = strings.ReplaceAll(text, "NAMESPACE", namespace)
	}
	privileged, err := os.ReadFile(filepath.Join(installation.Root(), "config/samples/policies/privileged/privileged.rego"))
	require.NoError(t, err)
	files["privileged.rego"] = string(privileged)
	t.Cleanup(func() { removeSource(context.Background(), "shapes") })
	serveSource(t, "shapes", files, nil)

	frozen := strings.Replace(pod(namespace, "p", `{"containers":[{"name":"c","image":"x"}]}`), `"metadata":{`, `"metadata":{"labels":{"frozen":"yes"},`, 1)
	mustKubectl(t, frozen, "create", "-f", "-")
	mustKubectl(t, "", "create", "deployment", "d", "--image=x", "-n", namespace)
	mustKubectl(t, labelled(namespace, "kept", "keep"), "create", "-f", "-")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "label", "configmap", "kept", "keep-", "-n", namespace)
	})
	in := func(args ...string) []string { return append(args, "-n", namespace) }
	for _, c := range []struct {
		what  string
		stdin string
		args  []string
		ok    bool
		says  string
	}{
		{"a name that is not made yet", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"refused-"}}`,
			in("create", "-f", "-"), false, "denied the request: refused-"},
		{"a name that is made", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"admitted-"}}`,
			in("create", "-f", "-"), true, "configmap/admitted-"},
		{"DELETE", "", in("delete", "configmap", "kept"), false, "denied the request: kept is kept ["},
		{"DELETE, dry", "", in("delete", "configmap", "kept", "--dry-run=server"), false, "denied the request: kept is kept ["},
		{"DELETE of a collection", "", []string{"delete", "--raw", "/api/v1/namespaces/" + namespace + "/configmaps?labelSelector=keep%3Dyes"}, false, "denied the request: kept is kept ["},
		{"CONNECT", "", []string{"exec", "p", "-n", namespace, "--", "true"}, false, "denied the request: no shell in p ["},
		{"too large a scale", "", in("scale", "deployment", "d", "--replicas=5"), false, "denied the request: 5 replicas of d are too many ["},
		{"a scale", "", in("scale", "deployment", "d", "--replicas=2"), true, "deployment.apps/d scaled"},
		{"an update", "", in("annotate", "pod", "p", "a=b"), false, "denied the request: p is frozen ["},
		{"an immutable field", "", in("patch", "pod", "p", "--type=merge", "-p", `{"spec":{"nodeName":"other"}}`), false,
			"pod updates may not change fields other than"},
		{"a privileged debugger", "", in("debug", "p", "--image=x", "--profile=sysadmin", "--attach=false", "--container=spy"), false,
			`denied the request: container "spy" of Pod "p" is privileged`},
		{"a debugger", "", in("debug", "p", "--image=x", "--profile=general", "--attach=false", "--container=friend"), true, ""},
		{"a workload whose Pods will be denied", workload(namespace), in("apply", "-f", "-"), true,
			"the host's network is not yours [shapes.expanded deny, expanded.rego:"},
	} {
		t.Run(c.what, func(t *testing.T) {
			output, ok := kubectl(t, c.stdin, c.args...)
			require.Equal(t, c.ok, ok, output)
			require.Contains(t, output, c.says)
			require.Equal(t, strings.Contains(c.what, "workload"), strings.Contains(output, "Warning: "), output)
		})
	}

	t.Run("a status is nobody's business", func(t *testing.T) {
		eventually(t, func() bool {
			phase, _ := get(t, "pod", "p", "-n", namespace, "-o", "jsonpath={.status.phase}")
			return phase == "Running"
		}, "the frozen Pod to run")
		mustKubectl(t, "", "patch", "pod", "p", "-n", namespace, "--subresource=status", "--type=merge", "-p", `{"status":{"message":"seen"}}`)
	})

	t.Run("removal is never held up", func(t *testing.T) {
		object := strings.Replace(labelled(namespace, "held", "frozen"), `"metadata":{`, `"metadata":{"finalizers":["e2e.lintel.dev/held"],`, 1)
		mustKubectl(t, object, "create", "-f", "-")
		mustKubectl(t, "", "delete", "configmap", "held", "-n", namespace, "--wait=false")
		output, ok := kubectl(t, "", "patch", "configmap", "held", "-n", namespace, "--type=merge", "-p", `{"data":{"a":"b"},"metadata":{"finalizers":null}}`)
		require.False(t, ok, "more than removing finalizers is an update like any other")
		require.Contains(t, output, "held is frozen")
		mustKubectl(t, "", "patch", "configmap", "held", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		_, exists := get(t, "configmap", "held", "-n", namespace)
		require.False(t, exists)
	})
}

// TestMutationsSeeEachOther: a policy that is asked first sees what later ones change,
// within one entry and, by the API server's reinvocation, across entries.
func TestMutationsSeeEachOther(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	labels := func(name, needs string) string {
		return inNamespace(namespace, configMapKind, fmt.Sprintf(
			"package %s\n\ndefaults.metadata.labels.%s := \"yes\" if input.request.object.metadata.labels.%s == \"yes\"", name, name, needs))
	}
	// Ignore is asked before Fail, and in one entry the order is that of the names.
	applySource(t, "third", labels("third", "second"), map[string]any{"failurePolicy": "Ignore"})
	applySource(t, "second", labels("second", "zero"), nil)
	applySource(t, "zero", labels("zero", "asked"), nil)
	output := mustKubectl(t, labelled(namespace, "c", "asked"), "create", "-f", "-", "-o", "json")
	for _, label := range []string{"zero", "second", "third"} {
		require.Contains(t, output, fmt.Sprintf("%q: \"yes\"", label))
	}
}

// labelled is a ConfigMap with a label that says yes.
func labelled(namespace, name, label string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q,"labels":{%q:"yes"}}}`, name, namespace, label)
}

// workload is a Deployment whose Pods use the host's network.
func workload(namespace string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"w","namespace":%q},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"w"}},"template":{"metadata":{"labels":{"app":"w"}},"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"x"}]}}}}`, namespace)
}
