package zopp

import (
	"context"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// metadata is that of an object, as caches have it.
type metadata = metav1.PartialObjectMetadata

// watches map a change to the affected objects.
type watches struct{ cached client.Reader }

func itself(_ context.Context, object *metadata) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// concernsZopp reports whether an object has a zopp annotation.
func concernsZopp(object *metadata) bool {
	for name := range object.Annotations {
		if strings.HasPrefix(name, v1alpha1.GroupName+"/") {
			return true
		}
	}
	return false
}

// annotated passes events of objects with zopp annotations, including the removal of the last
// one.
func annotated() predicate.TypedPredicate[*metadata] {
	return predicate.TypedFuncs[*metadata]{
		CreateFunc: func(e event.TypedCreateEvent[*metadata]) bool { return concernsZopp(e.Object) },
		DeleteFunc: func(e event.TypedDeleteEvent[*metadata]) bool { return concernsZopp(e.Object) },
		UpdateFunc: func(e event.TypedUpdateEvent[*metadata]) bool {
			return concernsZopp(e.ObjectOld) || concernsZopp(e.ObjectNew)
		},
		GenericFunc: func(event.TypedGenericEvent[*metadata]) bool { return true },
	}
}

// permissionChanged passes Namespaces whose zopp annotations change. Namespaces that exist at
// startup are evaluated anyway.
func permissionChanged() predicate.TypedPredicate[*corev1.Namespace] {
	return predicate.TypedFuncs[*corev1.Namespace]{
		CreateFunc: func(event.TypedCreateEvent[*corev1.Namespace]) bool { return false },
		DeleteFunc: func(event.TypedDeleteEvent[*corev1.Namespace]) bool { return false },
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Namespace]) bool {
			return !maps.Equal(permissions(e.ObjectOld), permissions(e.ObjectNew))
		},
	}
}

// permissions returns the zopp annotations of a Namespace.
func permissions(namespace *corev1.Namespace) map[string]string {
	said := map[string]string{}
	for _, name := range []string{v1alpha1.AllowedSourcesAnnotation, v1alpha1.AcceptFromNamespacesAnnotation} {
		if value, has := namespace.Annotations[name]; has {
			said[name] = value
		}
	}
	return said
}

// secretsIn returns the Secrets of a Namespace that request a sync, or did.
func (w watches) secretsIn(ctx context.Context, namespace *corev1.Namespace) []reconcile.Request {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(object.SecretKind)
	return object.RequestsFor(ctx, w.cached, list, concernsZopp, client.InNamespace(namespace.Name))
}
