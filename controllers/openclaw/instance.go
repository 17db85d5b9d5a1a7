package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/rules"
)

// foreignInterval is how often the controller checks whether a foreign object still exists: such
// objects are not watched.
const foreignInterval = 30 * time.Second

// InstanceReconciler carries out OpenClawInstances.
type InstanceReconciler struct {
	client  client.Client
	applier *object.Applier
	secrets secrets
	records recordStore
	library *library
	admit   rules.Admitter
	events  events.EventRecorder
	// deadline is how long gateways may run other policies than are wanted.
	deadline time.Duration
}

type instanceReport = object.Report[v1.OpenClawInstanceStatus]

func (r *InstanceReconciler) reporter() object.Reporter[*v1.OpenClawInstance, v1.OpenClawInstanceStatus] {
	return object.Reporter[*v1.OpenClawInstance, v1.OpenClawInstanceStatus]{
		Client: r.client, Manager: instanceManager, Action: "Reconcile", Events: r.events, Finalizer: finalizer,
		Status:     func(i *v1.OpenClawInstance) *v1.OpenClawInstanceStatus { return &i.Status },
		Conditions: func(s *v1.OpenClawInstanceStatus) []metav1.Condition { return s.Conditions },
		Gone:       r.gone,
		News:       map[string]object.News{v1.ConditionDegraded: object.Turned(metav1.ConditionTrue)},
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *InstanceReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1.OpenClawInstance{}, r.carryOut)
}

// carryOut has everything of an instance as its spec says, as far as that is possible.
func (r *InstanceReconciler) carryOut(ctx context.Context, instance *v1.OpenClawInstance) (instanceReport, error) {
	var unfinished error
	deleting := !instance.DeletionTimestamp.IsZero()
	if !deleting {
		// Its failure holds up nothing.
		unfinished = r.reporter().SetFinalizer(ctx, instance, controllerutil.AddFinalizer)
	}
	facts, failure := r.gather(ctx, instance)
	switch {
	case !facts.gathered:
	case deleting:
		failure = errors.Join(failure, r.end(ctx, instance, &facts))
		if len(instance.Finalizers) == 0 {
			return instanceReport{}, failure
		}
	default:
		failure = errors.Join(failure, r.apply(ctx, instance, &facts))
	}
	next := instanceStatus(instance, facts)
	report := instanceReport{Status: &next}
	failure = errors.Join(unfinished, failure)
	if failure == nil && facts.has(ReasonNotOwned) {
		report.Again = foreignInterval
	}
	if due := r.due(facts); due > 0 && !object.Passes(failure) {
		if failure != nil {
			// The back-off of the queue would miss the deadline.
			log.FromContext(ctx).Error(failure, "carrying out OpenClawInstance; gateways with other policies are not replaced yet")
			due, failure = min(due, overdueInterval), nil
		}
		report.Again = due
	}
	return report, failure
}

// overdueInterval is how often gateways with outdated policies are deleted after their deadline.
const overdueInterval = 2 * time.Second

// due returns the delay until gateways with outdated policies are deleted, or until policies get
// another name: 0 for never.
func (r *InstanceReconciler) due(facts instanceFacts) time.Duration {
	overdue, next := facts.overdue(r.deadline, facts.now)
	if len(overdue) > 0 {
		return overdueInterval
	}
	if next.IsZero() || !facts.again.IsZero() && facts.again.Before(next) {
		next = facts.again
	}
	if next.IsZero() {
		return 0
	}
	return max(time.Until(next), time.Millisecond)
}

// end deletes what an instance has. Its finalizer goes once no gateway runs.
func (r *InstanceReconciler) end(ctx context.Context, instance *v1.OpenClawInstance, facts *instanceFacts) error {
	done, err := r.dismantle(ctx, client.ObjectKeyFromObject(instance), facts.owner(instance).controls, facts.rollout)
	if err != nil {
		facts.add(&problem{"DeletionFailed", err.Error()})
	}
	if !done {
		return err
	}
	return r.reporter().SetFinalizer(ctx, instance, controllerutil.RemoveFinalizer)
}

// gather reads the objects of an instance, and evaluates the rules for it. The facts contain
// obstacles; an error is retried.
func (r *InstanceReconciler) gather(ctx context.Context, instance *v1.OpenClawInstance) (facts instanceFacts, failure error) {
	facts.now = time.Now()
	failed := func(reason string, err error) (instanceFacts, error) {
		facts.add(&problem{reason, err.Error()})
		return facts, err
	}
	last, err := r.records.readName(ctx, r.records.client, instanceKind, client.ObjectKeyFromObject(instance))
	if err != nil {
		return failed("ReconcileFailed", err)
	}
	// What a former instance of that name has left is this one's.
	if facts.owns = last != nil; facts.owns && last.uid == instance.UID {
		facts.record = last
	}
	if facts.signed, err = r.records.readSigned(ctx, r.records.client, instance); err != nil && instance.DeletionTimestamp.IsZero() {
		return failed("RecordFailed", err) // which no deletion waits for
	}
	if facts.pods, err = podsOf(ctx, r.client, client.ObjectKeyFromObject(instance)); err != nil {
		return failed("ReconcileFailed", err)
	}
	if facts.deployment, err = r.deployment(ctx, facts.owner(instance).controls, client.ObjectKeyFromObject(instance)); err != nil {
		return failed("DeploymentFailed", err)
	}
	facts.gathered = true
	if !instance.DeletionTimestamp.IsZero() {
		return facts, nil
	}
	if facts.denied, failure = ask(ctx, r.admit, instance); failure != nil {
		facts.add(notEvaluated(failure))
	}
	facts.answered = failure == nil
	return facts, failure
}

// apply writes what an instance has, as its spec says; as the last good one says, where
// policies are against the spec.
func (r *InstanceReconciler) apply(ctx context.Context, instance *v1.OpenClawInstance, facts *instanceFacts) (failure error) {
	good := instance
	if !facts.permitted() {
		if good, failure = lastGoodInstance(instance, facts.record); failure != nil {
			facts.add(&problem{"ReconcileFailed", failure.Error()})
		}
	}
	c := &carrying{r: r, owner: facts.owner(instance), good: good, facts: facts}
	switch {
	case good != nil:
		c.all(ctx)
	case facts.deployment != nil:
		c.good = instance // of which policies need the name alone
		c.policies(ctx)
	}
	c.bound(ctx)
	c.tidy(ctx)
	if facts.permitted() && c.complete && !facts.has(ReasonNotOwned) {
		c.fail("Record", r.record(ctx, instance))
	}
	return errors.Join(failure, c.failure)
}

// deployment is the Deployment of an instance: nil where there is none of its own.
func (r *InstanceReconciler) deployment(ctx context.Context, ours object.Ours, instance client.ObjectKey) (*appsv1.Deployment, error) {
	have := &appsv1.Deployment{}
	found, err := r.applier.Find(ctx, ours, client.ObjectKey{Namespace: instance.Namespace, Name: gatewayName(instance.Name)}, have)
	if foreign := (*object.Foreign)(nil); errors.As(err, &foreign) || err == nil && !found {
		return nil, nil
	}
	return have, err
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

// policies returns the policies that the gateways of an instance must load. unread names a
// bundle that has not been reconciled yet.
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
