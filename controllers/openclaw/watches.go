package openclaw

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// watches say whom a change concerns.
type watches struct {
	cluster cluster.Cluster
	library *library
	records recordStore
}

// specChanged passes changes of spec, labels or deletion; labels select policies.
func specChanged[T client.Object](before, after T) bool {
	return before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetLabels(), after.GetLabels()) ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero()
}

// delayed is object.Mapped where many changes come together, and once is enough.
func delayed[T client.Object](w watches, kind T, concerned func(context.Context, client.Object) []reconcile.Request, predicates ...predicate.TypedPredicate[T]) source.Source {
	return ranked(w, kind, statusDelay, concerned, predicates...)
}

// rankOfRoot is the priority in a queue of objects of the root namespace, before all others.
const rankOfRoot = 1

// ranked is object.Mapped with a delay. It puts objects of the root namespace first, so that
// changes of tenants do not delay stricter policies.
func ranked[T client.Object](w watches, kind T, delay time.Duration, concerned func(context.Context, client.Object) []reconcile.Request, predicates ...predicate.TypedPredicate[T]) source.Source {
	later := func(ctx context.Context, object T, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, request := range concerned(ctx, object) {
			w.enqueue(queue, request, delay)
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
	}, predicates...)
}

func (w watches) enqueue(queue workqueue.TypedRateLimitingInterface[reconcile.Request], request reconcile.Request, delay time.Duration) {
	prioritized, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok || !w.library.isRoot(request.Namespace) {
		queue.AddAfter(request, delay)
		return
	}
	prioritized.AddWithOpts(priorityqueue.AddOpts{After: delay, Priority: new(rankOfRoot)}, request)
}

func itself(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// instancesOfBundle are those of its namespace, and all where it is the root's.
func (w watches) instancesOfBundle(ctx context.Context, bundle *v1.PolicyBundle) []reconcile.Request {
	return w.instancesIn(ctx, bundle.Namespace)
}

func (w watches) instancesIn(ctx context.Context, namespace string) []reconcile.Request {
	if w.library.isRoot(namespace) {
		return w.instances(ctx)
	}
	return w.instances(ctx, client.InNamespace(namespace))
}

// instancesOfRecord are those that the bundle of a record may bind, or the one that a
// record is about.
func (w watches) instancesOfRecord(ctx context.Context, stored *corev1.ConfigMap) []reconcile.Request {
	if bundle, found := w.records.subjectOf(stored, bundleKind); found {
		return w.instancesIn(ctx, bundle.Namespace)
	}
	for _, kind := range []string{instanceKind, signedKind} {
		if instance, found := w.records.subjectOf(stored, kind); found {
			return []reconcile.Request{{NamespacedName: instance}}
		}
	}
	return nil
}

// instanceOfLabels is the instance that the labels of an object name.
func instanceOfLabels[T client.Object](_ context.Context, object T) []reconcile.Request {
	labels := object.GetLabels()
	if labels[componentLabel] != gatewayComponent || labels[instanceLabel] == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: labels[instanceLabel]}}}
}

func (w watches) bundleOfRecord(_ context.Context, stored *corev1.ConfigMap) []reconcile.Request {
	if bundle, found := w.records.subjectOf(stored, bundleKind); found {
		return []reconcile.Request{{NamespacedName: bundle}}
	}
	return nil
}

func (w watches) instancesOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return w.instances(ctx, client.InNamespace(secret.Namespace), client.MatchingFields{secretsIndex: secret.Name})
}

func (w watches) instances(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	return object.RequestsFor[*v1.OpenClawInstance](ctx, w.cluster.GetClient(), &v1.OpenClawInstanceList{}, nil, options...)
}

// bundlesOf are those that may bind an instance, or the instance of a Deployment.
func (w watches) bundlesOf(ctx context.Context, of client.Object) (requests []reconcile.Request) {
	for _, namespace := range w.library.namespacesFor(of.GetNamespace()) {
		requests = append(requests, w.bundles(ctx, client.InNamespace(namespace))...)
	}
	return requests
}

// bundlesBeside are those whose policies may meet those of a bundle.
func (w watches) bundlesBeside(ctx context.Context, bundle client.Object) []reconcile.Request {
	if bundle.GetNamespace() != w.library.rootNamespace {
		return w.bundlesOf(ctx, bundle)
	}
	return w.bundles(ctx)
}

func (w watches) bundles(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	return object.RequestsFor[*v1.PolicyBundle](ctx, w.cluster.GetClient(), &v1.PolicyBundleList{}, nil, options...)
}
