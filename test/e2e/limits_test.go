package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// asManager is a user who has stolen the token of the manager's ServiceAccount.
const asManager = "--as=system:serviceaccount:" + installation.Namespace + ":lintel-manager"

// ownedWorkload is a Deployment or Job with an owner as GROUP/VERSION/KIND, or without one.
func ownedWorkload(namespace, kind, owner string) string {
	metadata := map[string]any{"name": "stolen", "namespace": namespace}
	if i := strings.LastIndex(owner, "/"); i > 0 {
		metadata["ownerReferences"] = []any{map[string]any{
			"apiVersion": owner[:i], "kind": owner[i+1:], "name": "forged", "uid": "5d3d6b4e-0000-4000-8000-000000000000", "controller": true,
		}}
	}
	template := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "stolen"}},
		"spec": map[string]any{
			"serviceAccountName": "powerful", "restartPolicy": "Never",
			"containers": []any{map[string]any{"name": "main", "image": "example.com/evil"}},
		},
	}
	spec, version := map[string]any{"template": template}, "batch/v1"
	if kind == "Deployment" {
		version = "apps/v1"
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"app": "stolen"}}
		delete(template["spec"].(map[string]any), "restartPolicy")
	}
	return asJSON(map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
}

// TestLimitsOfTheManager: a stolen token of the manager registers no other webhooks, starts no
// workloads outside the systems, and obtains no other ServiceAccount's token.
func TestLimitsOfTheManager(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	// As much as a system that is on in all namespaces, and more. The manager of another
	// installation may as much, but serves no system.
	const elsewhere = "elsewhere:lintel-manager"
	for _, where := range []string{namespace, "kube-public", installation.Namespace} {
		mustKubectl(t, "", "create", "rolebinding", "stolen", "-n", where, "--clusterrole=edit", "--serviceaccount="+installation.Namespace+":lintel-manager", "--serviceaccount="+elsewhere)
		mustKubectl(t, asJSON(map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "systems", "namespace": where},
			"rules": []any{map[string]any{
				"apiGroups": []string{"openclaw.enterprise.io", "openvox.voxpupuli.org"}, "resources": []string{"openclawinstances", "certificateauthorities", "servers"}, "verbs": []string{"list"},
			}},
		}), "create", "-f", "-")
		mustKubectl(t, "", "create", "rolebinding", "systems", "-n", where, "--role=systems", "--serviceaccount="+installation.Namespace+":lintel-manager")
	}
	t.Cleanup(func() {
		for _, where := range []string{"kube-public", installation.Namespace} {
			_, err := cluster.Kubectl(context.Background(), "", "delete", "rolebinding/stolen", "rolebinding/systems", "role/systems", "-n", where)
			assert.NoError(t, err)
		}
	})
	refused := func(message, stdin string, args ...string) {
		t.Helper()
		output, ok := kubectl(t, stdin, append(args, "--dry-run=server", asManager)...)
		require.False(t, ok, "%v: %s", args, output)
		require.Contains(t, output, message, "%v", args)
	}
	const workloads = "the Lintel manager can only write workloads that an OpenClawInstance"
	refused(workloads, ownedWorkload(namespace, "Deployment", ""), "apply", "--server-side", "--force-conflicts", "-f", "-")
	refused(workloads, ownedWorkload(namespace, "Job", ""), "create", "-f", "-")
	refused(workloads, ownedWorkload(namespace, "Job", "apps/v1/Server"), "create", "-f", "-")
	refused(workloads, ownedWorkload(namespace, "Job", "openclaw.enterprise.io/v1/Server"), "create", "-f", "-")
	mustKubectl(t, ownedWorkload(namespace, "Deployment", ""), "create", "-f", "-")
	refused(workloads, "", "set", "image", "deployment/stolen", "main=example.com/other", "-n", namespace)
	refused(workloads, "", "patch", "deployment/stolen", "-n", namespace, "-p",
		`{"metadata":{"ownerReferences":[{"apiVersion":"openclaw.enterprise.io/v1","kind":"OpenClawInstance","name":"a","uid":"b","controller":true}]},"spec":{"template":{"spec":{"hostNetwork":true}}}}`)
	refused("the Lintel manager cannot write workloads in namespace kube-public", ownedWorkload("kube-public", "Deployment", "openclaw.enterprise.io/v1/OpenClawInstance"), "create", "-f", "-")
	refused(workloads, ownedWorkload(namespace, "Deployment", "openclaw.enterprise.io/v99/OpenClawInstance"), "create", "-f", "-")
	two := strings.Replace(ownedWorkload(namespace, "Deployment", "openclaw.enterprise.io/v1/OpenClawInstance"), `"ownerReferences":[`,
		`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"kube-root-ca.crt","uid":"5d3d6b4e-0000-4000-8000-000000000001"},`, 1)
	refused(workloads, two, "create", "-f", "-")
	mustKubectl(t, ownedWorkload(namespace, "Job", "openvox.voxpupuli.org/v1alpha1/CertificateAuthority"), "create", "-f", "-", "--dry-run=server", asManager)
	output, ok := kubectl(t, ownedWorkload(namespace, "Job", "openvox.voxpupuli.org/v1alpha1/CertificateAuthority"), "create", "-f", "-", "--dry-run=server", "--as=system:serviceaccount:"+elsewhere)
	require.False(t, ok, "the kind may not be installed, and nothing would delete the Job")
	require.Contains(t, output, workloads)
	// zopp restarts the workloads that read a Secret.
	mustKubectl(t, "", "patch", "deployment/stolen", "-n", namespace, "-p", `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`, "--dry-run=server", asManager)

	token := asJSON(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
		"metadata": map[string]any{"name": "token", "namespace": namespace, "annotations": map[string]any{"kubernetes.io/service-account.name": "default"}},
	})
	refused("the Lintel manager cannot create Secrets of type kubernetes.io/service-account-token", token, "create", "-f", "-")
	mustKubectl(t, secret(namespace, "values", "a", "b"), "create", "-f", "-", "--dry-run=server", asManager)

	refused("the Lintel manager cannot write the Service of its webhooks", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"lintel-webhook","namespace":"`+installation.Namespace+`"},"spec":{"ports":[{"port":443}]}}`,
		"create", "-f", "-")

	const configurations, service = "the Lintel manager can only write the webhook configuration lintel", "the Lintel manager can only register webhooks that call the Service"
	registered := mustKubectl(t, "", "get", "validatingwebhookconfiguration", "lintel", "-o", "json")
	changed := func(name string, labels map[string]any, client map[string]any) string {
		var all map[string]any
		require.NoError(t, json.Unmarshal([]byte(registered), &all))
		all["metadata"] = map[string]any{"name": name, "labels": labels}
		webhook := all["webhooks"].([]any)[0].(map[string]any)
		if client != nil {
			webhook["clientConfig"] = client
		}
		all["webhooks"] = []any{webhook}
		return asJSON(all)
	}
	apply := []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}
	scope := map[string]any{"lintel.dev/scope": "a"}
	refused(configurations, changed("other", scope, nil), apply...)
	refused(configurations, changed("lintel-other", nil, nil), apply...)
	mustKubectl(t, changed("lintel-other", scope, nil), append(apply, "--dry-run=server", asManager)...)
	for _, client := range []map[string]any{
		{"url": "https://evil.example.com/validate"},
		{"url": "https://127.0.0.1.example.com/validate"},
		{"service": map[string]any{"namespace": namespace, "name": "lintel-webhook"}},
		{"service": map[string]any{"namespace": installation.Namespace, "name": "other"}},
	} {
		if client["url"] != nil { // in the tests, lintel has URLs
			refused(service, changed("lintel", nil, client), apply...)
		}
		refused(service, changed("lintel-other", scope, client), apply...)
	}
	applyForTest(t, changed(namespace, nil, map[string]any{"service": map[string]any{"namespace": namespace, "name": "absent"}}))
	refused(configurations, "", "delete", "validatingwebhookconfiguration", namespace)
	refused(configurations, "", "patch", "validatingwebhookconfiguration", namespace, "--type=json", "-p", `[{"op":"remove","path":"/webhooks"}]`)
}
