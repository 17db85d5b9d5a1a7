package openclaw

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// foreignInterval is how often it is looked whether an object that is not ours is gone:
// nothing tells.
const foreignInterval = 30 * time.Second

// retryDelay is how long what goes by itself is given.
const retryDelay = 100 * time.Millisecond

// InstanceReconciler carries out OpenClawInstances.
type InstanceReconciler struct {
	client  client.Client
	writer  writer
	secrets secrets
	library *library
	options Options
}

// Reconcile implements reconcile.Reconciler.
func (r *InstanceReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	instance := &v1.OpenClawInstance{}
	if err := r.client.Get(ctx, request.NamespacedName, instance); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !instance.DeletionTimestamp.IsZero() {
		// What it controls goes by its owner references.
		return again(r.setFinalizer(ctx, instance, controllerutil.RemoveFinalizer))
	}
	if err := r.setFinalizer(ctx, instance, controllerutil.AddFinalizer); err != nil {
		return again(err)
	}
	facts, failure := r.carryOut(ctx, instance)
	if errors.Is(failure, errRollLater) {
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	}
	if passing(failure) {
		return again(failure)
	}
	if err := r.write(ctx, instance, instanceStatus(instance, facts)); err != nil {
		return again(errors.Join(failure, err))
	}
	if failure == nil && facts.problem != nil && facts.problem.reason == ReasonNotOwned {
		return reconcile.Result{RequeueAfter: foreignInterval}, nil
	}
	return again(failure)
}

// again has what has failed tried again. A conflict is no failure: the cache was behind.
// Nor is a namespace that goes, with all that is in it.
func again(err error) (reconcile.Result, error) {
	if passing(err) {
		return reconcile.Result{RequeueAfter: retryDelay}, nil
	}
	return reconcile.Result{}, err
}

// passing is an error that goes by itself, and that no status tells of.
func passing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// carryOut has everything of an instance as its spec says, as far as that is possible.
// The facts say what is in the way; an error is to be tried again.
func (r *InstanceReconciler) carryOut(ctx context.Context, instance *v1.OpenClawInstance) (facts instanceFacts, failure error) {
	facts.asked = r.options.Admitter != nil
	if facts.deployment, failure = ownDeployment(ctx, r.client, instance); failure != nil {
		facts.problem = &problem{"DeploymentFailed", failure.Error()}
		return facts, failure
	}
	if facts.denied, failure = r.options.ask(ctx, instance); failure != nil {
		facts.problem = &problem{"NotJudged", "asking the policies: " + failure.Error()}
		return facts, failure
	}
	if facts.denied != nil {
		return facts, nil
	}
	err := r.apply(ctx, instance, &facts)
	if errors.As(err, &facts.problem) {
		return facts, nil
	}
	if err != nil {
		reason := "ReconcileFailed"
		var step *stepError
		if errors.As(err, &step) {
			reason = step.kind + "Failed"
		}
		facts.problem = &problem{reason, err.Error()}
	}
	return facts, err
}

// errRollLater sends an instance whose policies were just written to the end of the
// queue: an edit reaches the ConfigMaps of all gateways before the first of them rolls.
var errRollLater = errors.New("the gateway rolls once all have their policies")

// stepError is an error about one kind of object.
type stepError struct {
	kind string
	err  error
}

