package system

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Controls describes the objects that the controllers of a system create in the cluster.
// Each carries ManagedByLabel, and most have a controller reference to an object of Group.
type Controls struct {
	// ManagedBy is the value of ManagedByLabel.
	ManagedBy string
	// Group is the API group of the owners.
	Group string
	// Resources are those of the objects.
	Resources []schema.GroupResource
	// Names are those that the controllers need.
	Names []Name
	// Owner returns the owner of an object without a controller reference, as labels and
	// annotations name it: nil if they name none. It is nil if all objects have a reference.
	Owner func(object *metav1.PartialObjectMetadata) *Reference
	// Namespaces are those that the system serves: all if there are none.
	Namespaces []string
}

// ManagedByLabel is the label of what controllers create.
const ManagedByLabel = "app.kubernetes.io/managed-by"

// Name is a name that the controllers need for an object of an owner, in the owner's
// namespace: the name of the owner between Prefix and Suffix.
type Name struct {
	Prefix, Suffix string
	// Generated is whether anything may follow Suffix.
	Generated bool
	Resources []schema.GroupResource
	Owner     schema.GroupVersionKind
}

// Reference names the owner of an object.
type Reference struct {
	Kind schema.GroupVersionKind
	types.NamespacedName
	// UID is empty if any object of the name is the owner.
	UID types.UID
	// Kept is whether the object may be stored while the owner does not exist: it outlives
	// one owner and belongs to the next one of the name.
	Kept bool
}

// Resources are resources of one API group.
func Resources(group string, names ...string) (list []schema.GroupResource) {
	for _, name := range names {
		list = append(list, schema.GroupResource{Group: group, Resource: name})
	}
	return list
}
