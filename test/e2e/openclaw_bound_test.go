package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/test/installation"
)

// gatewayPods are the Pods behind the Service of an instance that are not being deleted,
// and the keys by which they load policies.
func gatewayPods(t *testing.T, namespace, instance string) map[string]string {
	t.Helper()
	var list corev1.PodList
	require.NoError(t, json.Unmarshal([]byte(mustGet(t, "pods", "-n", namespace, "-o", "json", "-l",
		"app.kubernetes.io/component=gateway,app.kubernetes.io/instance="+instance)), &list))
	pods := map[string]string{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods[pod.Name] = keyOf(pod.Spec)
		}
	}
	return pods
}

// keyOf is the key by which a Pod loads policies.
func keyOf(spec corev1.PodSpec) (key string) {
	for _, container := range spec.Containers {
		for _, argument := range container.Args {
			if id, found := strings.CutPrefix(argument, "--set=bundles.policies.signing.keyid="); found {
				key = id
			}
		}
	}
	return key
}

// TestOpenClawTighteningHasABound: whatever a tenant puts in the way, no gateway answers by
// former policies for longer than it may, and both statuses name what is in the way.
func TestOpenClawTighteningHasABound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// obstruct is what a tenant does before the tightening. It names the obstacle that
		// the statuses report: none where the tightening arrives nevertheless.
		obstruct func(t *testing.T, namespace string) (obstacle string)
		// clear ends that.
		clear func(t *testing.T, namespace string)
	}{
		"the ConfigMap cannot be replaced": {obstruct: func(t *testing.T, namespace string) string {
			policies := policiesOf(t, namespace, "a").Name
			tamper(t, "", "patch", "-n", namespace, "configmap/"+policies, "--type=merge", "-p", `{"metadata":{"finalizers":["x.kubernetes.io/stay"]}}`)
			tamper(t, "", "delete", "-n", namespace, "configmap/"+policies, "--wait=false")
			eventually(t, func() bool { return policiesOf(t, namespace, "a").Name == policies+"-1" }, "the policies to have another name")
			return ""
		}, clear: func(t *testing.T, namespace string) {
			for _, taken := range strings.Fields(mustGet(t, "configmaps", "-n", namespace, "-o", "name")) {
				output, ok := kubectl(t, "", "patch", "-n", namespace, taken, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
				require.True(t, ok || strings.Contains(output, "NotFound"), output) // the manager deletes what is no longer used
			}
		}},
		"no further ConfigMap is permitted": {obstruct: func(t *testing.T, namespace string) string {
			mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"none","namespace":%q},"spec":{"hard":{"configmaps":"0"}}}`, namespace), "create", "-f", "-")
			waitFor(t, namespace, "resourcequota/none", "the quota to be counted", func(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) > 0 })
			return "exceeded quota"
		}, clear: func(t *testing.T, namespace string) {
			mustKubectl(t, "", "delete", "-n", namespace, "resourcequota/none")
		}},
		"a dependent keeps the ConfigMap": {obstruct: func(t *testing.T, namespace string) string {
			policies := policiesOf(t, namespace, "a")
			mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stays","namespace":%q,"finalizers":["example.com/stay"],
				"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q,"blockOwnerDeletion":true}]}}`, namespace, policies.Name, policies.UID), "create", "-f", "-")
			tamper(t, "", "delete", "-n", namespace, "configmap/"+policies.Name, "--cascade=foreground", "--wait=false")
			eventually(t, func() bool { return policiesOf(t, namespace, "a").Name == policies.Name+"-1" }, "the policies to have another name")
			return ""
		}, clear: func(t *testing.T, namespace string) {
			mustKubectl(t, "", "patch", "-n", namespace, "configmap/stays", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		}},
		"no Pod is small enough": {obstruct: func(t *testing.T, namespace string) string {
			mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"none","namespace":%q},"spec":{"limits":[{"type":"Pod","max":{"memory":"1"}}]}}`, namespace), "create", "-f", "-")
			return "maximum memory usage per Pod is 1"
		}, clear: func(t *testing.T, namespace string) {
			mustKubectl(t, "", "delete", "-n", namespace, "limitrange/none")
		}},
		"a quota of ReplicaSets": {obstruct: func(t *testing.T, namespace string) string {
			mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"none","namespace":%q},"spec":{"hard":{"count/replicasets.apps":"0"}}}`, namespace), "create", "-f", "-")
			waitFor(t, namespace, "resourcequota/none", "the quota to be counted", func(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) > 0 })
			return "exceeded quota"
		}, clear: func(t *testing.T, namespace string) {
			mustKubectl(t, "", "delete", "-n", namespace, "resourcequota/none")
		}},
		"no further Pod is permitted": {obstruct: func(t *testing.T, namespace string) string {
			mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"none","namespace":%q},"spec":{"hard":{"pods":"0"}}}`, namespace), "create", "-f", "-")
			waitFor(t, namespace, "resourcequota/none", "the quota to be counted", func(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) > 0 })
			return "exceeded quota"
		}, clear: func(t *testing.T, namespace string) {
			mustKubectl(t, "", "delete", "-n", namespace, "resourcequota/none")
		}},
		"a ReplicaSet is no longer the Deployment's": {obstruct: func(t *testing.T, namespace string) string {
			set := strings.TrimSpace(mustGet(t, "replicasets", "-n", namespace, "-o", "name"))
			mustKubectl(t, "", "label", "-n", namespace, set, "app.kubernetes.io/component=other", "--overwrite")
			eventually(t, func() bool { return len(gatewayPods(t, namespace, "a")) == 2 }, "the Deployment to have another ReplicaSet")
			return ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newRestrictedNamespace(t)
			applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
			applyInstance(t, namespace, "a", nil, nil)
			waitRunning(t, namespace, "a")
			waitSynced(t, namespace, "enterprise")
			obstacle := c.obstruct(t, namespace)
			former := gatewayPods(t, namespace, "a")
			require.NotEmpty(t, former)
			key := keyOf(read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Template.Spec)

			start := time.Now()
			applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true\ndeny if input.tightened"))
			eventually(t, func() bool {
				for _, has := range gatewayPods(t, namespace, "a") {
					if has == key {
						return false
					}
				}
				return keyOf(read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Template.Spec) != key
			}, "the gateways with former policies to go")
			require.Less(t, time.Since(start), policyDeadline+10*time.Second)
			if obstacle != "" {
				eventually(t, func() bool {
					degraded := meta.FindStatusCondition(read[v1.OpenClawInstance](t, namespace, "oci/a").Status.Conditions, v1.ConditionDegraded)
					return degraded != nil && strings.Contains(degraded.Message, obstacle)
				}, "the instance to name the obstacle: "+obstacle)
			}
			if c.clear != nil {
				c.clear(t, namespace)
			}
			waitSynced(t, namespace, "enterprise")
			waitRunning(t, namespace, "a")
			require.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Strategy.Type)
			require.Len(t, gatewayPods(t, namespace, "a"), 1)
			eventually(t, func() bool {
				return strings.Count(mustGet(t, "configmaps", "-n", namespace, "-o", "name"), "a-gateway-policies-") == 1
			}, "former policies to be deleted")
		})
	}
}

// TestOpenClawOutdatedPodsAreReported: while a Pod runs other policies, no status says that
// the wanted ones are in force. Without the record of a key, there is another one.
func TestOpenClawOutdatedPodsAreReported(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
	applyInstance(t, namespace, "a", nil, nil)
	waitRunning(t, namespace, "a")
	waitSynced(t, namespace, "enterprise")
	// A finalizer keeps a Pod, as a kubelet that has lost its network does.
	mustKubectl(t, strayPod(namespace, "stray", "a", "example.com/stay"), "create", "-f", "-")
	message := awaitCondition(t, namespace, "oci/a", v1.ConditionDegraded, "True PoliciesOutdated").Message
	require.Contains(t, message, "Pod stray runs no signed policies and is not ready")
	message = awaitCondition(t, namespace, "pb/enterprise", v1.ConditionPolicySynced, "False NotInForce").Message
	require.Contains(t, message, "at OpenClawInstance "+namespace+"/a: PoliciesOutdated: ")
	require.Contains(t, message, "Pod stray runs no signed policies")
	require.Equal(t, "False PoliciesOutdated", says(read[v1.OpenClawInstance](t, namespace, "oci/a").Status.Conditions, v1.ConditionReady))
	waitFor(t, namespace, "pod/stray", "the Pod to be deleted", func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	mustKubectl(t, "", "patch", "-n", namespace, "pod/stray", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	waitSynced(t, namespace, "enterprise")
	waitRunning(t, namespace, "a")

	key := func() string {
		return keyOf(read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Template.Spec)
	}
	before := key()
	sum := sha256.Sum256([]byte(namespace + "/a"))
	mustKubectl(t, "", "delete", "-n", installation.Namespace, "configmap/openclaw-signedpolicies-"+hex.EncodeToString(sum[:16]))
	eventually(t, func() bool { return key() != before }, "the policies to have another key")
	waitRunning(t, namespace, "a")
	for pod, has := range gatewayPods(t, namespace, "a") {
		require.Equal(t, key(), has, pod)
	}
}

// strayPod is a Pod behind the Service of an instance that no scheduler and no kubelet has.
func strayPod(namespace, name, instance string, finalizers ...string) string {
	return asJSON(map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": namespace, "finalizers": finalizers, "labels": map[string]any{
			"app.kubernetes.io/name": "openclaw-enterprise", "app.kubernetes.io/managed-by": "openclaw-operator",
			"app.kubernetes.io/component": "gateway", "app.kubernetes.io/instance": instance}},
		"spec": map[string]any{
			"schedulerName":   "none",
			"securityContext": map[string]any{"runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
			"containers": []any{map[string]any{"name": "c", "image": "x",
				"securityContext": map[string]any{"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}}}},
		},
	})
}

// TestOpenClawDeletionLeavesNoGateway: however an instance is deleted.
func TestOpenClawDeletionLeavesNoGateway(t *testing.T) {
	t.Parallel()
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
	for _, name := range []string{"a", "b", "c"} {
		applyInstance(t, namespace, name, nil, nil)
	}
	for _, name := range []string{"a", "b", "c"} {
		waitRunning(t, namespace, name)
	}
	left := func(name string) string {
		return mustGet(t, "-n", namespace, "deployments,replicasets,services,configmaps,pods", "-o", "name", "-l", "app.kubernetes.io/instance="+name)
	}

	// It has a finalizer of others.
	mustKubectl(t, "", "patch", "-n", namespace, "oci/a", "--type=json", "-p", `[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/stay"}]`)
	mustKubectl(t, "", "delete", "-n", namespace, "oci/a", "--wait=false")
	eventually(t, func() bool { return left("a") == "" }, "everything of the instance to go")
	instance := waitFor(t, namespace, "oci/a", "the finalizer to go", func(instance *v1.OpenClawInstance) bool { return len(instance.Finalizers) == 1 })
	require.Equal(t, []string{"example.com/stay"}, instance.Finalizers)
	require.Equal(t, "False Deleting", says(instance.Status.Conditions, v1.ConditionReady))
	mustKubectl(t, "", "patch", "-n", namespace, "oci/a", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)

	// Its dependents are to be orphaned, with its finalizer and without.
	mustKubectl(t, "", "delete", "-n", namespace, "oci/b", "--cascade=orphan")
	mustKubectl(t, "", "patch", "-n", namespace, "oci/c", "--type=merge", "-p", `{"metadata":{"finalizers":["orphan"]}}`)
	mustKubectl(t, "", "delete", "-n", namespace, "oci/c", "--cascade=orphan")
	for _, name := range []string{"b", "c"} {
		eventually(t, func() bool { return left(name) == "" }, "nothing to be left of the instance "+name)
	}

	// Pods of no instance are reported.
	mustKubectl(t, strayPod(namespace, "left", "former"), "create", "-f", "-")
	message := awaitCondition(t, namespace, "pb/enterprise", v1.ConditionPolicySynced, "False NotInForce").Message
	require.Contains(t, message, "at OpenClawInstance "+namespace+"/former: Orphaned: ")
	require.Contains(t, message, "Pod left runs no signed policies")
	mustKubectl(t, "", "delete", "-n", namespace, "pod/left")
	waitFor(t, namespace, "pb/enterprise", "the bundle to be in force again", func(bundle *v1.PolicyBundle) bool {
		return says(bundle.Status.Conditions, v1.ConditionPolicySynced) == "True NoGateways"
	})
}
