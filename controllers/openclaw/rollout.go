package openclaw

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// rolledOut says whether every Pod of a Deployment is of its latest template, and
// ready.
func rolledOut(d *appsv1.Deployment) bool {
	want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
	return s.ObservedGeneration >= d.Generation &&
		s.UpdatedReplicas == want && s.Replicas == want && s.ReadyReplicas == want
}

// stuck is why a Deployment does not come any further by itself: nil where it does.
func stuck(d *appsv1.Deployment) *problem {
	if d.DeletionTimestamp != nil {
		return &problem{"BeingDeleted", fmt.Sprintf("Deployment %s is being deleted and replaces no gateways; it waits for its finalizers %s",
			d.Name, strings.Join(d.Finalizers, ", "))}
	}
	for _, c := range d.Status.Conditions {
		// Where no ReplicaSet can be created, the generation is never observed.
		observed := d.Status.ObservedGeneration >= d.Generation || c.Reason == "ReplicaSetCreateError"
		failed := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue ||
			c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
		if observed && failed {
			return &problem{c.Reason, "Deployment " + d.Name + ": " + c.Message}
		}
	}
	return nil
}

func phaseOf(d *appsv1.Deployment) v1.Phase {
	switch {
	case d == nil:
		return v1.PhasePending
	case rolledOut(d):
		return v1.PhaseRunning
	default:
		return v1.PhaseProgressing
	}
}
