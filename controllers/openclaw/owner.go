package openclaw

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/controllers/object"
)

// ReasonNotOwned is the reason that an object of another owner with the name of ours stays
// unchanged.
const ReasonNotOwned = "NotOwned"

// owner is the object that others belong to.
type owner struct {
	client.Object
	// owns means that the instance has owned objects of all the names: existing objects are its
	// own, even if another writer removed the owner reference.
	owns bool
}

func (o owner) controls(object client.Object) bool {
	return o.owns || metav1.IsControlledBy(object, o)
}

// problemOf returns the problem for a known error, and nil for other errors.
func (o owner) problemOf(err error) (known *problem) {
	if foreign := (*object.Foreign)(nil); errors.As(err, &foreign) {
		return &problem{ReasonNotOwned, fmt.Sprintf(
			"%s %s in namespace %s is not controlled by this object and is left alone; delete it, so that %s can have its own",
			foreign.Kind, foreign.Name, foreign.Namespace, o.GetName())}
	}
	_ = errors.As(err, &known)
	return known
}
