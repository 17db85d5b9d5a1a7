package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOpenVoxEndpointsOfServers: the endpoints of servers are rendered, follow their sources, and
// are removed when no object names them.
func TestOpenVoxEndpointsOfServers(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	object := func(kind, name, spec string) {
		t.Helper()
		mustKubectl(t, fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":%q,"metadata":{"name":%q,"namespace":%q},"spec":%s}`, kind, name, namespace, spec), "apply", "-f", "-")
	}
	contains := func(secret, key, want string) {
		t.Helper()
		eventually(t, func() bool { return strings.Contains(string(secretValue(t, namespace, secret, key)), want) }, "Secret "+secret+" to have "+want)
	}
	gone := func(secret string) {
		t.Helper()
		eventually(t, func() bool { _, ok := get(t, "secret", secret, "-n", namespace); return !ok }, "Secret "+secret+" to go")
	}
	ready := func(kind, name, want string) {
		t.Helper()
		eventually(t, func() bool {
			return strings.HasPrefix(mustGet(t, kind, name, "-n", namespace, "-o", `jsonpath={.status.phase} {.status.conditions[?(@.type=="Ready")].reason}: {.status.conditions[?(@.type=="Ready")].message}`), want)
		}, kind+" "+name+" to be "+want)
	}

	object("Config", "main", `{"image":{},"nodeClassifierRef":"foreman"}`)
	waitConfig(t, namespace, "main", "Pending False/ReferenceNotFound")
	object("NodeClassifier", "foreman", `{"url":"https://foreman.example.com","auth":{"token":{"header":"X-Token","secretKeyRef":{"name":"credentials","key":"token"}}}}`)
	waitConfig(t, namespace, "main", "Pending False/ClassifierNotRendered")
	ready("nc", "foreman", "Error Error: the configuration is not rendered, and servers keep the last one: spec.auth.token.secretKeyRef: there is no Secret credentials")
	object("ReportProcessor", "early", `{"configRef":"none","url":"https://reports.example.com"}`)
	ready("rp", "early", `Error Error: no reports are sent to it: spec.configRef: there is no Config "none"`)

	mustKubectl(t, "", "create", "secret", "generic", "credentials", "-n", namespace, "--from-literal=token=one")
	waitConfig(t, namespace, "main", "Running True/ConfigMapsCreated")
	ready("nc", "foreman", "Active ConfigRendered")
	contains("main-enc", "enc.yaml", "token: one\n")
	contains("main-enc", "enc.yaml", "path: /node/{certname}\n")
	require.Contains(t, renderedFiles(t, namespace, "main")["puppet.conf"], "external_nodes = /usr/local/bin/lintel-openvox-enc\n")

	mustKubectl(t, "", "create", "configmap", "site", "-n", namespace, "--from-literal=name=here")
	object("ReportProcessor", "hook", `{"configRef":"main","url":"https://reports.example.com","headers":[{"name":"X-Site","valueFrom":{"configMapKeyRef":{"name":"site","key":"name"}}},{"name":"X-Key","valueFrom":{"secretKeyRef":{"name":"credentials","key":"token"}}}]}`)
	object("ReportProcessor", "broken", `{"configRef":"main","url":"https://reports.example.com","auth":{"bearer":{"secretKeyRef":{"name":"none","key":"token"}}}}`)
	ready("rp", "hook", "Active ConfigRendered")
	ready("rp", "broken", "Error Error: no reports are sent to it: spec.auth.bearer.secretKeyRef: there is no Secret none")
	contains("main-report-webhook", "report-webhook.yaml", "value: here\n")
	require.NotContains(t, string(secretValue(t, namespace, "main-report-webhook", "report-webhook.yaml")), "broken")
	eventually(t, func() bool {
		files := renderedFiles(t, namespace, "main")
		return files["lintel.rb"] != "" && strings.Contains(files["puppet.conf"], "reports = store,lintel\n")
	}, "the report processor to be rendered")

	// Their sources change, and the rendered files are edited manually.
	mustKubectl(t, "", "patch", "secret", "credentials", "-n", namespace, "--type=merge", "-p", `{"stringData":{"token":"two"}}`)
	contains("main-enc", "enc.yaml", "token: two\n")
	contains("main-report-webhook", "report-webhook.yaml", "value: two\n")
	mustKubectl(t, "", "patch", "configmap", "site", "-n", namespace, "--type=merge", "-p", `{"data":{"name":"there"}}`)
	contains("main-report-webhook", "report-webhook.yaml", "value: there\n")
	tamper(t, "", "patch", "secret", "main-enc", "-n", namespace, "--type=merge", "-p", `{"stringData":{"enc.yaml":"nothing"}}`)
	contains("main-enc", "enc.yaml", "token: two\n")
	tamper(t, "", "delete", "secret", "main-report-webhook", "-n", namespace)
	contains("main-report-webhook", "report-webhook.yaml", "value: there\n")

	// The cause goes.
	mustKubectl(t, "", "delete", "rp", "hook", "broken", "-n", namespace)
	gone("main-report-webhook")
	eventually(t, func() bool { return renderedFiles(t, namespace, "main")["lintel.rb"] == "" }, "the report processor to go")
	mustKubectl(t, "", "patch", "cfg", "main", "-n", namespace, "--type=merge", "-p", `{"spec":{"nodeClassifierRef":null}}`)
	gone("main-enc")
	require.NotContains(t, renderedFiles(t, namespace, "main")["puppet.conf"], "external_nodes")
}
