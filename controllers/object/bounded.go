package object

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxUncontrolled is the size, in bytes of its protobuf encoding, above which a cache does
// not hold the content of an object that nothing of Lintel controls.
const maxUncontrolled = 64 << 10

// maxKept is how many labels, or finalizers, an object may have to keep them when it is
// reduced: those that Lintel and Kubernetes set are fewer.
const maxKept = 32

// Bounded is a cache's transform for kinds that are selected by a label, which every user who
// creates an object can set. An object of more than 64 KiB without a controller of the API group
// keeps its identity, its deletion and its controller, and loses the rest. A reader then finds
// that the object differs from the wanted state.
func Bounded(group string) toolscache.TransformFunc {
	return func(cached any) (any, error) {
		object, ok := cached.(client.Object)
		if !ok || sizeOf(object) <= maxUncontrolled || isControlledByGroup(object, group) {
			return cached, nil
		}
		reduced, ok := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		if !ok {
			return nil, fmt.Errorf("reducing a %T for the cache", object)
		}
		reduced.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		reduced.SetName(object.GetName())
		reduced.SetNamespace(object.GetNamespace())
		reduced.SetUID(object.GetUID())
		reduced.SetResourceVersion(object.GetResourceVersion())
		reduced.SetCreationTimestamp(object.GetCreationTimestamp())
		reduced.SetDeletionTimestamp(object.GetDeletionTimestamp())
		if len(object.GetLabels()) <= maxKept {
			reduced.SetLabels(object.GetLabels())
		}
		if len(object.GetFinalizers()) <= maxKept {
			reduced.SetFinalizers(object.GetFinalizers())
		}
		if controller := metav1.GetControllerOf(object); controller != nil {
			reduced.SetOwnerReferences([]metav1.OwnerReference{*controller})
		}
		if deployment, ok := object.(*appsv1.Deployment); ok {
			reduced.(*appsv1.Deployment).Spec.Replicas = deployment.Spec.Replicas
		}
		return reduced, nil
	}
}

func isControlledByGroup(object client.Object, group string) bool {
	controller := metav1.GetControllerOf(object)
	return controller != nil && schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).Group == group
}

// sizeOf is the size of an object in bytes: of its protobuf encoding, where it has one.
func sizeOf(object client.Object) int {
	if sized, ok := object.(interface{ Size() int }); ok {
		return sized.Size()
	}
	metadata, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return 0
	}
	return metadata.ObjectMeta.Size()
}
