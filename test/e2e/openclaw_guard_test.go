package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
)

// TestOpenClawControlledObjects: a tenant who may edit everything in a namespace edits no object
// of a gateway, and neither does an administrator; Kubernetes' controllers go on.
func TestOpenClawControlledObjects(t *testing.T) {
	t.Parallel()
	namespace := tenantWithGateway(t)
	waitSynced(t, namespace, "enterprise")

	const byInstance, byBundle = "is controlled by OpenClawInstance a", "is controlled by PolicyBundle enterprise"
	denied := func(user, stdin, message string, args ...string) {
		t.Helper()
		output, ok := kubectl(t, stdin, append(args, "-n", namespace, "--as="+user, "--as-group=system:authenticated")...)
		require.False(t, ok, "%v: %s", args, output)
		require.Contains(t, output, message, "%v", args)
	}
	for _, c := range []struct {
		message string
		args    []string
	}{
		{"ConfigMap " + namespace + "/a-gateway-config " + byInstance + "; edit that instead (this write changes data)",
			[]string{"patch", "configmap/a-gateway-config", "--type=merge", "-p", `{"data":{"evil.rego":"package x"}}`}},
		{byInstance + "; edit that instead (this write changes metadata.labels, metadata.ownerReferences)",
			[]string{"patch", "configmap/a-gateway-config", "--type=merge", "-p", `{"metadata":{"labels":null,"ownerReferences":null}}`}},
		{byInstance + "; edit that instead (this write changes metadata.finalizers)",
			[]string{"patch", "configmap/a-gateway-config", "--type=merge", "-p", `{"metadata":{"finalizers":["kubernetes.io/stay"]}}`}},
		{byInstance + ", and is deleted with that", []string{"delete", "configmap/a-gateway-config"}},
		{byInstance + ", and is deleted with that", []string{"delete", "services", "--all"}},
		{byBundle + "; edit that instead", []string{"patch", "configmap/enterprise-opa-policies", "--type=merge", "-p", `{"data":null}`}},
		{byInstance + "; edit that instead (this write changes spec)", []string{"rollout", "pause", "deployment/a-gateway"}},
		{byInstance + "; edit that instead (this write changes spec)", []string{"set", "image", "deployment/a-gateway", "gateway=evil.example.com/gateway"}},
		{byInstance + "; edit that instead (this write changes spec)", []string{"patch", "service/a-gateway", "-p", `{"spec":{"selector":{"evil":"true"}}}`}},
		{"Lintel creates PodDisruptionBudget " + namespace + "/a-gateway for OpenClawInstance a; choose another name",
			[]string{"create", "poddisruptionbudget", "a-gateway", "--selector=a=b", "--min-available=1"}},
	} {
		denied("tenant", "", c.message, c.args...)
	}
	labelled := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"mine","namespace":%q,"labels":{"app.kubernetes.io/managed-by":"openclaw-operator"}}}`, namespace)
	denied("tenant", labelled, `"openclaw-operator" marks the objects that Lintel creates; remove the label from ConfigMap `+namespace+"/mine", "create", "-f", "-")
	output, ok := kubectl(t, "", "delete", "-n", namespace, "deployment/a-gateway")
	require.False(t, ok, "the administrator of the cluster deletes the owner, too")
	require.Contains(t, output, byInstance+", and is deleted with that")

	tenant := func(args ...string) { mustKubectl(t, "", append(args, "-n", namespace, "--as=tenant")...) }
	tenant("create", "configmap", "b-gateway-policies")
	tenant("annotate", "deployment/a-gateway", "argocd.argoproj.io/tracking-id=x")
	tenant("label", "configmap/a-gateway-config", "argocd.argoproj.io/instance=x")
	tenant("scale", "deployment/a-gateway", "--replicas=0")
	eventually(t, func() bool {
		return *read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Replicas == 1
	}, "the number of gateways to be the instance's")
	tenant("rollout", "restart", "deployment/a-gateway")
	mustKubectl(t, "", "rollout", "status", "-n", namespace, "deployment/a-gateway", "--timeout=60s")
	tighten(t, namespace, "tightened")
	waitRunning(t, namespace, "a")

	// The garbage collector takes the owner reference away, and nothing controls the ConfigMap.
	mustKubectl(t, "", "delete", "-n", namespace, "pb/enterprise", "--cascade=orphan", "--timeout=60s")
	eventually(t, func() bool {
		output, ok := kubectl(t, "", "get", "-n", namespace, "configmap/enterprise-opa-policies", "-o", "jsonpath={.metadata.ownerReferences}")
		return ok && strings.TrimSpace(output) == "" || strings.Contains(output, "NotFound")
	}, "no owner to be left, or nothing")
	tenant("delete", "configmap/enterprise-opa-policies", "--ignore-not-found")
	mustKubectl(t, "", "delete", "namespace", namespace, "--timeout=60s")
}

// TestOpenClawTeamsHoldUpNoTightening: a PolicySource of a team denies the writes of its users
// to all that gateways consist of, and not those of the manager.
func TestOpenClawTeamsHoldUpNoTightening(t *testing.T) {
	t.Parallel()
	namespace := tenantWithGateway(t)
	applySource(t, "tenants-frozen", `# METADATA
# custom:
#   match:
#     operations: [CREATE, UPDATE, DELETE]
#     kinds: [{group: "", kind: ConfigMap}, {group: "", kind: Pod}, {group: "", kind: Service}, {group: apps, kind: Deployment}]
package frozen.base

deny contains "nothing changes here" if not starts

starts if {
	input.request.kind.kind == "Pod"
	input.request.operation == "CREATE"
}
`, teamScope("frozen", namespace))
	output, ok := kubectl(t, "", "create", "configmap", "mine", "-n", namespace, "--as=tenant")
	require.False(t, ok)
	require.Contains(t, output, "nothing changes here")
	tighten(t, namespace, "tightened")
	waitRunning(t, namespace, "a")
	mustKubectl(t, "", "delete", "-n", namespace, "openclawinstance/a", "--timeout=60s")
}

// tenantWithGateway is a namespace with a running instance "a" under a bundle of the enterprise,
// whose user "tenant" has the ClusterRole admin.
func tenantWithGateway(t *testing.T) (namespace string) {
	t.Helper()
	namespace = newRestrictedNamespace(t)
	mustKubectl(t, "", "create", "rolebinding", "tenant", "-n", namespace, "--clusterrole=admin", "--user=tenant")
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
	applyInstance(t, namespace, "a", nil, nil)
	waitRunning(t, namespace, "a")
	return namespace
}
