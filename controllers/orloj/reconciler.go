package orloj

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
	rules "github.com/lintel-policy/lintel/policies/rules/orloj"
)

// fieldManager owns the fields that this package writes.
const fieldManager = "lintel-orloj-sync"

// reconciler syncs the objects of one kind to the store.
type reconciler struct {
	kind
	client  client.Client
	options options
	ledger  *ledger
	outage  *outage
	metrics *metrics
	// cluster is the identity of this cluster, once prepared is closed.
	cluster *string
	// look triggers reconciliations of objects.
	look chan event.GenericEvent
	// prepared is closed after the first check of the store.
	prepared <-chan struct{}
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	select {
	case <-r.prepared:
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	}
	return r.reporter().Reconcile(ctx, request, r.object(), r.syncObject)
}

type report = object.Report[v1.Status]

func (r *reconciler) reporter() object.Reporter[v1.Object, v1.Status] {
	return object.Reporter[v1.Object, v1.Status]{
		Client: r.client, Manager: fieldManager, Action: "Sync", Events: r.options.events, News: news, Finalizer: v1.Finalizer, Filled: true, Update: true,
		Status:     v1.Object.SyncStatus,
		Conditions: func(s *v1.Status) []metav1.Condition { return s.Conditions },
	}
}

// syncObject stores an object, or removes its row, and computes its status.
func (r *reconciler) syncObject(ctx context.Context, object v1.Object) (report, error) {
	if !object.GetDeletionTimestamp().IsZero() {
		return r.remove(ctx, object)
	}
	o, err := r.store(ctx, object)
	if err != nil {
		return report{}, err
	}
	if o.problem != nil && o.problem.Unavailable() && isStored(object) {
		// Ten thousand objects must not each report that they have no problem.
		return report{Again: r.pause(o.problem)}, nil
	}
	return r.report(object, o), nil
}

// report is the result of a try, and the time of the next.
func (r *reconciler) report(object v1.Object, o outcome) report {
	next := nextStatus(object, o, time.Now())
	out := report{Status: &next}
	if o.problem != nil {
		out.Again = r.pause(o.problem)
	}
	return out
}

// isStored reports whether the status already confirms that the object is stored.
func isStored(object v1.Object) bool {
	status := object.SyncStatus()
	return status.Phase == v1.PhaseSynced && status.ObservedGeneration == object.GetGeneration() && status.StoreKey == rules.Key(object)
}

// pause counts a problem and returns the delay before the next try. Permanent problems are
// retried occasionally, because the row may have changed.
func (r *reconciler) pause(problem *store.Problem) time.Duration {
	r.metrics.problems.WithLabelValues(r.Kind, problem.Reason).Inc()
	pause := waitInterval
	switch {
	case problem.Permanent(), problem.Reason == store.ReasonReleased:
		pause = r.options.driftInterval
	case problem.Reason == store.ReasonSchemaMissing, problem.Reason == store.ReasonDenied:
		pause = schemaInterval
	}
	return attempt.Jitter(pause*3/2, 2.0/3) // what waits together does not try together
}

// store writes an object to the store, unless a problem prevents it, which the outcome reports.
// An error is retried and not reported in the status.
func (r *reconciler) store(ctx context.Context, object v1.Object) (o outcome, err error) {
	verdict, err := r.options.admit(ctx, object)
	if err != nil {
		return o, fmt.Errorf("%s %s/%s: %w", r.Kind, object.GetNamespace(), object.GetName(), err)
	}
	if verdict.Denied() {
		o.denied = verdict.Message()
		r.ledger.forget(object.GetUID()) // rows of denied objects are not kept in sync
		return o, nil
	}
	if o.problem = r.outage.now(); o.problem != nil {
		return o, nil
	}
	// The finalizer is added before the row is created, so that no row is left behind.
	if err := r.reporter().SetFinalizer(ctx, object, controllerutil.AddFinalizer); err != nil {
		return o, err
	}
	wanted, err := row(r.Kind, object, verdict.Object)
	if err != nil {
		return o, err
	}
	o.key = wanted.Key()
	r.prepareRow(object, wanted)
	err = r.write(ctx, object, wanted, &o)
	if errors.As(err, &o.problem) {
		r.outage.begin(o.problem)
		if ofAnother[o.problem.Reason] {
			r.ledger.refused(object.GetUID(), o.problem.Reason, time.Now())
		}
		return o, nil
	}
	return o, err
}

