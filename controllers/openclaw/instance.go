package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	records records
	library *library
	options Options
	// delayed says of instances, by uid, for which policies they were sent to the end
	// of the queue.
	delayed sync.Map
}

// Reconcile implements reconcile.Reconciler.
func (r *InstanceReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	instance := &v1.OpenClawInstance{}
	if err := r.client.Get(ctx, request.NamespacedName, instance); err != nil {
		if apierrors.IsNotFound(err) {
			return again(r.records.remove(ctx, instanceKind, request.NamespacedName))
		}
		return reconcile.Result{}, err
	}
	if !instance.DeletionTimestamp.IsZero() {
		// What it controls goes by its owner references.
		r.delayed.Delete(instance.UID)
		return again(r.setFinalizer(ctx, instance, controllerutil.RemoveFinalizer))
	}
	// Its failure holds up nothing.
	unfinished := r.setFinalizer(ctx, instance, controllerutil.AddFinalizer)
	facts, failure := r.carryOut(ctx, instance)
	if errors.Is(failure, errRollLater) {
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	}
	failure = errors.Join(unfinished, failure)
	if passing(failure) {
		return again(failure)
	}
	if err := r.write(ctx, instance, instanceStatus(instance, facts)); err != nil {
		return again(errors.Join(failure, err))
	}
	if failure == nil && facts.has(ReasonNotOwned) {
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
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// carryOut has everything of an instance as its spec says, as far as that is possible;
// as the last good one says, where policies are against the spec. The facts say what is
// in the way; an error is to be tried again.
func (r *InstanceReconciler) carryOut(ctx context.Context, instance *v1.OpenClawInstance) (facts instanceFacts, failure error) {
	facts.asked = r.options.Admitter != nil
	kept, failure := r.records.read(ctx, instanceKind, instance)
	if failure != nil {
		facts.add(&problem{"ReconcileFailed", failure.Error()})
		return facts, failure
	}
	all := owner{instance, kept != nil}
	if facts.deployment, failure = r.deployment(ctx, all); failure != nil {
		facts.add(&problem{"DeploymentFailed", failure.Error()})
		return facts, failure
	}
	good := instance
	if facts.denied, failure = r.options.ask(ctx, instance); failure != nil {
		facts.add(&problem{"NotJudged", "asking the policies: " + failure.Error()})
	}
	judged := failure == nil && facts.denied == nil
	if !judged {
		var err error
		if good, err = lastGoodInstance(instance, kept); err != nil {
			facts.add(&problem{"ReconcileFailed", err.Error()})
			failure = errors.Join(failure, err)
		}
	}
	c := &carrying{r: r, owner: all, good: good, facts: &facts}
	switch {
	case good != nil:
		c.all(ctx)
	case facts.deployment != nil:
		c.good = instance // of which policies need the name alone
		c.policies(ctx)
	}
	if judged && c.complete && !facts.has(ReasonNotOwned) {
		c.fail("Record", r.record(ctx, instance))
	}
	return facts, errors.Join(failure, c.failure)
}

// deployment is the Deployment of an instance: nil where there is none of its own.
func (r *InstanceReconciler) deployment(ctx context.Context, o owner) (*appsv1.Deployment, error) {
	have := &appsv1.Deployment{}
	found, err := r.writer.find(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: gatewayName(o.GetName())}, have)
	if err != nil {
		return nil, fmt.Errorf("reading the Deployment of OpenClawInstance %s: %w", o.GetName(), err)
	}
	if !found || !o.controls(have) {
		return nil, nil
	}
	return have, nil
}

// lastGoodInstance is an instance with the spec that was carried out last: nil where
// none was.
func lastGoodInstance(instance *v1.OpenClawInstance, kept *record) (*v1.OpenClawInstance, error) {
	if kept == nil {
		return nil, nil
	}
	good := instance.DeepCopy()
	good.Spec = v1.OpenClawInstanceSpec{}
	if err := json.Unmarshal([]byte(kept.data[specKey]), &good.Spec); err != nil {
		return nil, fmt.Errorf("reading the last good spec of OpenClawInstance %s: %w", instance.Name, err)
	}
	return good, nil
}

// record keeps the spec that was carried out.
func (r *InstanceReconciler) record(ctx context.Context, instance *v1.OpenClawInstance) error {
	text, err := json.Marshal(instance.Spec)
	if err != nil {
		return err
	}
	return r.records.keep(ctx, instanceKind, instanceManager, instance, record{data: map[string]string{specKey: string(text)}, owns: true})
}

// errRollLater sends an instance whose policies were just written to the end of the
// queue: an edit reaches the ConfigMaps of all gateways before the first of them rolls.
var errRollLater = errors.New("the gateway rolls once all have their policies")

// policies are what the gateways of an instance are to load. unread names a bundle that
// nobody has read yet.
func (r *InstanceReconciler) policies(ctx context.Context, instance *v1.OpenClawInstance) (c *composition, unread string, err error) {
	bundles, err := r.library.bundles(ctx, r.client, instance.Namespace)
	if err != nil {
		return nil, "", err
	}
	contents, unread, err := r.library.contentsOf(ctx, r.records, bundles)
	if err != nil {
		return nil, "", err
	}
	return r.library.compositionFor(instance, contents), unread, nil
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
