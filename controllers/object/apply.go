package object

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// restartedAnnotation is what `kubectl rollout restart` puts on a Pod template.
const restartedAnnotation = "kubectl.kubernetes.io/restartedAt"

// Applier has the children of objects as they are wanted, and writes only what differs.
type Applier struct {
	// Client reads from a cache, which may lack objects without our labels; Live has all.
	Client client.Client
	Live   client.Reader
	// Manager owns the fields that are written.
	Manager string
	// Former are the managers of an earlier operator. Apply takes over the fields that they set
	// by updates, and removes unwanted ones. It does so once, at the first write of an object,
	// because other clients may use these common names later.
	Former []string

	mutex sync.Mutex
	// wanted says of objects how they were found to be as wanted.
	wanted map[identity]version
}

// identity distinguishes an object from an earlier object of the same name.
type identity struct {
	kind string
	name types.NamespacedName
	uid  types.UID
}

func identityOf(built *unstructured.Unstructured, object client.Object) identity {
	return identity{built.GetKind(), client.ObjectKeyFromObject(built), object.GetUID()}
}

type digest = [sha256.Size]byte

// version is an object that is as wanted: as of a resourceVersion and, where it was
// written for that, of the one before, which caches show for a while.
type version struct {
	at, before   string
	wanted, have digest
}

// maxKnown is how many objects are remembered.
const maxKnown = 100000

// Ours says whether an object may be written.
type Ours func(client.Object) bool

// ControlledBy are the objects that another one controls.
func ControlledBy(owner client.Object) Ours {
	return func(object client.Object) bool { return metav1.IsControlledBy(object, owner) }
}

// Foreign is an object of another owner that has the name of one of ours.
type Foreign struct {
	Kind string
	types.NamespacedName
}

// Error says what to do.
func (f *Foreign) Error() string {
	return fmt.Sprintf("%s %s does not belong to this object and is left alone; delete it, or have this object under another name", f.Kind, f.Name)
}

// Terminating is an object that is being deleted and stays because of its finalizers, so
// that no other can have its name.
type Terminating struct {
	Kind string
	types.NamespacedName
}

// Error names the next step.
func (t *Terminating) Error() string {
	return fmt.Sprintf("replacing %s %s: it is being deleted and waits for its finalizers; remove them", t.Kind, strings.TrimPrefix(t.String(), "/"))
}

// Apply has the fields of want, which is an object or an apply configuration, in an
// object, and leaves what others have added. It reads the object into have, unless that
// is nil. One that is not ours is a *Foreign. changed says that it was written.
func (a *Applier) Apply(ctx context.Context, ours Ours, want any, have client.Object) (changed bool, err error) {
	return a.keep(ctx, ours, want, have, false)
}

// Replace is Apply for objects whose spec or data is exactly as built: fields that other clients
// add there are removed. Their labels and annotations stay.
func (a *Applier) Replace(ctx context.Context, ours Ours, want any, have client.Object) (changed bool, err error) {
	return a.keep(ctx, ours, want, have, true)
}

func (a *Applier) keep(ctx context.Context, ours Ours, want any, have client.Object, whole bool) (changed bool, err error) {
	text, err := json.Marshal(want)
	if err != nil {
		return false, err
	}
	built := &unstructured.Unstructured{}
	if err := built.UnmarshalJSON(text); err != nil { // it reads whole numbers as such
		return false, err
	}
	delete(built.Object, "status")
	if have == nil {
		empty, err := a.Client.Scheme().New(built.GroupVersionKind())
		if err != nil {
			return false, err
		}
		have = empty.(client.Object)
	}
	key, now := client.ObjectKeyFromObject(built), version{wanted: sha256.Sum256(text)}
	found, err := a.Find(ctx, ours, key, have)
	switch {
	case err != nil:
		return false, err
	case !found:
		err = a.create(ctx, built, have, whole)
	default:
		if now.at = have.GetResourceVersion(); a.isKnown(built, have, &now) {
			return false, nil
		}
		err = a.write(ctx, built, have, whole)
	}
	if err != nil {
		return false, err
	}
	is := version{at: have.GetResourceVersion(), before: now.at, wanted: now.wanted, have: digestOf(built, have)}
	a.know(identityOf(built, have), is)
	return is.have != now.have, nil
}

// write updates an existing object to the wanted state. The UID protects a new object that has
// taken the name since the read.
func (a *Applier) write(ctx context.Context, built *unstructured.Unstructured, have client.Object, whole bool) (err error) {
	next, verb, write := built.DeepCopy(), "applying", a.apply
	next.SetUID(have.GetUID())
	if whole {
		verb, write = "updating", a.replace
	}
	switch err = write(ctx, next, have); {
	case whole && apierrors.IsInvalid(err):
		return a.renew(ctx, built, have)
	case apierrors.IsNotFound(err): // the cache was behind
		return a.create(ctx, built, have, whole)
	case err != nil:
		return fmt.Errorf("%s %s %s: %w", verb, built.GetKind(), nameOf(built), err)
	}
	return nil
}

// Find reads an object, whether it carries our labels or not. One that is not ours is a
// *Foreign.
func (a *Applier) Find(ctx context.Context, ours Ours, key client.ObjectKey, have client.Object) (found bool, err error) {
	kind, err := a.Client.GroupVersionKindFor(have)
	if err != nil {
		return false, err
	}
	err = a.Client.Get(ctx, key, have)
	if apierrors.IsNotFound(err) {
		err = a.Live.Get(ctx, key, have)
	}
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %s %s: %w", kind.Kind, strings.TrimPrefix(key.String(), "/"), err)
	case !ours(have):
		return false, &Foreign{kind.Kind, key}
	}
	return true, nil
}

