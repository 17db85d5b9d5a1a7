package orloj

import (
	"context"
	"fmt"
	"maps"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	rules "github.com/lintel-policy/lintel/policies/rules/orloj"
)

// KeyIndex finds objects of a kind by the key of the row that they want.
const KeyIndex = "orloj.storeKey"

// NewCluster has its own cache: the eight kinds, indexed by KeyIndex, and Namespaces. A
// manager without this system watches none of it.
func NewCluster(ctx context.Context, config *rest.Config) (cluster.Cluster, error) {
	config = rest.CopyConfig(config)
	// The API server's own fairness limits better: ten thousand objects may come at once.
	config.QPS = -1
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	c, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme = scheme
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of Orloj: %w", err)
	}
	for _, k := range kinds() {
		object := k.object()
		index := func(object client.Object) []string { return []string{rules.Key(object.(v1.Object))} }
		if err := c.GetFieldIndexer().IndexField(ctx, object, KeyIndex, index); err != nil {
			return nil, fmt.Errorf("indexing %ss: %w", k.Kind, err)
		}
		// Or the first review would wait for the cache.
		if _, err := c.GetCache().GetInformer(ctx, object); err != nil {
			return nil, fmt.Errorf("watching %ss: %w", k.Kind, err)
		}
	}
	if _, err := c.GetCache().GetInformer(ctx, &corev1.Namespace{}); err != nil {
		return nil, fmt.Errorf("watching Namespaces: %w", err)
	}
	return c, nil
}

// SetupWithManager adds the controllers of Orloj to a manager, with the cluster of
// NewCluster. They run on the leader.
func SetupWithManager(mgr manager.Manager, c cluster.Cluster, registry prometheus.Registerer, options Options) error {
	if options.Events == nil {
		options.Events = c.GetEventRecorder("lintel-orloj")
	}
	if options.Workers == 0 {
		options.Workers = defaultWorkers
	}
	counted, err := newMetrics(registry, options.Store.Transactions)
	if err != nil {
		return err
	}
	k := &keeper{
		options: options, metrics: counted, outage: &outage{metrics: counted},
		cluster: new(string), client: c.GetClient(), prepared: make(chan struct{}),
	}
	for _, one := range kinds() {
		r := &reconciler{
			kind: one, client: c.GetClient(), options: options, ledger: newLedger(), outage: k.outage, metrics: counted,
			cluster: k.cluster, look: make(chan event.GenericEvent), prepared: k.prepared,
		}
		if err := r.setup(mgr, c); err != nil {
			return fmt.Errorf("setting up the controller of %ss: %w", one.Kind, err)
		}
		k.reconcilers = append(k.reconcilers, r)
	}
	return mgr.Add(k)
}

func (r *reconciler) setup(mgr manager.Manager, c cluster.Cluster) error {
	return builder.ControllerManagedBy(mgr).
		Named("lintel-orloj-" + r.Name).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.Workers}).
		WatchesRawSource(source.Kind[client.Object](c.GetCache(), r.object(), &handler.EnqueueRequestForObject{}, changed())).
		// Another object that wants the key of one that is gone.
		WatchesRawSource(source.Kind[client.Object](c.GetCache(), r.object(), r.freed())).
		// A permission that is given or withdrawn.
		WatchesRawSource(source.Kind[client.Object](c.GetCache(), &corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace), permissionChanged())).
		// A row that differs from what was written.
		WatchesRawSource(source.Channel(r.look, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// changed passes what changes a row, and not what is written to the object by syncing it.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld, e.ObjectNew
		return was.GetGeneration() != is.GetGeneration() || was.GetUID() != is.GetUID() ||
			!maps.Equal(was.GetLabels(), is.GetLabels()) || !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) ||
			was.GetDeletionTimestamp().IsZero() != is.GetDeletionTimestamp().IsZero() ||
			controllerutil.ContainsFinalizer(was, v1.Finalizer) && !controllerutil.ContainsFinalizer(is, v1.Finalizer)
	}}
}

// freed has those looked at who want the key of an object that is gone.
func (r *reconciler) freed() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		list := r.list()
		if err := r.client.List(ctx, list, client.MatchingFields{KeyIndex: rules.Key(e.Object.(v1.Object))}); err != nil {
			log.FromContext(ctx).Error(err, "listing who wants a key")
			return
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
			return nil
		})
	}}
}

// permissionChanged passes Namespaces whose annotations for Orloj change. What is there
// at the start is looked at anyway.
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

// inNamespace are the objects to which it matters what their Namespace permits.
func (r *reconciler) inNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	list := r.list()
	if err := r.client.List(ctx, list, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing the objects of a namespace")
		return nil
	}
	var all []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		object := item.(client.Object)
		if _, targets := object.GetAnnotations()[v1.TargetNamespaceAnnotation]; targets || r.Kind == "Secret" {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
		return nil
	})
	return all
}
