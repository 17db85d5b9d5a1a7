package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestOpenClawAttacks has the attacks on the policies of gateways by a tenant that may write
// everything in its namespace except Pods, and PolicySources of its team. In each case, the
// write is refused, or the tightening arrives, or the gateways with former policies are gone
// within the bound and both statuses name the obstacle.
func TestOpenClawAttacks(t *testing.T) {
	t.Parallel()
	for name, o := range allObstacles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.run(t)
		})
	}
	for name, attack := range map[string]func(*testing.T){
		"refused writes":          attackByWrites,
		"a race":                  attackByRace,
		"names taken before":      attackByNames,
		"policies of a team":      attackByPolicies,
		"outdated Pods":           attackByPods,
		"deletion of an instance": attackByDeletion,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attack(t)
		})
	}
}

// obstacle is what a tenant puts in the way of a tightening.
type obstacle struct {
	// obstruct names what the statuses report: nothing where the tightening arrives
	// nevertheless.
	obstruct func(t *testing.T, namespace string) (reported string)
	// clear ends that; nil where nothing is left.
	clear func(t *testing.T, namespace string)
	// starts is whether gateways with the wanted policies start nevertheless: KWOK's Pods do
	// without their volumes. Then the bundle is in force, and does not name the obstacle.
	starts bool
}

