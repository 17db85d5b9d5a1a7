package zopp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
)

// writer applies the built contents to Secrets. Each write names the resourceVersion it was
// built from, so that it never overwrites a later change by a user or by a newer leader.
type writer struct {
	client  client.Client
	manager string // the field manager
	metrics *metrics
	now     func() time.Time

	mutex   sync.Mutex
	written map[types.NamespacedName]written
}

// written is the last write to a Secret. It stays in memory.
type written struct {
	uid types.UID
	// values is a digest of the values from zopp. It distinguishes a change in zopp from a
	// manual edit of the Secret.
	values digest
	// cleanup reports whether the values are removed from the Secret when its sync ends.
	cleanup bool
	// changed is the record's.
	changed int64
}

type digest = [sha256.Size]byte

func newWriter(c client.Client, manager string, metrics *metrics) *writer {
	return &writer{client: c, manager: manager, metrics: metrics, now: time.Now, written: map[types.NamespacedName]written{}}
}

// last returns the last known write to a Secret.
func (w *writer) last(secret *corev1.Secret) (last written, known bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last, known = w.written[client.ObjectKeyFromObject(secret)]
	return last, known && last.uid == secret.UID
}

// know records the current contents of a Secret.
func (w *writer) know(secret *corev1.Secret, p *plan) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.written[client.ObjectKeyFromObject(secret)] = written{secret.UID, p.digest, p.record.Cleanup, p.record.Changed}
}

// forget drops the record of a Secret.
func (w *writer) forget(name types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.written, name)
}

// extras is the metadata of a Secret in addition to its values and its outcome, if it was
// created for an object.
type extras struct {
	labels, annotations map[string]string
	owners              []metav1.OwnerReference
}

// plan is a write of a Secret.
type plan struct {
	built
	annotations map[string]string
	extras      extras
	// changes reports that the values from zopp differ. It is not set where a manual edit is
	// reverted.
	changes bool
	// noticed is when the event of that change came: zero where none did.
	noticed time.Time
	digest  digest
}

// plan compares the desired and the actual Secret. isNew is false where nothing needs to be
// written.
func (w *writer) plan(secret *corev1.Secret, have held, b built, more extras, noticed time.Time) (p *plan, isNew bool) {
	p = &plan{built: b, extras: more, digest: digestOfData(b.data)}
	last, known := w.last(secret)
	if b.kept && known {
		p.digest = last.values // zopp has said nothing new
	}
	if known && p.digest == last.values {
		// A user who may edit the Secret may have written a different time.
		p.record.Changed, have.record.Changed = last.changed, last.changed
	}
	differs := !holds(secret, have, b.data)
	switch {
	case differs && !(known && last.values == digestOfData(b.data)):
		p.changes = true
		p.record.Changed = w.now().UnixNano()
		if known {
			p.noticed = noticed
		}
	case !differs && p.record.sameButVersions(have.record) && secret.Annotations[v1alpha1.StatusAnnotation] == string(b.outcome.status):
		p.record = have.record // versions alone are no news
	}
	p.annotations = outcomeAnnotations(p.built, secret.Annotations)
	return p, differs || !sameData(b.data, have.ours) || !has(secret, p.annotations, more)
}

// holds reports whether a Secret has these values, and no other values of ours.
func holds(secret *corev1.Secret, have held, data map[string][]byte) bool {
	for key, value := range data {
		if is, found := secret.Data[key]; !found || !bytes.Equal(is, value) {
			return false
		}
	}
	for key := range have.ours {
		if _, wanted := data[key]; !wanted {
			return false
		}
	}
	return true
}

// has reports whether a Secret has all desired metadata, and no other metadata of ours.
func has(secret *corev1.Secret, annotations map[string]string, more extras) bool {
	for _, name := range ourAnnotations {
		if _, wanted := annotations[name]; !wanted && secret.Annotations[name] != "" {
			return false
		}
	}
	within := func(wanted, is map[string]string) bool {
		for name, value := range wanted {
			if have, found := is[name]; !found || have != value {
				return false
			}
		}
		return true
	}
	for i := range more.owners {
		if !slices.ContainsFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == more.owners[i].UID }) {
			return false
		}
	}
	return within(annotations, secret.Annotations) && within(more.annotations, secret.Annotations) && within(more.labels, secret.Labels)
}

