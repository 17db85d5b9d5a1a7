package openclaw

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReasonNotOwned is why an object that stands where ours would is left alone.
const ReasonNotOwned = "NotOwned"

// writer keeps objects as they are wanted, and writes only what differs.
type writer struct {
	// client reads from a cache of labelled objects; live reads all.
	client client.Client
	live   client.Reader
	// manager owns the fields that are written.
	manager string

	mutex sync.Mutex
	// settled says of objects, by uid, in which version they were found to be as wanted.
	settled map[types.UID]version
}

// version is an object as it is, and the hash of what is wanted of it.
type version struct {
	resourceVersion string
	wanted          [sha256.Size]byte
}

// maxSettled is how many objects are remembered.
const maxSettled = 100000

// wanted is what every apply configuration knows of itself.
type wanted interface {
	runtime.ApplyConfiguration
	GetName() *string
	GetNamespace() *string
}

// keep has an object as it is wanted, and reads it into have. An object of that name
// that is not controlled by the owner is a *problem. changed says that it was written.
func (w *writer) keep(ctx context.Context, owner client.Object, want wanted, have client.Object) (changed bool, err error) {
	key := client.ObjectKey{Namespace: *want.GetNamespace(), Name: *want.GetName()}
	found, err := w.find(ctx, key, have)
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(want)
	if err != nil {
		return false, err
	}
	now := version{have.GetResourceVersion(), sha256.Sum256(text)}
	if found && w.isSettled(have, now) {
		return false, nil
	}
	object := &unstructured.Unstructured{}
	// Unstructured reads whole numbers as such, as patches need them.
	if err := object.UnmarshalJSON(text); err != nil {
		return false, err
	}
	if !found {
		if err := w.create(ctx, object.DeepCopy(), have); err != nil {
			return false, err
		}
	}
	if !metav1.IsControlledBy(have, owner) {
		return false, notOwned(object.GetKind(), key, owner)
	}
	applied, err := extract(have, w.manager)
	if err != nil {
		return false, fmt.Errorf("reading what was applied to %s %s: %w", object.GetKind(), key, err)
	}
	if equality.Semantic.DeepEqual(applied, object.Object) {
		w.settle(have, now)
		return false, nil
	}
	if err := w.claim(ctx, have); err != nil {
		return false, fmt.Errorf("applying %s %s: %w", object.GetKind(), key, err)
	}
	// The uid keeps an object that has taken the name since from being touched.
	object.SetUID(have.GetUID())
	err = w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(w.manager), client.ForceOwnership)
	if err != nil {
		return false, fmt.Errorf("applying %s %s: %w", object.GetKind(), key, err)
	}
	return true, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, have)
}

func (w *writer) isSettled(have client.Object, now version) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.settled[have.GetUID()] == now
}

// settle remembers that an object, which the owner controls, is as wanted: comparing is
// most of the work, and most often nothing has changed.
func (w *writer) settle(have client.Object, now version) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.settled == nil || len(w.settled) >= maxSettled {
		w.settled = map[types.UID]version{}
	}
	w.settled[have.GetUID()] = now
}

// find reads an object, whether it carries our labels or not.
func (w *writer) find(ctx context.Context, key client.ObjectKey, have client.Object) (bool, error) {
	err := w.client.Get(ctx, key, have)
	if apierrors.IsNotFound(err) {
		err = w.live.Get(ctx, key, have)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func (w *writer) create(ctx context.Context, object *unstructured.Unstructured, have client.Object) error {
	if err := w.client.Create(ctx, object, client.FieldOwner(w.manager)); err != nil {
		return fmt.Errorf("creating %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, have)
}

// claim makes what was created count as applied. Else a field that is wanted no more
// would stay, owned by the creation.
func (w *writer) claim(ctx context.Context, have client.Object) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(have, sets.New(w.manager), w.manager)
		if err != nil || patch == nil {
			return err
		}
		err = w.client.Patch(ctx, have, client.RawPatch(types.JSONPatchType, patch))
		if apierrors.IsConflict(err) {
			// The object is new, and others write its status.
			uid := have.GetUID()
			if err := w.live.Get(ctx, client.ObjectKeyFromObject(have), have); err != nil {
				return err
			}
			if have.GetUID() != uid {
				return fmt.Errorf("it was replaced by another of that name")
			}
		}
		return err
	})
}

// remove deletes an object, if it is the owner's.
func (w *writer) remove(ctx context.Context, owner client.Object, key client.ObjectKey, have client.Object) error {
	err := w.client.Get(ctx, key, have)
	if err != nil || !metav1.IsControlledBy(have, owner) || !have.GetDeletionTimestamp().IsZero() {
		return client.IgnoreNotFound(err)
	}
	err = w.client.Delete(ctx, have, client.Preconditions{UID: new(have.GetUID())})
	return client.IgnoreNotFound(err)
}

func notOwned(kind string, key client.ObjectKey, owner client.Object) *problem {
	return &problem{ReasonNotOwned, fmt.Sprintf(
		"%s %s in namespace %s is not controlled by this object and is left alone; rename or delete it, so that %s can have its own",
		kind, key.Name, key.Namespace, owner.GetName())}
}

// extract is what the manager has applied of an object, with the values that it has.
func extract(object client.Object, manager string) (map[string]any, error) {
	var applied runtime.ApplyConfiguration
	var err error
	switch object := object.(type) {
	case *appsv1.Deployment:
		applied, err = appsv1ac.ExtractDeployment(object, manager)
	case *corev1.Service:
		applied, err = corev1ac.ExtractService(object, manager)
	case *corev1.ConfigMap:
		applied, err = corev1ac.ExtractConfigMap(object, manager)
	case *policyv1.PodDisruptionBudget:
		applied, err = policyv1ac.ExtractPodDisruptionBudget(object, manager)
	default:
		err = fmt.Errorf("%T is not applied by this controller", object)
	}
	if err != nil {
		return nil, err
	}
	return asMap(applied)
}

func asMap(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	err = object.UnmarshalJSON(text)
	return object.Object, err
}