// quota permits no more of a resource in a namespace.
func quota(resource string, then func(t *testing.T, namespace string)) obstacle {
	return obstacle{starts: resource == "configmaps", obstruct: func(t *testing.T, namespace string) string {
		mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"none","namespace":%q},"spec":{"hard":{%q:"0"}}}`, namespace, resource), "create", "-f", "-")
		waitFor(t, namespace, "resourcequota/none", "the quota to be counted", func(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) > 0 })
		if then != nil {
			then(t, namespace)
		}
		return "exceeded quota"
	}, clear: func(t *testing.T, namespace string) {
		mustKubectl(t, "", "delete", "-n", namespace, "resourcequota/none")
	}}
}

// finalizer keeps the ConfigMap with the policies while it is deleted.
func finalizer(name string) obstacle {
	return obstacle{obstruct: func(t *testing.T, namespace string) string {
		policies := policiesOf(t, namespace, "a").Name
		tamper(t, "", "patch", "-n", namespace, "configmap/"+policies, "--type=merge", "-p", fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, name))
		tamper(t, "", "delete", "-n", namespace, "configmap/"+policies, "--wait=false")
		eventually(t, func() bool { return policiesOf(t, namespace, "a").Name == policies+"-1" }, "the policies to have another name")
		return ""
	}, clear: func(t *testing.T, namespace string) {
		for _, taken := range strings.Fields(mustGet(t, "configmaps", "-n", namespace, "-o", "name")) {
			output, ok := kubectl(t, "", "patch", "-n", namespace, taken, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
			require.True(t, ok || strings.Contains(output, "NotFound"), output) // the manager deletes unused ones
		}
	}}
}

// replicaSet is what a tenant does with the ReplicaSet of the gateways, so that there is
// another one.
func replicaSet(attack func(t *testing.T, namespace, set string)) obstacle {
	return obstacle{obstruct: func(t *testing.T, namespace string) string {
		set := strings.TrimSpace(mustGet(t, "replicasets", "-n", namespace, "-o", "name"))
		attack(t, namespace, set)
		eventually(t, func() bool { return len(gatewayPods(t, namespace, "a")) == 2 }, "the Deployment to have another ReplicaSet")
		return ""
	}}
}

// planted replaces an object of the gateways past admission by one of the tenant's, which no
// deletion removes.
func planted(object, manifest string) obstacle {
	return obstacle{obstruct: func(t *testing.T, namespace string) string {
		for range 10 { // the manager is quick to create it again
			tamper(t, "", "delete", "-n", namespace, object, "--wait=false", "--ignore-not-found")
			if _, taken := kubectl(t, fmt.Sprintf(manifest, namespace), append([]string{"create", "-f", "-"}, asController...)...); taken {
				break
			}
		}
		return ""
	}}
}

var allObstacles = map[string]obstacle{
	"a finalizer of Kubernetes":  finalizer("x.kubernetes.io/stay"),
	"a finalizer without domain": finalizer("kubernetes"),
	"a dependent that stays": {obstruct: func(t *testing.T, namespace string) string {
		policies := policiesOf(t, namespace, "a")
		mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stays","namespace":%q,"finalizers":["example.com/stay"],
			"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q,"blockOwnerDeletion":true}]}}`, namespace, policies.Name, policies.UID), "create", "-f", "-")
		tamper(t, "", "delete", "-n", namespace, "configmap/"+policies.Name, "--cascade=foreground", "--wait=false")
		eventually(t, func() bool { return policiesOf(t, namespace, "a").Name == policies.Name+"-1" }, "the policies to have another name")
		return ""
	}, clear: func(t *testing.T, namespace string) {
		mustKubectl(t, "", "patch", "-n", namespace, "configmap/stays", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	}},
	"quota of ConfigMaps": quota("configmaps", nil),
	"deletion under a quota": quota("configmaps", func(t *testing.T, namespace string) {
		tamper(t, "", "delete", "-n", namespace, "configmap/"+policiesOf(t, namespace, "a").Name)
	}),
	"quota of ReplicaSets": quota("count/replicasets.apps", nil),
	"quota of Pods":        quota("pods", nil),
	"Pods that are too large": {obstruct: func(t *testing.T, namespace string) string {
		mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"none","namespace":%q},"spec":{"limits":[{"type":"Pod","max":{"memory":"1"}}]}}`, namespace), "create", "-f", "-")
		return "maximum memory usage per Pod is 1"
	}, clear: func(t *testing.T, namespace string) {
		mustKubectl(t, "", "delete", "-n", namespace, "limitrange/none")
	}},
	// The garbage collector never deletes an object whose owner has an unknown kind.
	"ReplicaSet of no kind": replicaSet(func(t *testing.T, namespace, set string) {
		mustKubectl(t, "", "patch", "-n", namespace, set, "--type=merge", "-p", `{"metadata":{"labels":{"app.kubernetes.io/component":"other"},
			"ownerReferences":[{"apiVersion":"ghosts.example.com/v1","kind":"Ghost","name":"x","uid":"6c8cf2ab-0000-4000-8000-000000000000","controller":true}]}}`)
	}),
	"orphaned and relabelled": replicaSet(func(t *testing.T, namespace, set string) {
		mustKubectl(t, "", "label", "-n", namespace, set, "app.kubernetes.io/component=other", "--overwrite")
		tamper(t, "", "delete", "-n", namespace, "deployment/a-gateway", "--cascade=orphan")
	}),
	"planted Deployment": planted("deployment/a-gateway", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a-gateway","namespace":%q,"finalizers":["tenant.example.com/stay"]},
		"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}`),
	"planted Service": planted("service/a-gateway", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a-gateway","namespace":%q,"finalizers":["tenant.example.com/stay"]},
		"spec":{"selector":{"evil":"true"},"ports":[{"port":80}]}}`),
}

// slack is what a busy machine needs beyond the bound, to sign policies and to end Pods.
const slack = 30 * time.Second

// run obstructs a tightening, and expects it within the bound.
func (o obstacle) run(t *testing.T) {
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
	applyInstance(t, namespace, "a", nil, nil)
	waitRunning(t, namespace, "a")
	waitSynced(t, namespace, "enterprise")
	selector := read[corev1.Service](t, namespace, "service/a-gateway").Spec.Selector
	key := keyOf(read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Template.Spec)
	reported := o.obstruct(t, namespace)
	eventually(t, func() bool { return len(gatewayPods(t, namespace, "a")) > 0 }, "gateways to run")

	start := time.Now()
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true\ndeny if input.tightened"))
	eventually(t, func() bool {
		for _, has := range gatewayPods(t, namespace, "a") {
			if has == key {
				return false
			}
		}
		text, found := get(t, "-n", namespace, "deployment/a-gateway", "-o", "json")
		deployment := appsv1.Deployment{}
		return found && json.Unmarshal([]byte(text), &deployment) == nil && !slices.Contains([]string{key, ""}, keyOf(deployment.Spec.Template.Spec))
	}, "the gateways with former policies to go")
	require.Less(t, time.Since(start), policyDeadline+slack)
	if reported != "" {
		eventually(t, func() bool {
			degraded := meta.FindStatusCondition(read[v1.OpenClawInstance](t, namespace, "oci/a").Status.Conditions, v1.ConditionDegraded)
			return degraded != nil && degraded.Status == metav1.ConditionTrue && strings.Contains(degraded.Message, reported)
		}, "the instance to name the obstacle: "+reported)
	}
	if reported != "" && !o.starts {
		waitFor(t, namespace, "pb/enterprise", "the bundle to name the obstacle: "+reported, func(bundle *v1.PolicyBundle) bool {
			synced := meta.FindStatusCondition(bundle.Status.Conditions, v1.ConditionPolicySynced)
			return synced != nil && synced.Reason == "NotInForce" && strings.Contains(synced.Message, reported)
		})
	}
	if o.clear != nil {
		o.clear(t, namespace)
	}
	waitSynced(t, namespace, "enterprise")
	waitRunning(t, namespace, "a")
	require.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, read[appsv1.Deployment](t, namespace, "deployment/a-gateway").Spec.Strategy.Type)
	require.Equal(t, selector, read[corev1.Service](t, namespace, "service/a-gateway").Spec.Selector)
	require.Len(t, gatewayPods(t, namespace, "a"), 1)
	eventually(t, func() bool {
		return strings.Count(mustGet(t, "configmaps", "-n", namespace, "-o", "name"), "a-gateway-policies-") == 1
	}, "former policies to be deleted")
}

// attackByRace patches the ConfigMap with the policies in a loop, as the tenant and past
// admission, while the policies are tightened.
func attackByRace(t *testing.T) {
	namespace := tenantWithGateway(t)
	waitSynced(t, namespace, "enterprise")
	ctx, cancel := context.WithCancel(t.Context())
	var racing sync.WaitGroup
	admitted, refused := 0, 0
	racing.Go(func() {
		for ctx.Err() == nil {
			names, _ := get(t, "configmaps", "-n", namespace, "-o", "name")
			for _, name := range strings.Fields(names) {
				if !strings.Contains(name, "a-gateway-policies-") {
					continue
				}
				output, err := cluster.Kubectl(ctx, "", "patch", "-n", namespace, name, "--as=tenant", "--type=merge", "-p", `{"binaryData":{"bundle.tar.gz":"BBBB"}}`)
				switch {
				case err == nil:
					admitted++
				case strings.Contains(output, "is controlled by OpenClawInstance a"), strings.Contains(output, "field is immutable"):
					refused++
				}
				// Past admission, all that can be changed of an immutable ConfigMap is that it exists.
				_, _ = cluster.Kubectl(ctx, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":%q},"binaryData":{"bundle.tar.gz":"AAAA"},"immutable":true}`,
					namespace, strings.TrimPrefix(name, "configmap/")), append([]string{"replace", "--force", "-f", "-"}, asController...)...)
			}
		}
	})
	for _, word := range []string{"first", "second"} {
		tighten(t, namespace, word)
	}
	cancel()
	racing.Wait()
	require.Zero(t, admitted)
	require.Positive(t, refused)
	waitSynced(t, namespace, "enterprise")
	waitRunning(t, namespace, "a")
	require.Contains(t, unpack(t, policiesOf(t, namespace, "a"))["lintel/policies/models/enterprise/enterprise/p0.rego"], "input.second")
}