// apply writes a Secret that is there.
func (w *writer) apply(ctx context.Context, secret *corev1.Secret, p *plan) error {
	want := corev1ac.Secret(secret.Name, secret.Namespace).WithUID(secret.UID).WithResourceVersion(secret.ResourceVersion).
		WithAnnotations(p.allAnnotations()).WithLabels(p.extras.labels).WithData(p.data)
	for _, owner := range p.extras.owners {
		want.WithOwnerReferences(ownerConfiguration(owner))
	}
	if err := w.client.Apply(ctx, want, client.FieldOwner(w.manager), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying Secret %s/%s: %w", secret.Namespace, secret.Name, gone(err))
	}
	w.count(secret, p)
	return nil
}

// create creates a Secret. If it already exists, the error is temporary.
func (w *writer) create(ctx context.Context, name client.ObjectKey, kind corev1.SecretType, p *plan) (*corev1.Secret, error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name,
			Labels: p.extras.labels, Annotations: p.allAnnotations(), OwnerReferences: p.extras.owners,
		},
		Type: kind, Data: p.data,
	}
	if err := w.client.Create(ctx, secret, client.FieldOwner(w.manager)); err != nil {
		return nil, fmt.Errorf("creating Secret %s: %w", name, err)
	}
	w.count(secret, p)
	return secret, w.takeOver(ctx, secret)
}

// allAnnotations returns the annotations of a write, including the outcome, which extras cannot
// override.
func (p *plan) allAnnotations() map[string]string {
	annotations := maps.Clone(p.extras.annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, p.annotations)
	return annotations
}

// count notes a write.
func (w *writer) count(secret *corev1.Secret, p *plan) {
	w.know(secret, p)
	w.metrics.writes.Inc()
	if !p.noticed.IsZero() {
		w.metrics.lag.Observe(w.now().Sub(p.noticed).Seconds())
	}
	if was := secret.Annotations[v1alpha1.StatusAnnotation]; was != string(p.outcome.status) {
		w.metrics.outcomes.WithLabelValues(string(p.outcome.status)).Inc()
	}
}

// gone returns a temporary error: the object was deleted or replaced since it was read.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return apierrors.NewConflict(corev1.Resource("secrets"), "", err)
	}
	return err
}

func ownerConfiguration(owner metav1.OwnerReference) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().WithAPIVersion(owner.APIVersion).WithKind(owner.Kind).WithName(owner.Name).WithUID(owner.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}

// takeOver transfers the fields of the original operator to our field manager, as if we had
// applied them.
func (w *writer) takeOver(ctx context.Context, secret *corev1.Secret) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(secret, sets.New(legacyManager, w.manager), w.manager)
	if err != nil || patch == nil {
		return err
	}
	err = w.client.Patch(ctx, secret, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(w.manager))
	if err != nil {
		return fmt.Errorf("taking over Secret %s/%s: %w", secret.Namespace, secret.Name, gone(err))
	}
	return nil
}

// empty takes our keys and annotations out of a Secret.
func (w *writer) empty(ctx context.Context, secret *corev1.Secret) error {
	want := corev1ac.Secret(secret.Name, secret.Namespace).WithUID(secret.UID).WithResourceVersion(secret.ResourceVersion)
	if err := w.client.Apply(ctx, want, client.FieldOwner(w.manager), client.ForceOwnership); err != nil {
		return fmt.Errorf("taking zopp's keys out of Secret %s/%s: %w", secret.Namespace, secret.Name, gone(err))
	}
	w.metrics.writes.Inc()
	w.forget(client.ObjectKeyFromObject(secret))
	return nil
}

// release leaves our keys in a Secret and gives up their ownership.
func (w *writer) release(ctx context.Context, secret *corev1.Secret) error {
	next := secret.DeepCopy()
	for _, name := range ourAnnotations {
		delete(next.Annotations, name)
	}
	next.ManagedFields = slices.DeleteFunc(next.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == w.manager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
	if len(next.ManagedFields) == 0 { // an empty list leaves the field unchanged
		next.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	}
	patch, err := json.Marshal([]any{
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": secret.ResourceVersion},
		map[string]any{"op": "add", "path": "/metadata/annotations", "value": next.Annotations},
		map[string]any{"op": "replace", "path": "/metadata/managedFields", "value": next.ManagedFields},
	})
	if err != nil {
		return err
	}
	if err := w.client.Patch(ctx, next, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(w.manager)); err != nil {
		return fmt.Errorf("releasing Secret %s/%s: %w", secret.Namespace, secret.Name, gone(err))
	}
	w.metrics.writes.Inc()
	w.forget(client.ObjectKeyFromObject(secret))
	return nil
}

// digestOfData returns a digest of the values.
func digestOfData(data map[string][]byte) (sum digest) {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := sha256.Sum256(data[key])
		fmt.Fprintf(hash, "%d %s", len(key), key)
		hash.Write(value[:])
	}
	hash.Sum(sum[:0])
	return sum
}
