package orloj

import (
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
)

// kind is one of Orloj's eight kinds.
type kind struct{ store.Table }

// allKinds returns the eight kinds.
func allKinds() (all []kind) {
	for _, table := range store.ListTables() {
		all = append(all, kind{table})
	}
	return all
}

// object returns an empty object of the kind.
func (k kind) object() v1.Object { return empty(k.Kind).(v1.Object) }

// list returns an empty list of the kind.
func (k kind) list() client.ObjectList { return empty(k.Kind + "List").(client.ObjectList) }

// scheme contains the eight kinds.
var scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1.AddToScheme(scheme))
	return scheme
}()

func empty(name string) runtime.Object {
	object, err := scheme.New(v1.SchemeGroupVersion.WithKind(name))
	utilruntime.Must(err) // there is a type for each table
	return object
}