func (e *stepError) Error() string { return e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// apply writes what differs, in the order in which Pods need it. The error is a
// *problem where trying again changes nothing.
func (r *InstanceReconciler) apply(ctx context.Context, instance *v1.OpenClawInstance, facts *instanceFacts) error {
	chosen, refused := imagesOf(instance, r.options.ImageRegistries)
	if refused != nil {
		return refused
	}
	policies, err := r.policies(ctx, instance)
	if err != nil || policies == nil {
		return err
	}
	integrations, err := integrationsData(instance)
	if err != nil {
		return err
	}
	keep := func(kind string, want wanted, have client.Object) (bool, error) {
		changed, err := r.writer.keep(ctx, instance, want, have)
		if err != nil {
			err = &stepError{kind, err}
		}
		return changed, err
	}
	changed, err := keep("ConfigMap", configMap(instance, policiesName(instance.Name), policies.data), &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	if changed && facts.deployment != nil {
		return errRollLater
	}
	if _, err := keep("ConfigMap", configMap(instance, configName(instance.Name), integrations), &corev1.ConfigMap{}); err != nil {
		return err
	}
	if _, err := keep("Service", service(instance), &corev1.Service{}); err != nil {
		return err
	}
	if err := r.budget(ctx, instance, keep); err != nil {
		return err
	}
	secretsHash, err := r.secrets.hash(ctx, instance)
	if err != nil {
		return err
	}
	deployed := &appsv1.Deployment{}
	changed, err = keep("Deployment", deployment(gateway{
		instance: instance, images: chosen, policies: policies.hash,
		config: hashOf(map[string]string{"policies": policies.hash, "integrations": hashOf(integrations), "secrets": secretsHash}),
	}), deployed)
	if err != nil {
		return err
	}
	facts.deployment = deployed
	if warning := sidecarWarning(chosen.sidecar); changed && warning != "" {
		r.options.Events.Eventf(instance, nil, corev1.EventTypeWarning, "OtherVersion", "Reconcile", "%s", warning)
	}
	return nil
}

// policies are what the gateways of an instance are to load: nil while a bundle is new
// and unread, which its status will tell.
func (r *InstanceReconciler) policies(ctx context.Context, instance *v1.OpenClawInstance) (*composition, error) {
	bundles, err := r.library.bundles(ctx, r.client, instance.Namespace)
	if err != nil {
		return nil, err
	}
	contents, unread, err := r.library.contentsOf(ctx, r.client, bundles)
	if err != nil || unread {
		return nil, err
	}
	composition := r.library.compositionFor(instance, contents)
	if composition.failure != nil {
		return nil, composition.failure
	}
	return composition, nil
}

// budget keeps the PodDisruptionBudget of several gateways, and none of one.
func (r *InstanceReconciler) budget(ctx context.Context, instance *v1.OpenClawInstance,
	keep func(string, wanted, client.Object) (bool, error)) error {
	have := &policyv1.PodDisruptionBudget{}
	if instance.Spec.DeploymentMode == v1.DeploymentModeHA {
		_, err := keep("PodDisruptionBudget", disruptionBudget(instance), have)
		return err
	}
	key := client.ObjectKey{Namespace: instance.Namespace, Name: gatewayName(instance.Name)}
	if err := r.writer.remove(ctx, instance, key, have); err != nil {
		return &stepError{"PodDisruptionBudget", fmt.Errorf("deleting PodDisruptionBudget %s: %w", key, err)}
	}
	return nil
}

// setFinalizer writes what change does to the finalizers, if anything.
func (r *InstanceReconciler) setFinalizer(ctx context.Context, instance *v1.OpenClawInstance, change func(client.Object, string) bool) error {
	before := client.MergeFromWithOptions(instance.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if !change(instance, finalizer) {
		return nil
	}
	err := r.client.Patch(ctx, instance, before, client.FieldOwner(instanceManager))
	if !instance.DeletionTimestamp.IsZero() {
		err = client.IgnoreNotFound(err)
	}
	if err != nil {
		return fmt.Errorf("writing the finalizer of OpenClawInstance %s: %w", instance.Name, err)
	}
	return nil
}

// write patches the status, when it differs.
func (r *InstanceReconciler) write(ctx context.Context, instance *v1.OpenClawInstance, next v1.OpenClawInstanceStatus) error {
	if equality.Semantic.DeepEqual(instance.Status, next) {
		return nil
	}
	was := instance.Status.Conditions
	before := client.MergeFromWithOptions(instance.DeepCopy(), client.MergeFromWithOptimisticLock{})
	instance.Status = next
	if err := r.client.Status().Patch(ctx, instance, before, client.FieldOwner(instanceManager)); err != nil {
		return fmt.Errorf("writing the status of OpenClawInstance %s: %w", instance.Name, err)
	}
	tell(r.options.Events, instance, was, next.Conditions, map[string]metav1.ConditionStatus{
		v1.ConditionDegraded: metav1.ConditionTrue,
	})
	return nil
}
