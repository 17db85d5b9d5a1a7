package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// attackByWrites: a tenant who may edit everything in a namespace edits no object
// of a gateway, and neither does an administrator; Kubernetes' controllers go on.
func attackByWrites(t *testing.T) {
	namespace := tenantWithGateway(t)
	waitSynced(t, namespace, "enterprise")

	const byInstance, byBundle = "is controlled by OpenClawInstance a", "is controlled by PolicyBundle enterprise"
	denied := func(t *testing.T, user, stdin, message string, args ...string) {
		t.Helper()
		output, ok := kubectl(t, stdin, append(args, "-n", namespace, "--as="+user, "--as-group=system:authenticated")...)
		require.False(t, ok, "%v: %s", args, output)
		require.Contains(t, output, message, "%v", args)
	}
	for name, c := range map[string]struct {
		message string
		args    []string
	}{
		"edit": {"ConfigMap " + namespace + "/a-gateway-config " + byInstance + "; edit that instead (this write changes data)",
			[]string{"patch", "configmap/a-gateway-config", "--type=merge", "-p", `{"data":{"evil.rego":"package x"}}`}},
		"labels and owner": {byInstance + "; edit that instead (this write changes metadata.labels, metadata.ownerReferences)",
			[]string{"patch", "configmap/a-gateway-config", "--type=merge", "-p", `{"metadata":{"labels":null,"ownerReferences":null}}`}},
		"finalizer": {byInstance + "; edit that instead (this write changes metadata.finalizers)",
			[]string{"patch", "configmap/a-gateway-config", "--type=merge", "-p", `{"metadata":{"finalizers":["kubernetes.io/stay"]}}`}},
		"finalizer without domain": {byInstance + "; edit that instead (this write changes metadata.finalizers)",
			[]string{"patch", "configmap/a-gateway-config", "--type=merge", "-p", `{"metadata":{"finalizers":["kubernetes"]}}`}},
		"deletion":            {byInstance + ", and is deleted with that", []string{"delete", "configmap/a-gateway-config"}},
		"foreground deletion": {byInstance + ", and is deleted with that", []string{"delete", "configmap/a-gateway-config", "--cascade=foreground"}},
		"orphaning":           {byInstance + ", and is deleted with that", []string{"delete", "deployment/a-gateway", "--cascade=orphan"}},
		"deletion of many":    {byInstance + ", and is deleted with that", []string{"delete", "services", "--all"}},
		"edit of a bundle's":  {byBundle + "; edit that instead", []string{"patch", "configmap/enterprise-opa-policies", "--type=merge", "-p", `{"data":null}`}},
		"pause":               {byInstance + "; edit that instead (this write changes spec)", []string{"rollout", "pause", "deployment/a-gateway"}},
		"image":               {byInstance + "; edit that instead (this write changes spec)", []string{"set", "image", "deployment/a-gateway", "gateway=evil.example.com/gateway"}},
		"selector":            {byInstance + "; edit that instead (this write changes spec)", []string{"patch", "service/a-gateway", "-p", `{"spec":{"selector":{"evil":"true"}}}`}},
		"reserved name": {"Lintel creates PodDisruptionBudget " + namespace + "/a-gateway for OpenClawInstance a; choose another name",
			[]string{"create", "poddisruptionbudget", "a-gateway", "--selector=a=b", "--min-available=1"}},
		"reserved name of policies": {"Lintel creates ConfigMap " + namespace + "/a-gateway-policies-0 for OpenClawInstance a; choose another name",
			[]string{"create", "configmap", "a-gateway-policies-0"}},
	} {
		t.Run(name, func(t *testing.T) { denied(t, "tenant", "", c.message, c.args...) })
	}
	labelled := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"mine","namespace":%q,"labels":{"app.kubernetes.io/managed-by":"openclaw-operator"}}}`, namespace)
	denied(t, "tenant", labelled, `"openclaw-operator" marks the objects that Lintel creates; remove the label from ConfigMap `+namespace+"/mine", "create", "-f", "-")
	output, ok := kubectl(t, "", "delete", "-n", namespace, "deployment/a-gateway")
	require.False(t, ok, "the administrator of the cluster deletes the owner, too")
	require.Contains(t, output, byInstance+", and is deleted with that")

	output, ok = kubectl(t, "", "patch", "-n", namespace, "openclawinstance/a", "--type=merge", "-p", `{"spec":{"deploymentMode":"ha","replicas":100000}}`)
	require.False(t, ok)
	require.Contains(t, output, "spec.replicas: Invalid value 100000: must be at most 20")

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
	mustKubectl(t, "", "delete", "namespace", namespace, "--timeout=150s")
}

// attackByPolicies: a PolicySource of a team denies the writes of its users to instances and to
// all that gateways consist of, and not those of the manager.
func attackByPolicies(t *testing.T) {
	namespace := tenantWithGateway(t)
	applySource(t, "tenants-frozen", `# METADATA
# custom:
#   match:
#     operations: [CREATE, UPDATE, DELETE]
#     kinds: [{group: "", kind: ConfigMap}, {group: "", kind: Pod}, {group: "", kind: Service}, {group: apps, kind: Deployment}, {group: openclaw.enterprise.io, kind: OpenClawInstance}]
package frozen.base

deny contains "nothing changes here" if not starts

starts if {
	input.request.kind.kind == "Pod"
	input.request.operation == "CREATE"
}

starts if {
	input.request.kind.kind == "OpenClawInstance"
	input.request.operation == "DELETE"
}

starts if input.request.userInfo.username == "owner"
`, teamScope("frozen", namespace))
	output, ok := kubectl(t, "", "create", "configmap", "mine", "-n", namespace, "--as=tenant")
	require.False(t, ok)
	require.Contains(t, output, "nothing changes here")
	output, ok = kubectl(t, "", "annotate", "openclawinstance/a", "-n", namespace, "a=b")
	require.False(t, ok)
	require.Contains(t, output, "nothing changes here")
	mustKubectl(t, "", "patch", "openclawinstance/a", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`, "--as=owner", "--as-group=system:masters")
	waitFor(t, namespace, "oci/a", "the finalizer to be there again", func(instance *v1.OpenClawInstance) bool { return len(instance.Finalizers) == 1 })
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
