package openclaw

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReasonNotOwned is why an object that stands where ours would is left alone.
const ReasonNotOwned = "NotOwned"

// restartedAnnotation is what `kubectl rollout restart` puts on a Pod template.
const restartedAnnotation = "kubectl.kubernetes.io/restartedAt"

// writer keeps objects wholly as they are wanted: what others add to a spec or to data
// goes again, and what they remove comes back. It writes only what differs.
type writer struct {
	// client reads from a cache of labelled objects; live reads all.
	client client.Client
	live   client.Reader
	// manager owns the fields that are written.
	manager string

	mutex sync.Mutex
	// settled says of objects, by uid, how they were found to be as wanted.
	settled map[types.UID]version
}

type digest = [sha256.Size]byte

// version is an object that is as wanted: as of a resourceVersion and, where it was
// written for that, of the one before, which caches show for a while.
type version struct {
	at, before   string
	wanted, have digest
}

// maxSettled is how many objects are remembered.
const maxSettled = 100000

// wanted is what every apply configuration knows of itself.
type wanted interface {
	runtime.ApplyConfiguration
	GetName() *string
	GetNamespace() *string
}

// owner is the object that others belong to.
type owner struct {
	client.Object
	// owns says that it has had objects of all the names: what stands there is its
	// own, even where somebody took its owner reference away.
	owns bool
}

func (o owner) controls(object client.Object) bool {
	return o.owns || metav1.IsControlledBy(object, o)
}

// keep has an object as it is wanted, and reads it into have. An object of that name
// that is not the owner's is a *problem. changed says that it was written.
func (w *writer) keep(ctx context.Context, o owner, want wanted, have client.Object) (changed bool, err error) {
	key := client.ObjectKey{Namespace: *want.GetNamespace(), Name: *want.GetName()}
	text, err := json.Marshal(want)
	if err != nil {
		return false, err
	}
	built := &unstructured.Unstructured{}
	// Unstructured reads whole numbers as such.
	if err := built.UnmarshalJSON(text); err != nil {
		return false, err
	}
	found, err := w.find(ctx, key, have)
	if err != nil {
		return false, err
	}
	if !found {
		return true, w.create(ctx, built, have)
	}
	if !o.controls(have) {
		return false, notOwned(built.GetKind(), key, o)
	}
	now := version{at: have.GetResourceVersion(), wanted: sha256.Sum256(text)}
	if w.isSettled(have, &now) {
		return false, nil
	}
	before, uid := now, have.GetUID()
	switch err = w.update(ctx, built.DeepCopy(), have); {
	case apierrors.IsInvalid(err):
		return true, w.renew(ctx, built, have)
	case apierrors.IsNotFound(err): // the cache was behind
		return true, w.create(ctx, built, have)
	case err != nil:
		return false, fmt.Errorf("updating %s %s: %w", built.GetKind(), key, err)
	}
	now = version{at: have.GetResourceVersion(), before: before.at, wanted: before.wanted, have: digestOf(have)}
	w.settle(uid, now)
	return now.have != before.have, nil
}

// update replaces an object by what is wanted. The API server writes nothing where
// nothing differs.
func (w *writer) update(ctx context.Context, next *unstructured.Unstructured, have client.Object) error {
	// The uid keeps an object that has taken the name since from being touched. Which
	// version it replaces does not matter: nobody keeps it away by writing faster.
	next.SetUID(have.GetUID())
	if next.GetKind() == "PodDisruptionBudget" { // which is updated by version only
		next.SetResourceVersion(have.GetResourceVersion())
	}
	next.SetLabels(joined(have.GetLabels(), next.GetLabels()))
	next.SetAnnotations(joined(have.GetAnnotations(), next.GetAnnotations()))
	next.SetFinalizers(finalizersOfKubernetes(have))
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(have)
	if err != nil {
		return err
	}
	template := []string{"spec", "template", "metadata", "annotations", restartedAnnotation}
	if restarted, found, _ := unstructured.NestedString(whole, template...); found {
		if err := unstructured.SetNestedField(next.Object, restarted, template...); err != nil {
			return err
		}
	}
	if err := w.client.Update(ctx, next, client.FieldOwner(w.manager)); err != nil {
		return err
	}
	return convert(next, have)
}

