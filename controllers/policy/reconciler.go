package policy

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// fieldManager owns what this package writes.
const fieldManager = "lintel-policy-source"

// Options are what the controllers of this package need.
type Options struct {
	Live *engine.Live
	// Objects holds what policies require.
	Objects *ClusterObjects
	// Namespace is where artifacts and reports are kept.
	Namespace string
	// Compiler compiles what has passed the gate, unless it did so for the gate.
	Compiler *source.Compiler
	// Gate judges policies before they go live.
	Gate source.Gate
	// Events receives what changes about sources.
	Events events.EventRecorder
	// Registered says whether the API server calls for the policies of a snapshot.
	Registered func(*engine.Snapshot) bool
}

// Reconciler gates PolicySources, stores their artifacts and writes their status. It
// runs on the leader.
type Reconciler struct {
	client  client.Client
	options Options
	changed chan event.GenericEvent
}

// NewReconciler makes a Reconciler; its client reads from a cache.
func NewReconciler(c client.Client, options Options) *Reconciler {
	r := &Reconciler{client: c, options: options, changed: make(chan event.GenericEvent, 1)}
	options.Live.OnChange(func(*engine.Snapshot) { r.Refresh() })
	options.Objects.OnChange(r.Refresh)
	return r
}

// Refresh has the status of every source computed again: what is served, registered
// or held has changed. It never blocks.
func (r *Reconciler) Refresh() {
	select {
	case r.changed <- event.GenericEvent{Object: &v1alpha1.PolicySource{}}:
	default:
	}
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	every := handler.EnqueueRequestsFromMapFunc(everySource(r.client))
	return builder.ControllerManagedBy(mgr).
		Named(fieldManager).
		For(&v1alpha1.PolicySource{}).
		// An artifact that somebody deletes is stored again.
		Owns(&corev1.ConfigMap{}).
		// What replicas report is folded into the status of every source. A Lease is
		// renewed all the time; only its annotation matters.
		Watches(&coordinationv1.Lease{}, every, builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		WatchesRawSource(ctrlsource.Channel(r.changed, every)).
		Complete(r)
}

// everySource maps anything to all PolicySources.
func everySource(c client.Client) handler.MapFunc {
	return func(ctx context.Context, _ client.Object) []reconcile.Request {
		var list v1alpha1.PolicySourceList
		if err := c.List(ctx, &list); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for _, item := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: item.Name}})
		}
		return requests
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var object v1alpha1.PolicySource
	if err := r.client.Get(ctx, request.NamespacedName, &object); err != nil {
		// What a deleted source leaves in the cluster goes by its owner references.
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !object.DeletionTimestamp.IsZero() || object.Spec.Suspend {
		return reconcile.Result{}, nil
	}
	verdict, err := r.judge(ctx, &object)
	if err != nil {
		return reconcile.Result{}, err
	}
	gathered := facts{object: &object, verdict: verdict}
	if gathered.verdict.Set != nil {
		gathered.stored = r.store(ctx, &object)
		kinds := gathered.verdict.Set.Requires()
		if gathered.unmet, err = unmetRequires(ctx, r.client, r.options.Live.Resources(), kinds); err != nil {
			return reconcile.Result{}, err
		}
		gathered.missing = r.options.Objects.Missing(kinds)
	}
	reports, err := r.reports(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	now := time.Now()
	gathered.replicas = serving(object.Name, reports, object.Status.Replicas, now)
	gathered.limits = limitsOf(object.Name, reports, now)
	if snapshot := r.options.Live.Snapshot(); snapshot != nil {
		gathered.registered = r.options.Registered(snapshot)
	}
	if err := r.write(ctx, &object, status(gathered)); err != nil {
		return reconcile.Result{}, err
	}
	if gathered.stored != nil {
		return reconcile.Result{}, gathered.stored
	}
	if err := r.prune(ctx, &object); err != nil {
		return reconcile.Result{}, err
	}
	if gathered.unmet != nil {
		// Nothing tells that a permission was granted.
		return reconcile.Result{RequeueAfter: permissionInterval}, nil
	}
	// A replica that ended without a word is noticed by its silence.
	return reconcile.Result{RequeueAfter: reportExpiry}, nil
}

// judge asks the gate about the origin's revision.
func (r *Reconciler) judge(ctx context.Context, object *v1alpha1.PolicySource) (source.Verdict, error) {
	if object.Spec.Inline == nil {
		return source.Verdict{Reason: ReasonOriginNotServed, Message: "only inline origins are served by this version; put the files under spec.inline.files"}, nil
	}
	return r.options.Gate.Judge(ctx, source.FromPolicySource(object, object.Spec.Inline.Files, ""), r.options.Live)
}

func (r *Reconciler) store(ctx context.Context, object *v1alpha1.PolicySource) error {
	wanted, err := artifactConfigMaps(object, object.Spec.Inline.Files, r.options.Namespace)
	if err != nil {
		return err
	}
	return storeArtifact(ctx, r.client, wanted)
}

// reports are what the replicas say in their Leases.
func (r *Reconciler) reports(ctx context.Context) ([]report, error) {
	var leases coordinationv1.LeaseList
	if err := r.client.List(ctx, &leases, client.InNamespace(r.options.Namespace), client.HasLabels{ReplicaLabel}); err != nil {
		return nil, fmt.Errorf("listing the replicas' Leases: %w", err)
	}
	var reports []report
	for i := range leases.Items {
		if one, ok := readReport(&leases.Items[i]); ok {
			reports = append(reports, one)
		}
	}
	return reports, nil
}

// write patches the status, when it differs.
func (r *Reconciler) write(ctx context.Context, object *v1alpha1.PolicySource, next v1alpha1.PolicySourceStatus) error {
	if equality.Semantic.DeepEqual(object.Status, next) {
		return nil
	}
	was := object.Status.Conditions
	before := client.MergeFromWithOptions(object.DeepCopy(), client.MergeFromWithOptimisticLock{})
	object.Status = next
	if err := r.client.Status().Patch(ctx, object, before, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("writing the status of PolicySource %s: %w", object.Name, err)
	}
	for _, e := range news(was, next) {
		r.options.Events.Eventf(object, nil, e.kind, e.reason, "Reconcile", "%s", e.message)
	}
	return nil
}

// prune deletes the artifacts that nobody loads any more.
func (r *Reconciler) prune(ctx context.Context, object *v1alpha1.PolicySource) error {
	var all corev1.ConfigMapList
	if err := r.client.List(ctx, &all, client.InNamespace(r.options.Namespace), client.MatchingLabels{SourceLabel: object.Name}); err != nil {
		return fmt.Errorf("listing the artifacts of PolicySource %s: %w", object.Name, err)
	}
	for _, old := range surplus(all.Items, object.Status.Digest) {
		if err := r.client.Delete(ctx, &old); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting artifact ConfigMap %s: %w", old.Name, err)
		}
	}
	return nil
}