// prepareRow adds the results of earlier tries to a row. A row of another object may have lost
// its owner through an edit, which the other object repairs at its next check for drift. So the
// row is left alone for two drift intervals.
func (r *reconciler) prepareRow(object v1.Object, wanted *store.Row) {
	wanted.Cluster, wanted.Lost = *r.cluster, r.ledger.of(object.GetUID()).lost
	synced := meta.FindStatusCondition(object.SyncStatus().Conditions, v1.ConditionSynced)
	if synced == nil || object.SyncStatus().StoreKey == wanted.Key() {
		return
	}
	switch synced.Reason {
	case store.ReasonTaken, store.ReasonCluster, store.ReasonReleased:
		wanted.LeaveUnowned = r.ledger.mustWait(object.GetUID(), 2*r.options.driftInterval, time.Now())
		wanted.LeaveMissing = wanted.LeaveUnowned && synced.Reason != store.ReasonTaken
	}
}

// write upserts the row, and deletes the row under the object's previous key.
func (r *reconciler) write(ctx context.Context, object v1.Object, wanted *store.Row, o *outcome) (err error) {
	uid := object.GetUID()
	known := r.ledger.of(uid)
	if o.result, err = r.options.store.Upsert(ctx, r.Table, wanted); err != nil {
		return err
	}
	before := object.SyncStatus().StoreKey
	if before != "" && before != o.key || known.stray {
		rows, err := r.options.store.Remove(ctx, r.Table, store.Removal{Owner: string(uid), Except: o.key})
		if err != nil {
			return err
		}
		o.moved = rows > 0
		r.metrics.writes.WithLabelValues(r.Kind, "remove").Add(float64(rows))
		if err := r.wake(ctx, before); err != nil {
			return err
		}
	}
	r.ledger.recordWrite(object, o.key, o.result)
	o.keeps = r.ledger.of(uid).keeps()
	switch {
	case o.result.Created:
		r.metrics.writes.WithLabelValues(r.Kind, "create").Inc()
	case o.result.Updated:
		r.metrics.writes.WithLabelValues(r.Kind, "update").Inc()
	}
	if known.isRepairedBy(o.key, o.result) {
		r.metrics.drift.WithLabelValues(r.Kind).Inc()
		r.options.events.Eventf(object, nil, corev1.EventTypeNormal, reasonRepaired, "Sync", "the row %s had been changed in the store, and is as this object again", o.key)
	}
	if r.Kind == "Secret" && o.result.Written() && r.options.store.StoresPlaintext() {
		r.options.events.Eventf(object, nil, corev1.EventTypeWarning, reasonPlaintext, "Sync", "there is no encryption key: the values are stored as they are")
	}
	return nil
}

// wake triggers a reconciliation of the objects that wait for a free key.
func (r *reconciler) wake(ctx context.Context, key string) error {
	for _, request := range r.wanting(ctx, key) {
		if err := r.enqueue(ctx, request.NamespacedName); err != nil {
			return err
		}
	}
	return nil
}

// enqueue triggers another reconciliation of an object.
func (r *reconciler) enqueue(ctx context.Context, name types.NamespacedName) error {
	object := r.object()
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	select {
	case r.look <- event.GenericEvent{Object: object}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// remove deletes the row of a deleted object and then the finalizer. A missing row is not an
// error.
func (r *reconciler) remove(ctx context.Context, object v1.Object) (report, error) {
	if !controllerutil.ContainsFinalizer(object, v1.Finalizer) {
		return report{}, nil
	}
	problem := r.outage.now()
	if problem == nil {
		if err := r.removeRows(ctx, object); err != nil && !errors.As(err, &problem) {
			return report{}, err
		}
	}
	if problem != nil && problem.Reason == store.ReasonSchemaMissing && object.SyncStatus().StoreKey == "" {
		problem = nil // without a table there is no row
	}
	if problem != nil {
		r.outage.begin(problem)
		return r.report(object, outcome{problem: problem}), nil
	}
	r.ledger.forget(object.GetUID())
	return report{}, r.reporter().SetFinalizer(ctx, object, controllerutil.RemoveFinalizer)
}

func (r *reconciler) removeRows(ctx context.Context, object v1.Object) error {
	removal := store.Removal{
		Owner: string(object.GetUID()), Key: object.SyncStatus().StoreKey, Unmarked: true,
		Retain: object.GetAnnotations()[v1.DeletionPolicyAnnotation] == v1.Retain,
	}
	rows, err := r.options.store.Remove(ctx, r.Table, removal)
	if err == nil && removal.Key != "" && removal.Key != rules.Key(object) {
		// The object has moved, and its status does not record the end of the move.
		var more int64
		more, err = r.options.store.Remove(ctx, r.Table, store.Removal{Owner: removal.Owner, Retain: removal.Retain})
		rows += more
	}
	r.metrics.writes.WithLabelValues(r.Kind, "remove").Add(float64(rows))
	return err
}
