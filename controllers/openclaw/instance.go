package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/rules"
)

// foreignInterval is how often it is looked whether an object that is not ours is gone:
// nothing tells.
const foreignInterval = 30 * time.Second

// InstanceReconciler carries out OpenClawInstances.
type InstanceReconciler struct {
	client  client.Client
	applier *object.Applier
	secrets secrets
	records records
	library *library
	admit   rules.Admitter
	events  events.EventRecorder
	// delayed says of instances, by uid, for which policies they were sent to the end
	// of the queue.
	delayed sync.Map
}

type instanceReport = object.Report[v1.OpenClawInstanceStatus]

func (r *InstanceReconciler) reporter() object.Reporter[*v1.OpenClawInstance, v1.OpenClawInstanceStatus] {
	return object.Reporter[*v1.OpenClawInstance, v1.OpenClawInstanceStatus]{
		Client: r.client, Manager: instanceManager, Action: "Reconcile", Events: r.events, Finalizer: finalizer,
		Status:     func(i *v1.OpenClawInstance) *v1.OpenClawInstanceStatus { return &i.Status },
		Conditions: func(s *v1.OpenClawInstanceStatus) []metav1.Condition { return s.Conditions },
		Gone: func(ctx context.Context, name client.ObjectKey) error {
			return r.records.remove(ctx, instanceKind, name)
		},
		News: map[string]object.News{v1.ConditionDegraded: object.Turned(metav1.ConditionTrue)},
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *InstanceReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1.OpenClawInstance{}, r.carryOut)
}

// carryOut has everything of an instance as its spec says, as far as that is possible.
func (r *InstanceReconciler) carryOut(ctx context.Context, instance *v1.OpenClawInstance) (instanceReport, error) {
	if !instance.DeletionTimestamp.IsZero() {
		// What it controls goes by its owner references.
		r.delayed.Delete(instance.UID)
		return instanceReport{}, r.reporter().SetFinalizer(ctx, instance, controllerutil.RemoveFinalizer)
	}
	// Its failure holds up nothing.
	unfinished := r.reporter().SetFinalizer(ctx, instance, controllerutil.AddFinalizer)
	facts, failure := r.gather(ctx, instance)
	if facts.gathered {
		failure = errors.Join(failure, r.apply(ctx, instance, &facts))
	}
	if errors.Is(failure, errRollLater) {
		return instanceReport{Again: time.Millisecond}, nil
	}
	next := instanceStatus(instance, facts)
	report := instanceReport{Status: &next}
	if failure = errors.Join(unfinished, failure); failure == nil && facts.has(ReasonNotOwned) {
		report.Again = foreignInterval
	}
	return report, failure
}

// gather reads what there is of an instance, and asks the policies about it. The facts say
// what is in the way; an error is to be tried again.
func (r *InstanceReconciler) gather(ctx context.Context, instance *v1.OpenClawInstance) (facts instanceFacts, failure error) {
	if facts.record, failure = r.records.read(ctx, instanceKind, instance); failure != nil {
		facts.add(&problem{"ReconcileFailed", failure.Error()})
		return facts, failure
	}
	if facts.deployment, failure = r.deployment(ctx, facts.owner(instance)); failure != nil {
		facts.add(&problem{"DeploymentFailed", failure.Error()})
		return facts, failure
	}
	facts.gathered = true
	if facts.denied, failure = ask(ctx, r.admit, instance); failure != nil {
		facts.add(notJudged(failure))
	}
	facts.answered = failure == nil
	return facts, failure
}

// apply writes what an instance has, as its spec says; as the last good one says, where
// policies are against the spec.
func (r *InstanceReconciler) apply(ctx context.Context, instance *v1.OpenClawInstance, facts *instanceFacts) (failure error) {
	good := instance
	if !facts.judged() {
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
	if facts.judged() && c.complete && !facts.has(ReasonNotOwned) {
		c.fail("Record", r.record(ctx, instance))
	}
	return errors.Join(failure, c.failure)
}

// deployment is the Deployment of an instance: nil where there is none of its own.
func (r *InstanceReconciler) deployment(ctx context.Context, o owner) (*appsv1.Deployment, error) {
	have := &appsv1.Deployment{}
	found, err := r.applier.Find(ctx, o.controls, client.ObjectKey{Namespace: o.GetNamespace(), Name: gatewayName(o.GetName())}, have)
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
