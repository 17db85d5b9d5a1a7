package openclaw

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podsOf are the Pods behind the Service of an instance, in order, without those that have
// ended.
func podsOf(ctx context.Context, c client.Reader, instance client.ObjectKey) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.List(ctx, &list, client.InNamespace(instance.Namespace), client.MatchingLabels(gatewayLabels(instance.Name))); err != nil {
		return nil, fmt.Errorf("listing the Pods of OpenClawInstance %s: %w", instance.Name, err)
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return ended(&pod) })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// keyOf is the key by which the OPA of a Pod loads its policies: empty for a Pod that
// Lintel did not build. Arguments of a Pod cannot be changed, and labels can.
func keyOf(spec *corev1.PodSpec) string {
	for _, container := range spec.Containers {
		if container.Name != sidecarContainer {
			continue
		}
		for _, argument := range container.Args {
			if id, found := strings.CutPrefix(argument, "--set=bundles.policies.signing.keyid="); found {
				return id
			}
		}
	}
	return ""
}

// runsKey says whether a Pod can load the signed bundle and no other: its arguments have
// the public key.
func (s *signedPolicies) runsKey(spec *corev1.PodSpec) bool {
	for _, container := range spec.Containers {
		if container.Name == sidecarContainer {
			return keyOf(spec) == s.KeyID && slices.Contains(container.Args, "--set=keys."+s.KeyID+".key="+s.PublicKey)
		}
	}
	return false
}

// mayHaveMountedAnother says whether a Pod that is not ready is older than the ConfigMap with
// its policies. Another object may have had the name when the Pod started, and a kubelet
// reads an immutable ConfigMap only once.
func (s *signedPolicies) mayHaveMountedAnother(pods []corev1.Pod, stored *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		mounts := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == stored.Name })
		return mounts && s.runsKey(&pod.Spec) && !podReady(&pod) && pod.DeletionTimestamp == nil && pod.CreationTimestamp.Before(&stored.CreationTimestamp)
	})
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// stuckAfter is how long after its grace period a Pod that is being deleted counts as stuck.
const stuckAfter = 10 * time.Second

// cannotEnd says whether a Pod should have ended, and has not: its node is lost, or it has a
// finalizer. A Deployment that recreates its Pods would wait for it and start no others.
func cannotEnd(pod *corev1.Pod, now time.Time) bool {
	return pod.DeletionTimestamp != nil && now.After(pod.DeletionTimestamp.Add(stuckAfter))
}

// slimPod is a cache transform that removes all fields of a Pod except those that identify its
// policies.
func slimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			Labels: gatewayLabelsOf(pod.Labels), OwnerReferences: pod.OwnerReferences,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp, DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}
	for _, container := range pod.Spec.Containers {
		if container.Name == sidecarContainer {
			slim.Spec.Containers = append(slim.Spec.Containers, corev1.Container{Name: container.Name, Args: container.Args})
		}
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.ConfigMap != nil {
			slim.Spec.Volumes = append(slim.Spec.Volumes, corev1.Volume{Name: volume.Name, VolumeSource: corev1.VolumeSource{ConfigMap: volume.ConfigMap}})
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			slim.Status.Conditions = append(slim.Status.Conditions, corev1.PodCondition{Type: condition.Type, Status: condition.Status})
		}
	}
	return slim, nil
}

// gatewayLabelsOf are those labels by which the Service selects Pods.
func gatewayLabelsOf(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(name, _ string) bool { _, ours := gatewayLabels("")[name]; return !ours })
	return out
}

// podChanged passes changes of what Ready is computed from.
func podChanged(was, is *corev1.Pod) bool {
	return podReady(was) != podReady(is) || ended(was) != ended(is) ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() || !maps.Equal(was.Labels, is.Labels)
}

// rollout is what the gateways of an instance run.
type rollout struct {
	// deployment is nil where there is none of the instance's own, and signed where no
	// policies were signed.
	deployment *appsv1.Deployment
	signed     *signedPolicies
	pods       []corev1.Pod
}

