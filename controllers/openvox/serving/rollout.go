package serving

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// rollout is how far the workload of a Server or a Database is.
type rollout struct {
	// of is the workload, pods the selector of its Pods, and what names the Pods in messages.
	of, pods, what string
	// want is the desired number of Pods. observed is true if the other fields describe the current
	// generation.
	want                int32
	observed            bool
	all, updated, ready int32
	// failure is the failure that the workload reports, and trouble the reason why a Pod does not
	// start: nil for none.
	failure, trouble *obstacle
}

// progress is how far it is: nil has not begun.
func (r *rollout) progress() (phase v1alpha1.ServerPhase, ready bool, reason, message string) {
	if r == nil {
		return v1alpha1.ServerPending, false, reasonRollingOut, "nothing is started yet"
	}
	if phase = v1alpha1.ServerPending; r.ready > 0 {
		phase = v1alpha1.ServerRunning
	}
	switch {
	case r.observed && r.want == 0 && r.all == 0:
		return phase, false, reasonScaledToZero, fmt.Sprintf("no %s are wanted: spec.replicas is 0", r.what)
	case r.observed && r.updated == r.want && r.all == r.want && r.ready == r.want:
		return v1alpha1.ServerRunning, true, reasonRunning, fmt.Sprintf("%d of %d %s are ready", r.want, r.want, r.what)
	case r.trouble != nil:
		return troubled(phase), false, r.trouble.reason, r.trouble.message
	case r.observed && r.failure != nil:
		return troubled(phase), false, r.failure.reason, fmt.Sprintf("%s: %s; see kubectl describe pods --selector %s", r.of, r.failure.message, r.pods)
	}
	return phase, false, reasonRollingOut, fmt.Sprintf("%s are being started or replaced: %d of %d are ready, %d of them of the latest version", r.what, r.ready, r.want, r.updated)
}

// troubled is Error, unless some are ready.
func troubled(phase v1alpha1.ServerPhase) v1alpha1.ServerPhase {
	if phase == v1alpha1.ServerRunning {
		return phase
	}
	return v1alpha1.ServerError
}

// troubleAmong returns why one of some Pods does not start, or nil.
func troubleAmong(ctx context.Context, reader client.Reader, namespace string, labels client.MatchingLabels) (*obstacle, error) {
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(namespace), labels, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		if trouble := troubleOf(&pods.Items[i]); trouble != nil {
			return trouble, nil
		}
	}
	return nil, nil
}

// troubleOf returns why a Pod does not start without a change, or nil.
func troubleOf(pod *corev1.Pod) *obstacle {
	if !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return &obstacle{reason: c.Reason, message: fmt.Sprintf("Pod %s: %s", pod.Name, c.Message)}
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting, ended := c.State.Waiting, c.LastTerminationState.Terminated
		if waiting == nil || slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, waiting.Reason) {
			continue
		}
		message := waiting.Message
		if ended != nil {
			message = strings.TrimSpace(fmt.Sprintf("%s; it ended last with %s (exit code %d): %s", message, ended.Reason, ended.ExitCode, lastLines(ended.Message)))
		}
		return &obstacle{reason: waiting.Reason, message: fmt.Sprintf("Pod %s: %s", pod.Name, message)}
	}
	return nil
}

// lastLines returns the last lines of a program's output.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "\n")
}
