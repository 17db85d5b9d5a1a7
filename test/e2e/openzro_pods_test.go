package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	ozv1 "github.com/lintel-policy/lintel/api/openzro/v1"
)

// annotatedPod is a Pod that asks for a client, with annotations that are pairs.
func (x tenant) annotatedPod(metadata map[string]any, annotations map[string]string) string {
	metadata["namespace"], metadata["annotations"] = x.namespace, annotations
	return asJSON(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": map[string]any{
		"containers": []map[string]any{{"name": "app", "image": "app:1"}},
	}})
}

// created is a Pod as the API server keeps it.
func created(t *testing.T, object string) (pod corev1.Pod) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(mustKubectl(t, object, "create", "-f", "-", "-o", "json")), &pod))
	return pod
}

// TestOpenZroPods get a client where they ask for one and its key is ready, and are
// refused where it is not.
func TestOpenZroPods(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	asking := map[string]string{ozv1.SetupKeyAnnotation: "pods"}
	output, ok := kubectl(t, x.annotatedPod(map[string]any{"name": "early"}, asking), "create", "-f", "-")
	require.False(t, ok, "there is no such key")
	require.Contains(t, output, "pods")

	x.apply(t, "OZSetupKey", "pods", map[string]any{"name": "e2e pods", "allowExtraDNSLabels": true})
	x.reconciled(t, "ozsetupkey", "pods")
	var pod corev1.Pod
	eventually(t, func() bool {
		output, ok := kubectl(t, x.annotatedPod(map[string]any{"generateName": "app-"}, asking), "create", "-f", "-", "-o", "json")
		return ok && json.Unmarshal([]byte(output), &pod) == nil
	}, "the webhook to have seen that the key is ready")
	require.Len(t, pod.Spec.Containers, 2)
	client := pod.Spec.Containers[1]
	require.Equal(t, "openzro", client.Name)
	require.Contains(t, client.SecurityContext.Capabilities.Add, corev1.Capability("NET_ADMIN"))
	require.Equal(t, "pods-key", environment(client)["OZ_SETUP_KEY"].ValueFrom.SecretKeyRef.Name)
	require.Equal(t, management.URL, environment(client)["OZ_MANAGEMENT_URL"].Value)

	asking[ozv1.InitSidecarAnnotation], asking[ozv1.ExtraDNSLabelsAnnotation] = "true", "web,api"
	pod = created(t, x.annotatedPod(map[string]any{"name": "native"}, asking))
	require.Len(t, pod.Spec.Containers, 1)
	require.Len(t, pod.Spec.InitContainers, 1)
	require.Equal(t, new(corev1.ContainerRestartPolicyAlways), pod.Spec.InitContainers[0].RestartPolicy)
	require.Equal(t, "web,api", environment(pod.Spec.InitContainers[0])["OZ_EXTRA_DNS_LABELS"].Value)

	require.Len(t, created(t, x.annotatedPod(map[string]any{"name": "plain"}, nil)).Spec.Containers, 1)
}

func environment(container corev1.Container) map[string]corev1.EnvVar {
	all := map[string]corev1.EnvVar{}
	for _, variable := range container.Env {
		all[variable.Name] = variable
	}
	return all
}

// TestOpenZroOtherPodsCallNobody: the registration is for annotated Pods alone.
func TestOpenZroOtherPodsCallNobody(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	decisions := func(name string) bool { return strings.Contains(managerLog(t), `"name":"`+name+`"`) }
	created(t, x.annotatedPod(map[string]any{"name": "openzro-without"}, nil))
	_, ok := kubectl(t, x.annotatedPod(map[string]any{"name": "openzro-with"}, map[string]string{ozv1.SetupKeyAnnotation: "none"}), "create", "-f", "-")
	require.False(t, ok)
	eventually(t, func() bool { return decisions("openzro-with") }, "the call for the annotated one to be logged")
	require.False(t, decisions("openzro-without"))
}
