package openclaw

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// watches say whom a change concerns.
type watches struct {
	cluster cluster.Cluster
	library *library
	records records
}

// changed says of an update whether it matters.
type changed func(before, after client.Object) bool

// specChanged passes changes of spec, labels or deletion; labels select policies.
func specChanged(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetLabels(), after.GetLabels()) ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero()
}

func onUpdate[T client.Object](matters []changed) []predicate.TypedPredicate[T] {
	return []predicate.TypedPredicate[T]{predicate.TypedFuncs[T]{UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
		for _, matter := range matters {
			if !matter(e.ObjectOld, e.ObjectNew) {
				return false
			}
		}
		return true
	}}}
}

// self follows the objects of a controller's own kind. Writing a status leads here
// again: what was compared with a cache that was behind is compared once more.
func self[T client.Object](w watches, kind T) source.Source {
	return source.Kind(w.cluster.GetCache(), kind, &handler.TypedEnqueueRequestForObject[T]{})
}

// owned follows the objects that those of a controller's kind control.
func owned[T client.Object](w watches, kind T, owner client.Object) source.Source {
	return source.Kind(w.cluster.GetCache(), kind, handler.TypedEnqueueRequestForOwner[T](
		w.cluster.GetScheme(), w.cluster.GetRESTMapper(), owner, handler.OnlyControllerOwner()))
}

// mapped follows objects that concern others.
func mapped[T client.Object](w watches, kind T, concerned func(context.Context, client.Object) []reconcile.Request, matters ...changed) source.Source {
	return source.Kind(w.cluster.GetCache(), kind, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, object T) []reconcile.Request {
		return concerned(ctx, object)
	}), onUpdate[T](matters)...)
}

// settled is mapped where many changes come together, and once is enough.
func settled[T client.Object](w watches, kind T, concerned func(context.Context, client.Object) []reconcile.Request, matters ...changed) source.Source {
	later := func(ctx context.Context, object T, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, request := range concerned(ctx, object) {
			queue.AddAfter(request, settle)
		}
	}
	return source.Kind(w.cluster.GetCache(), kind, handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			later(ctx, e.Object, queue)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			later(ctx, e.ObjectNew, queue)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			later(ctx, e.Object, queue)
		},
	}, onUpdate[T](matters)...)
}

// instancesOfBundle are those of its namespace, and all where it is the root's.
func (w watches) instancesOfBundle(ctx context.Context, bundle client.Object) []reconcile.Request {
	return w.instancesIn(ctx, bundle.GetNamespace())
}

func (w watches) instancesIn(ctx context.Context, namespace string) []reconcile.Request {
	if w.library.isRoot(namespace) {
		return w.instances(ctx)
	}
	return w.instances(ctx, client.InNamespace(namespace))
}

// instancesOfRecord are those that the bundle of a record may bind, or the one that a
// record is about.
func (w watches) instancesOfRecord(ctx context.Context, stored client.Object) []reconcile.Request {
	if bundle, found := w.records.subjectOf(stored, bundleKind); found {
		return w.instancesIn(ctx, bundle.Namespace)
	}
	if instance, found := w.records.subjectOf(stored, instanceKind); found {
		return []reconcile.Request{{NamespacedName: instance}}
	}
	return nil
}

func (w watches) bundleOfRecord(_ context.Context, stored client.Object) []reconcile.Request {
	if bundle, found := w.records.subjectOf(stored, bundleKind); found {
		return []reconcile.Request{{NamespacedName: bundle}}
	}
	return nil
}

func (w watches) instancesOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return w.instances(ctx, client.InNamespace(secret.GetNamespace()), client.MatchingFields{secretsIndex: secret.GetName()})
}

func (w watches) instances(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var list v1.OpenClawInstanceList
	if err := w.cluster.GetClient().List(ctx, &list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "listing OpenClawInstances")
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}
	}
	return requests
}

// bundlesOf are those that may bind an instance, or the instance of a Deployment.
func (w watches) bundlesOf(ctx context.Context, object client.Object) []reconcile.Request {
	list, err := w.library.bundles(ctx, w.cluster.GetClient(), object.GetNamespace())
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the policies of a gateway")
		return nil
	}
	return requestsFor(list)
}

// bundlesBeside are those whose policies may meet those of a bundle.
func (w watches) bundlesBeside(ctx context.Context, bundle client.Object) []reconcile.Request {
	if bundle.GetNamespace() != w.library.rootNamespace {
		return w.bundlesOf(ctx, bundle)
	}
	var list v1.PolicyBundleList
	if err := w.cluster.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing the PolicyBundles that the root namespace binds")
		return nil
	}
	return requestsFor(list.Items)
}

func requestsFor(bundles []v1.PolicyBundle) []reconcile.Request {
	requests := make([]reconcile.Request, len(bundles))
	for i := range bundles {
		requests[i].NamespacedName = types.NamespacedName{Namespace: bundles[i].Namespace, Name: bundles[i].Name}
	}
	return requests
}
