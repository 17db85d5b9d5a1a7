package openclaw

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/controllers/object"
)

const (
	// overdueGrace is how many seconds the containers of a gateway have to end that has run
	// other policies for too long, and endGrace those of a deleted instance.
	overdueGrace = 1
	endGrace     = 30
)

// takeDown deletes Pods that must no longer run, within a grace period in seconds that overrides
// their specs. ReplicaSets that would recreate them are deleted as well, except those of
// deployment, which replaces its Pods: nil for none.
func (r *InstanceReconciler) takeDown(ctx context.Context, pods []corev1.Pod, deployment *appsv1.Deployment, grace int64) error {
	var failures []error
	seen := map[types.UID]bool{}
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Kind == "ReplicaSet" && !seen[owner.UID] {
			seen[owner.UID] = true
			failures = append(failures, r.takeDownReplicaSet(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}, owner.UID, deployment))
		}
		if has := pod.DeletionGracePeriodSeconds; pod.DeletionTimestamp != nil && has != nil && *has <= grace {
			continue
		}
		err := r.client.Delete(ctx, &pod, client.Preconditions{UID: &pod.UID}, client.GracePeriodSeconds(grace))
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) { // another one has the name
			failures = append(failures, fmt.Errorf("deleting Pod %s: %w", client.ObjectKeyFromObject(&pod), err))
		}
	}
	return errors.Join(failures...)
}

func (r *InstanceReconciler) takeDownReplicaSet(ctx context.Context, key client.ObjectKey, uid types.UID, deployment *appsv1.Deployment) error {
	set := object.MetadataOf(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	if err := r.applier.Live.Get(ctx, key, set); err != nil {
		return client.IgnoreNotFound(err)
	}
	replaced := deployment != nil && deployment.DeletionTimestamp == nil && metav1.IsControlledBy(set, deployment)
	if set.UID != uid || set.DeletionTimestamp != nil || replaced {
		return nil
	}
	err := r.client.Delete(ctx, set, client.Preconditions{UID: &set.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting ReplicaSet %s: %w", key, err)
	}
	return nil
}

// scaleToZero stops the gateways of a Deployment that cannot be updated to the desired policies.
func (r *InstanceReconciler) scaleToZero(ctx context.Context, deployment *appsv1.Deployment) error {
	if *deployment.Spec.Replicas == 0 {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"replicas":0}}`, deployment.UID)
	err := r.client.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(instanceManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("scaling Deployment %s to zero: %w", client.ObjectKeyFromObject(deployment), err)
	}
	return nil
}

// dismantle deletes what an instance had: its gateways first, and the rest once no Pod of
// it runs. done says that nothing is left.
func (r *InstanceReconciler) dismantle(ctx context.Context, instance client.ObjectKey, ours object.Ours, has rollout) (done bool, err error) {
	key := client.ObjectKey{Namespace: instance.Namespace, Name: gatewayName(instance.Name)}
	if has.deployment != nil {
		err = r.applier.Remove(ctx, ours, key, &appsv1.Deployment{}, client.PropagationPolicy(metav1.DeletePropagationForeground))
	}
	if err := errors.Join(err, r.takeDown(ctx, has.pods, nil, endGrace)); err != nil {
		return false, err
	}
	if len(has.pods) > 0 || has.deployment != nil && has.deployment.DeletionTimestamp == nil {
		return false, nil
	}
	// The cache may lack Pods that were started last.
	if left, err := podsOf(ctx, r.applier.Live, instance); err != nil || len(left) > 0 {
		return false, errors.Join(err, r.takeDown(ctx, left, nil, endGrace))
	}
	err = errors.Join(
		r.applier.Remove(ctx, ours, key, &corev1.Service{}),
		r.applier.Remove(ctx, ours, key, &policyv1.PodDisruptionBudget{}),
		r.applier.Remove(ctx, ours, client.ObjectKey{Namespace: instance.Namespace, Name: configName(instance.Name)}, object.MetadataOf(object.ConfigMapKind)),
		r.removePolicies(ctx, instance, ours, func(client.Object) bool { return true }))
	return err == nil, err
}

// gone deletes the remaining objects of an instance that no longer exists, such as after an
// orphaning deletion. A record proves that Lintel created the instance's objects.
func (r *InstanceReconciler) gone(ctx context.Context, instance client.ObjectKey) error {
	stored, err := r.lastRecord(ctx, instance)
	if err != nil || stored == nil {
		return err
	}
	ours := func(child client.Object) bool {
		controller := metav1.GetControllerOf(child)
		return controller == nil && stored.owns || controller != nil && controller.UID == stored.uid
	}
	has := rollout{}
	if has.pods, err = podsOf(ctx, r.client, instance); err != nil {
		return err
	}
	if has.deployment, err = r.deployment(ctx, ours, instance); err != nil {
		return err
	}
	done, err := r.dismantle(ctx, instance, ours, has)
	if err != nil || !done {
		return err // its Pods lead here again
	}
	return errors.Join(r.records.remove(ctx, signedKind, instance), r.records.remove(ctx, instanceKind, instance))
}

// lastRecord is a record of the instance that has a name, or had it last.
func (r *InstanceReconciler) lastRecord(ctx context.Context, instance client.ObjectKey) (*record, error) {
	for _, kind := range []string{instanceKind, signedKind} {
		if stored, err := r.records.readName(ctx, r.records.client, kind, instance); err != nil || stored != nil {
			return stored, err
		}
	}
	return nil, nil
}
