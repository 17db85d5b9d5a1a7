package orloj

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	rules "github.com/lintel-policy/lintel/policies/rules/orloj"
)

// keyIndex indexes objects of a kind by the key of their desired row.
const keyIndex = "orloj.storeKey"

// newCluster has its own cache: the eight kinds, indexed by keyIndex, of some namespaces or
// of all if none are named, and Namespaces. A manager without this system watches none of it.
func newCluster(ctx context.Context, config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	c, err := object.NewCluster(config, v1.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Cache.DefaultNamespaces = object.Only(namespaces)
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of Orloj: %w", err)
	}
	for _, k := range allKinds() {
		index := func(of client.Object) []string { return []string{rules.Key(of.(v1.Object))} }
		if err := c.GetFieldIndexer().IndexField(ctx, k.object(), keyIndex, index); err != nil {
			return nil, fmt.Errorf("indexing %ss: %w", k.Kind, err)
		}
		// Without this, the first review would wait for the cache.
		if _, err := c.GetCache().GetInformer(ctx, k.object()); err != nil {
			return nil, fmt.Errorf("watching %ss: %w", k.Kind, err)
		}
	}
	if _, err := c.GetCache().GetInformer(ctx, &corev1.Namespace{}); err != nil {
		return nil, fmt.Errorf("watching Namespaces: %w", err)
	}
	return c, nil
}

// addControllers adds the controllers to a manager, with the cluster of newCluster. They run
// on the leader.
func addControllers(mgr system.Manager, c cluster.Cluster, options options) error {
	counted := newMetrics(mgr.Metrics, options.store.Transactions)
	k := &keeper{
		options: options, metrics: counted, outage: &outage{metrics: counted},
		cluster: new(string), client: c.GetClient(), prepared: make(chan struct{}),
	}
	for _, one := range allKinds() {
		r := &reconciler{
			kind: one, client: c.GetClient(), options: options, ledger: newLedger(), outage: k.outage, metrics: counted,
			cluster: k.cluster, look: make(chan event.GenericEvent), prepared: k.prepared,
		}
		if err := r.setup(mgr, c); err != nil {
			return err
		}
		k.reconcilers = append(k.reconcilers, r)
	}
	return mgr.Add(k)
}

func (r *reconciler) setup(mgr system.Manager, c cluster.Cluster) error {
	return object.Control(mgr, "lintel-orloj-"+r.Name, workers, r,
		source.Kind[client.Object](c.GetCache(), r.object(), &handler.EnqueueRequestForObject{}, changed()),
		// An object is deleted whose key another object waits for.
		source.Kind[client.Object](c.GetCache(), r.object(), r.freed()),
		// A permission was granted or withdrawn.
		object.Mapped[client.Object](c, &corev1.Namespace{}, r.inNamespace, permissionChanged()),
		// A row differs from the written one.
		source.Channel(r.look, &handler.EnqueueRequestForObject{}))
}

// changed passes updates that change the row, and drops those that the sync itself makes.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld, e.ObjectNew
		return was.GetGeneration() != is.GetGeneration() || was.GetUID() != is.GetUID() ||
			!maps.Equal(was.GetLabels(), is.GetLabels()) || !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) ||
			was.GetDeletionTimestamp().IsZero() != is.GetDeletionTimestamp().IsZero() ||
			controllerutil.ContainsFinalizer(was, v1.Finalizer) && !controllerutil.ContainsFinalizer(is, v1.Finalizer)
	}}
}

// freed triggers a reconciliation of the objects that wait for the key of a deleted object.
func (r *reconciler) freed() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, request := range r.wanting(ctx, rules.Key(e.Object.(v1.Object))) {
			queue.Add(request)
		}
	}}
}

// wanting returns the objects with the given key.
func (r *reconciler) wanting(ctx context.Context, key string) []reconcile.Request {
	return object.RequestsFor[v1.Object](ctx, r.client, r.list(), nil, client.MatchingFields{keyIndex: key})
}

// permissionChanged passes Namespaces whose annotations for Orloj change. Objects that exist at
// the start are reconciled anyway.
func permissionChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			return was[v1.AllowedTargetNamespacesAnnotation] != is[v1.AllowedTargetNamespacesAnnotation] ||
				was[v1.PlaintextSecretsAnnotation] != is[v1.PlaintextSecretsAnnotation]
		},
	}
}

// inNamespace returns the objects whose rules depend on the annotations of their Namespace.
func (r *reconciler) inNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return object.RequestsFor(ctx, r.client, r.list(), func(o v1.Object) bool {
		_, targets := o.GetAnnotations()[v1.TargetNamespaceAnnotation]
		return targets || r.Kind == "Secret"
	}, client.InNamespace(namespace.GetName()))
}
