package openvox

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// applier has the objects that belong to another as they are wanted, and writes only
// what differs.
type applier struct {
	// fieldOwner owns what is applied.
	fieldOwner string
	// client reads from a cache of labelled objects; live reads all.
	client client.Client
	live   client.Reader
}

// conflict is an object that stands where one of ours would.
type conflict struct{ kind, name string }

// Error says what to do.
func (e *conflict) Error() string {
	return fmt.Sprintf("%s %s does not belong to this object and is left alone; rename or delete it", e.kind, e.name)
}

// keep has one object of an owner as it is wanted. found is as it was; its type is that of want.
func (a applier) keep(ctx context.Context, owner client.Object, want, found client.Object) error {
	exists, err := a.find(ctx, owner, want, found)
	if err != nil {
		return err
	}
	object, err := wire(want)
	if err != nil {
		return err
	}
	options := []client.ApplyOption{client.FieldOwner(a.fieldOwner)}
	if exists {
		had, err := wire(found)
		if err != nil {
			return err
		}
		if covers(had.Object, object.Object) && sameController(found, want) {
			return nil
		}
		// The uid keeps an object that has taken the name since from being touched.
		object.SetUID(found.GetUID())
		options = append(options, client.ForceOwnership)
	}
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
		return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// find reads an object, whether it carries our labels or not. One that is somebody
// else's is a *conflict.
func (a applier) find(ctx context.Context, owner client.Object, want, found client.Object) (bool, error) {
	kind := want.GetObjectKind().GroupVersionKind()
	key := client.ObjectKeyFromObject(want)
	err := a.client.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		err = a.live.Get(ctx, key, found)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", kind.Kind, key.Name, err)
	}
	found.GetObjectKind().SetGroupVersionKind(kind)
	ca, ofCA := owner.(*v1alpha1.CertificateAuthority)
	kept := ofCA && (kind.Kind == "Secret" || kind.Kind == "PersistentVolumeClaim" || kind.Kind == "Certificate")
	if !metav1.IsControlledBy(found, owner) && (!kept || !inherits(found, ca)) {
		return false, &conflict{kind.Kind, key.Name}
	}
	return true, nil
}

// inherits says whether an object has stayed from an earlier CA of the name.
func inherits(object client.Object, ca *v1alpha1.CertificateAuthority) bool {
	labels := object.GetLabels()
	return metav1.GetControllerOf(object) == nil && labels[managedByLabel] == managedBy && labels[caLabel] == ca.Name
}

// remove deletes an object that belongs to another.
func (a applier) remove(ctx context.Context, owner client.Object, want, found client.Object) error {
	err := a.client.Get(ctx, client.ObjectKeyFromObject(want), found)
	if err != nil || !metav1.IsControlledBy(found, owner) || !found.GetDeletionTimestamp().IsZero() {
		return client.IgnoreNotFound(err)
	}
	err = a.client.Delete(ctx, found, client.Preconditions{UID: new(found.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return client.IgnoreNotFound(err)
}

// wire is an object without what only the API server writes.
func wire(object client.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", object.GetName(), err)
	}
	delete(fields, "status")
	prune(fields)
	return &unstructured.Unstructured{Object: fields}, nil
}

// prune takes away what types write though it is not set.
func prune(fields map[string]any) {
	for name, value := range fields {
		switch value := value.(type) {
		case nil:
			delete(fields, name)
		case map[string]any:
			prune(value)
		case []any:
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					prune(item)
				}
			}
		}
	}
}

// covers says whether all that is wanted is there.
func covers(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return len(want) == 0
		}
		for name, value := range want {
			if !covers(have[name], value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := have.([]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for i := range want {
			if !covers(have[i], want[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(have, want)
}

func sameController(a, b client.Object) bool {
	return (metav1.GetControllerOf(a) == nil) == (metav1.GetControllerOf(b) == nil)
}