// runs says whether every gateway is of the latest template, is ready and answers by the
// policies of that revision, and whether no Pod behind the Service answers by others.
func (r rollout) runs(revision string) bool {
	return r.deployment != nil && r.signed != nil && revision != "" && r.signed.Revision == revision && rolledOut(r.deployment) &&
		r.signed.runsKey(&r.deployment.Spec.Template.Spec) && len(r.behind()) == 0 && len(r.pods) >= int(ptr.Deref(r.deployment.Spec.Replicas, 1))
}

// behind are the Pods that do not answer by the wanted policies.
func (r rollout) behind() (pods []corev1.Pod) {
	for _, pod := range r.pods {
		if r.signed == nil || !r.signed.runsKey(&pod.Spec) || !podReady(&pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// overdue are the Pods that have run other policies for longer than they may, and next is
// when there will be more: the zero time for never.
func (r rollout) overdue(deadline time.Duration, now time.Time) (pods []corev1.Pod, next time.Time) {
	if r.signed == nil {
		return nil, time.Time{}
	}
	for _, pod := range r.pods {
		if r.signed.runsKey(&pod.Spec) {
			continue
		}
		due := r.signed.outdatedSince(keyOf(&pod.Spec)).Add(deadline)
		if !due.After(now) {
			pods = append(pods, pod)
		} else if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return pods, next
}

// recreates says whether all gateways end before others start: while a Pod is overdue that
// can still end.
func (r rollout) recreates(deadline time.Duration, now time.Time) bool {
	overdue, _ := r.overdue(deadline, now)
	return slices.ContainsFunc(overdue, func(pod corev1.Pod) bool { return !cannotEnd(&pod, now) })
}

// describe names Pods with the revisions that they run.
func (r rollout) describe(pods []corev1.Pod) string {
	var words []string
	for _, pod := range pods[:min(len(pods), maxNamed)] {
		var is []string
		switch key := keyOf(&pod.Spec); {
		case r.signed != nil && r.signed.runsKey(&pod.Spec):
			is = append(is, "runs revision "+shortRevision(r.signed.Revision))
		case key == "":
			is = append(is, "runs no signed policies")
		case r.signed == nil:
			is = append(is, "runs an unknown revision")
		default:
			is = append(is, "runs revision "+shortRevision(r.signed.revisionOf(key)))
		}
		if !podReady(&pod) {
			is = append(is, "is not ready")
		}
		if pod.DeletionTimestamp != nil {
			is = append(is, "is being deleted")
		}
		words = append(words, fmt.Sprintf("Pod %s %s", pod.Name, strings.Join(is, " and ")))
	}
	if more := len(pods) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// controllerOf names what controls a Pod.
func controllerOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	return ""
}

// progress says which Pods do not answer by the wanted policies yet.
func (r rollout) progress() string {
	behind := r.behind()
	if len(behind) == 0 || r.signed == nil {
		return "gateways are being started or replaced"
	}
	return fmt.Sprintf("gateways are being started or replaced; revision %s of the policies is wanted: %s", shortRevision(r.signed.Revision), r.describe(behind))
}

// outdated is the problem of Pods that have run other policies for too long.
func (r rollout) outdated(pods []corev1.Pod, deadline time.Duration) *problem {
	message := fmt.Sprintf("Pods behind Service %s have run other policies than revision %s for more than %s and are being deleted: %s",
		gatewayName(pods[0].Labels[instanceLabel]), shortRevision(r.signed.Revision), deadline, r.describe(pods))
	foreign := map[string]bool{}
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Kind != "ReplicaSet" {
			foreign[controllerOf(&pod)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(foreign)) {
		message += fmt.Sprintf("; %s starts them again: delete it", name)
	}
	return &problem{ReasonPoliciesOutdated, message}
}