// renew deletes an object that cannot be made what is wanted, since a field of it is
// immutable, and creates it anew.
func (w *writer) renew(ctx context.Context, built *unstructured.Unstructured, have client.Object) error {
	key := client.ObjectKeyFromObject(have)
	if kept := finalizersOfKubernetes(have); len(kept) < len(have.GetFinalizers()) {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": have.GetUID(), "finalizers": kept}})
		if err != nil {
			return err
		}
		if err := w.client.Patch(ctx, have, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(w.manager)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("replacing %s %s: %w", built.GetKind(), key, err)
		}
	}
	err := w.client.Delete(ctx, have, client.Preconditions{UID: new(have.GetUID())})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("replacing %s %s: %w", built.GetKind(), key, err)
	}
	err = w.create(ctx, built, have)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("replacing %s %s: it is deleted, and has not gone yet; see its finalizers", built.GetKind(), key)
	}
	return err
}

func (w *writer) create(ctx context.Context, built *unstructured.Unstructured, have client.Object) error {
	next := built.DeepCopy()
	if err := w.client.Create(ctx, next, client.FieldOwner(w.manager)); err != nil {
		return fmt.Errorf("creating %s %s: %w", built.GetKind(), client.ObjectKeyFromObject(built), err)
	}
	return convert(next, have)
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

// isSettled says whether an object is as wanted: comparing is most of the work, and
// most often nothing has changed. It fills in the digest of what the object is.
func (w *writer) isSettled(have client.Object, now *version) bool {
	w.mutex.Lock()
	known, found := w.settled[have.GetUID()]
	w.mutex.Unlock()
	if found && known.wanted == now.wanted && (known.at == now.at || known.before == now.at) {
		return true
	}
	now.have = digestOf(have)
	if found && known.wanted == now.wanted && known.have == now.have {
		w.settle(have.GetUID(), *now)
		return true
	}
	return false
}

func (w *writer) settle(uid types.UID, now version) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.settled == nil || len(w.settled) >= maxSettled {
		w.settled = map[types.UID]version{}
	}
	w.settled[uid] = now
}

// remove deletes an object, if it is the owner's.
func (w *writer) remove(ctx context.Context, o owner, key client.ObjectKey, have client.Object) error {
	err := w.client.Get(ctx, key, have)
	if err != nil || !o.controls(have) || !have.GetDeletionTimestamp().IsZero() {
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

// digestOf tells apart what is kept of objects: not their status, nor annotations,
// where others leave notes.
func digestOf(object client.Object) (out digest) {
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err) // typed objects of Kubernetes
	}
	for _, key := range []string{"apiVersion", "kind", "status"} {
		delete(whole, key)
	}
	whole["metadata"] = []any{object.GetLabels(), object.GetOwnerReferences(), object.GetFinalizers(), object.GetDeletionTimestamp()}
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err) // maps of what came as JSON
	}
	return sha256.Sum256(text)
}

// finalizersOfKubernetes are those that Kubernetes itself sets. Others would keep what
// is deleted from coming back.
func finalizersOfKubernetes(object client.Object) []string {
	kept := []string{}
	for _, name := range object.GetFinalizers() {
		domain, _, found := strings.Cut(name, "/")
		if !found || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
			kept = append(kept, name)
		}
	}
	return kept
}

// joined has the entries of both; ours count where both have one.
func joined(theirs, ours map[string]string) map[string]string {
	all := maps.Clone(theirs)
	if all == nil {
		return ours
	}
	maps.Copy(all, ours)
	return all
}

func convert(from *unstructured.Unstructured, into client.Object) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into)
}
