package chart

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/lintel-policy/lintel/test/installation"
)

// noticed is the time limit after which the API server no longer calls a replica that has ended
// without notice.
const noticed = 10 * time.Second

// crash ends a manager without notice under load. The API server denies requests in flight to
// it, and those that it sends there until it notices the end, according to failurePolicy: no
// request is wrongly admitted.
func (l *load) crash(t *testing.T, end func(t *testing.T)) {
	wrong := l.during(t, func() { end(t) })
	for _, answer := range wrong {
		assert.Contains(t, answer.said, `failed calling webhook "fail.policies.lintel.dev"`, "%s", answer)
		assert.Less(t, answer.at.Sub(wrong[0].at), noticed, "%s, first %s", answer, wrong[0])
	}
	l.node.settle(t)
}

// exhaustMemory lowers the memory limit of a manager, and sends it large objects until the
// kernel kills it.
func (n node) exhaustMemory(t *testing.T) {
	pod, limit := n.readyManagers(t)[0], "128Mi"
	if installation.Raced() {
		limit = "512Mi" // twice the use at rest
	}
	n.must(t, "", "patch", "pod", pod, "--namespace", namespace, "--subresource=resize",
		"--patch", `{"spec":{"containers":[{"name":"manager","resources":{"requests":{"memory":"64Mi"},"limits":{"memory":"`+limit+`"}}}]}}`)
	review := largeReview()
	eventually(t, func() bool {
		var reviews sync.WaitGroup
		for range 4 {
			reviews.Go(func() {
				_, _ = n.client.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").Name("https:"+pod+":9443").
					SubResource("proxy").Suffix("validate/fail").SetHeader("Content-Type", "application/json").
					Body(review).DoRaw(t.Context()) // until no manager answers
			})
		}
		reviews.Wait()
		return slices.ContainsFunc(n.managers(t), func(p corev1.Pod) bool { return p.Name == pod && ended(p).Reason == "OOMKilled" })
	}, "the kernel kills it")
	n.must(t, "", "delete", "pod", pod, "--namespace", namespace, "--wait=false")
}

// ended is how the container of a Pod ended the last time.
func ended(pod corev1.Pod) corev1.ContainerStateTerminated {
	for _, container := range pod.Status.ContainerStatuses {
		if container.LastTerminationState.Terminated != nil {
			return *container.LastTerminationState.Terminated
		}
	}
	return corev1.ContainerStateTerminated{}
}

// largeReview is of a ConfigMap whose evaluation takes many times its 6 MB.
func largeReview() []byte {
	var data strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&data, `"%d":%q,`, i, strings.Repeat("y", 100))
	}
	return fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1",
		"kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},
		"operation":"CREATE","namespace":"default","name":"large",
		"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","namespace":"default"},"data":{%s"value":"open"}}}}`, data.String())
}

// exhaustDisk fills the volume of a manager until the kubelet evicts it.
func (n node) exhaustDisk(t *testing.T) {
	victim := n.managers(t)[0]
	n.must(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: fill, namespace: default}
spec:
  restartPolicy: Never
  containers: [{name: fill, image: %s, args: [/target/full], volumeMounts: [{name: target, mountPath: /target}]}]
  volumes: [{name: target, hostPath: {path: /var/lib/kubelet/pods/%s/volumes/kubernetes.io~empty-dir/tmp}}]
`, gatewayImage, victim.UID), "apply", "-f", "-")
	eventually(t, func() bool {
		return n.must(t, "", "get", "pod", victim.Name, "--namespace", namespace, "-o", "jsonpath={.status.reason}") == "Evicted"
	}, "the kubelet evicts it")
	require.Contains(t, n.must(t, "", "get", "pod", victim.Name, "--namespace", namespace, "-o", "jsonpath={.status.message}"), `volume "tmp"`)
	n.must(t, "", "delete", "pod", victim.Name, "--namespace", namespace)
}
