package object

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// NewCluster creates a cluster with a cache of its own: a manager in which a system is disabled
// watches none of the kinds of the system, which add registers in the scheme in addition to
// those of Kubernetes.
func NewCluster(config *rest.Config, add func(*runtime.Scheme) error, configure cluster.Option) (cluster.Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness limits better: one edit may concern hundreds of objects
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(add(scheme))
	return cluster.New(config, func(o *cluster.Options) { o.Scheme = scheme }, configure)
}

// Only limits a cache to objects of these namespaces and cluster-scoped objects. Without names,
// it includes all namespaces.
func Only(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	configs := map[string]cache.Config{}
	for _, name := range namespaces {
		configs[name] = cache.Config{}
	}
	return configs
}

// Kinds of which caches hold the metadata.
var (
	SecretKind    = corev1.SchemeGroupVersion.WithKind("Secret")
	ConfigMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// Control adds a controller to a manager, which looks at so many objects at a time.
func Control(mgr manager.Manager, name string, concurrent int, r reconcile.Reconciler, sources ...source.Source) error {
	c := builder.ControllerManagedBy(mgr).Named(name).WithOptions(controller.Options{MaxConcurrentReconciles: concurrent})
	for _, s := range sources {
		c = c.WatchesRawSource(s)
	}
	if err := c.Complete(r); err != nil {
		return fmt.Errorf("setting up the controller %s: %w", name, err)
	}
	return nil
}

// Everywhere is a manager's Runnable on every replica; others run on the leader alone.
type Everywhere func(context.Context) error

// Start implements manager.Runnable.
func (e Everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (Everywhere) NeedLeaderElection() bool { return false }

// MetadataOf is a kind of which no more than the metadata is read.
func MetadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

// IdentityOnly is a cache's transform that retains only the metadata that distinguishes
// versions.
func IdentityOnly(object any) (any, error) {
	if whole, ok := object.(*metav1.PartialObjectMetadata); ok {
		whole.Labels, whole.Annotations, whole.ManagedFields, whole.OwnerReferences = nil, nil, nil, nil
	}
	return object, nil
}

// Self watches the objects of a controller's own kind. A write of a status triggers another
// reconcile, which repeats a comparison with a stale cache.
func Self[T client.Object](c cluster.Cluster, kind T, predicates ...predicate.TypedPredicate[T]) source.Source {
	return source.Kind(c.GetCache(), kind, &handler.TypedEnqueueRequestForObject[T]{}, predicates...)
}

// Owned follows the objects that those of owner's kind control.
func Owned[T client.Object](c cluster.Cluster, kind T, owner client.Object) source.Source {
	return source.Kind(c.GetCache(), kind, handler.TypedEnqueueRequestForOwner[T](c.GetScheme(), c.GetRESTMapper(), owner, handler.OnlyControllerOwner()))
}

// Mapped follows objects that concern others.
func Mapped[T client.Object](c cluster.Cluster, kind T, concerned func(context.Context, T) []reconcile.Request, predicates ...predicate.TypedPredicate[T]) source.Source {
	return source.Kind(c.GetCache(), kind, handler.TypedEnqueueRequestsFromMapFunc(concerned), predicates...)
}

// Updates lets those updates through that matter, and all else.
func Updates[T client.Object](matters func(before, after T) bool) predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{UpdateFunc: func(e event.TypedUpdateEvent[T]) bool { return matters(e.ObjectOld, e.ObjectNew) }}
}

// Request is for one object.
func Request(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}}
}

// RequestsFor are for those objects of a list, in a cache, that are concerned: for all where
// concerned is nil.
func RequestsFor[T client.Object](ctx context.Context, reader client.Reader, list client.ObjectList, concerned func(T) bool, options ...client.ListOption) (requests []reconcile.Request) {
	if err := reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "listing those whom a change concerns", "kind", reflect.TypeOf(list).Elem().Name())
		return nil
	}
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if object := item.(T); concerned == nil || concerned(object) {
			requests = append(requests, Request(object.GetNamespace(), object.GetName())...)
		}
		return nil
	})
	return requests
}