// Remove deletes an object, if it is ours: in the background, unless options say otherwise.
func (a *Applier) Remove(ctx context.Context, ours Ours, key client.ObjectKey, have client.Object, options ...client.DeleteOption) error {
	err := a.Client.Get(ctx, key, have)
	if err != nil || !ours(have) || !have.GetDeletionTimestamp().IsZero() {
		return client.IgnoreNotFound(err)
	}
	options = append([]client.DeleteOption{client.Preconditions{UID: new(have.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground)}, options...)
	return client.IgnoreNotFound(a.Client.Delete(ctx, have, options...))
}

func (a *Applier) create(ctx context.Context, built *unstructured.Unstructured, have client.Object, whole bool) error {
	next := built.DeepCopy()
	err := a.Client.Create(ctx, next, client.FieldOwner(a.Manager))
	if err == nil && !whole {
		// The API server itself writes some objects immediately, such as
		// CustomResourceDefinitions. The next write then takes the fields over.
		if err = a.own(ctx, next, a.Manager); apierrors.IsConflict(err) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("creating %s %s: %w", built.GetKind(), nameOf(built), err)
	}
	return convert(next, have)
}

// own assigns the fields that these managers set, by creating or updating an object, to later
// applies, which could not remove unwanted ones otherwise.
func (a *Applier) own(ctx context.Context, object client.Object, managers ...string) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(object, sets.New(managers...), a.Manager)
	if err != nil || patch == nil {
		return err
	}
	return a.Client.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(a.Manager))
}

func (a *Applier) apply(ctx context.Context, next *unstructured.Unstructured, have client.Object) error {
	managers := []string{a.Manager}
	if !a.hasApplied(have) {
		managers = append(managers, a.Former...)
	}
	if err := a.own(ctx, have, managers...); err != nil {
		return err
	}
	if err := a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(next), client.FieldOwner(a.Manager), client.ForceOwnership); err != nil {
		return err
	}
	return convert(next, have)
}

// hasApplied says whether an object has fields of ours.
func (a *Applier) hasApplied(object client.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == a.Manager && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// replace updates an object to the wanted state. The API server writes nothing if nothing
// differs. The update names no resourceVersion, so that no client can prevent it by writing
// faster.
func (a *Applier) replace(ctx context.Context, next *unstructured.Unstructured, have client.Object) error {
	if next.GetKind() == "PodDisruptionBudget" { // which is updated by version only
		next.SetResourceVersion(have.GetResourceVersion())
	}
	next.SetLabels(labels.Merge(have.GetLabels(), next.GetLabels()))
	next.SetAnnotations(labels.Merge(have.GetAnnotations(), next.GetAnnotations()))
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
	if err := a.Client.Update(ctx, next, client.FieldOwner(a.Manager)); err != nil {
		return err
	}
	return convert(next, have)
}

// renew deletes an object that cannot be updated to the wanted state, because a field is
// immutable, and creates it again.
func (a *Applier) renew(ctx context.Context, built *unstructured.Unstructured, have client.Object) error {
	if kept := finalizersOfKubernetes(have); len(kept) < len(have.GetFinalizers()) {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": have.GetUID(), "finalizers": kept}})
		if err != nil {
			return err
		}
		if err := a.Client.Patch(ctx, have, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(a.Manager)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("replacing %s %s: %w", built.GetKind(), nameOf(built), err)
		}
	}
	err := a.Client.Delete(ctx, have, client.Preconditions{UID: new(have.GetUID())})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("replacing %s %s: %w", built.GetKind(), nameOf(built), err)
	}
	err = a.create(ctx, built, have, true)
	if apierrors.IsAlreadyExists(err) {
		return &Terminating{built.GetKind(), client.ObjectKeyFromObject(built)}
	}
	return err
}

// isKnown says whether an object is as wanted: comparing is most of the work, and most
// often nothing has changed. It fills in the digest of what the object is.
func (a *Applier) isKnown(built *unstructured.Unstructured, have client.Object, now *version) bool {
	id := identityOf(built, have)
	a.mutex.Lock()
	known, found := a.wanted[id]
	a.mutex.Unlock()
	if found && known.wanted == now.wanted && (known.at == now.at || known.before == now.at) {
		return true
	}
	now.have = digestOf(built, have)
	if found && known.wanted == now.wanted && known.have == now.have {
		a.know(id, *now)
		return true
	}
	return false
}

func (a *Applier) know(id identity, now version) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.wanted == nil || len(a.wanted) >= maxKnown {
		a.wanted = map[identity]version{}
	}
	a.wanted[id] = now
}

// digestOf computes the digest of an object without its status, and without annotations that are
// not wanted here, because other clients write notes there.
func digestOf(built *unstructured.Unstructured, object client.Object) (out digest) {
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err) // objects that were read from JSON
	}
	whole = maps.Clone(whole)
	for _, key := range []string{"apiVersion", "kind", "status"} {
		delete(whole, key)
	}
	annotations := map[string]string{}
	for name := range built.GetAnnotations() {
		annotations[name] = object.GetAnnotations()[name]
	}
	whole["metadata"] = []any{object.GetLabels(), annotations, object.GetOwnerReferences(), object.GetFinalizers(), object.GetDeletionTimestamp()}
	if _, partial := object.(*metav1.PartialObjectMetadata); partial {
		// The parts that are not read may differ in every version.
		whole["version"] = object.GetResourceVersion()
	}
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err) // maps of what came as JSON
	}
	return sha256.Sum256(text)
}

// finalizersOfKubernetes are the finalizers that Kubernetes itself sets. Others would keep a
// deleted object from being created again.
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

func convert(from *unstructured.Unstructured, into client.Object) error {
	if into, same := into.(*unstructured.Unstructured); same {
		into.Object = from.Object
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into)
}