// attackByNames creates objects under the names of an instance before it exists: no gateway
// starts, and the statuses name the object.
func attackByNames(t *testing.T) {
	namespace := newRestrictedNamespace(t)
	applyBundle(t, namespace, "enterprise", nil, policy("enterprise", "default allow := true"))
	mustKubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a-gateway","namespace":%q},"spec":{"selector":{"evil":"true"},"ports":[{"port":80}]}}`, namespace), "create", "-f", "-")
	mustKubectl(t, configMap(namespace, "b-gateway-config"), "create", "-f", "-")
	for name, object := range map[string]string{"a": "Service a-gateway", "b": "ConfigMap b-gateway-config"} {
		applyInstance(t, namespace, name, nil, nil)
		message := awaitCondition(t, namespace, "oci/"+name, v1.ConditionDegraded, "True NotOwned").Message
		require.Contains(t, message, object+" in namespace "+namespace+" is not controlled by this object and is left alone; delete it")
		require.Equal(t, "False NotOwned", says(read[v1.OpenClawInstance](t, namespace, "oci/"+name).Status.Conditions, v1.ConditionReady))
	}
	require.Empty(t, mustGet(t, "deployments", "-n", namespace, "-o", "name"))
	mustKubectl(t, "", "delete", "-n", namespace, "service/a-gateway", "configmap/b-gateway-config")
	for _, name := range []string{"a", "b"} {
		waitRunning(t, namespace, name)
	}
}

// attackByPods: while a Pod runs other policies, no status reports that the desired ones are in
// force. Without the record of a key, a new key is created.
func attackByPods(t *testing.T) {
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
	eventually(t, func() bool {
		for _, has := range gatewayPods(t, namespace, "a") {
			if has != key() {
				return false
			}
		}
		return true
	}, "all gateways to have that key")
	waitRunning(t, namespace, "a")
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

// attackByDeletion leaves no gateway, however an instance is deleted.
func attackByDeletion(t *testing.T) {
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
