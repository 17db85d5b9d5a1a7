package zopp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
)

// writer applies the desired contents to Secrets. Each write names the resourceVersion it was
// built from, so that it never overwrites a later change by a user or by a newer leader.
type writer struct {
	client  client.Client
	manager string // the field manager
	metrics *metrics
	now     func() time.Time

	mutex      sync.Mutex
	lastWrites map[types.NamespacedName]lastWrite
}

func newWriter(c client.Client, manager string, metrics *metrics) *writer {
	return &writer{client: c, manager: manager, metrics: metrics, now: time.Now, lastWrites: map[types.NamespacedName]lastWrite{}}
}

// last returns the last known write to a Secret.
func (w *writer) last(secret *corev1.Secret) (last lastWrite, known bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last, known = w.lastWrites[client.ObjectKeyFromObject(secret)]
	return last, known && last.uid == secret.UID
}

// know records the current contents of a Secret.
func (w *writer) know(secret *corev1.Secret, diff *secretDiff) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.lastWrites[client.ObjectKeyFromObject(secret)] = lastWrite{secret.UID, diff.digest, diff.record.Cleanup, diff.record.Changed}
}

// forget drops the record of a Secret.
func (w *writer) forget(name types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.lastWrites, name)
}

// diff compares the desired Secret with the actual one and its last write. isNew is false where
// nothing needs to be written.
func (w *writer) diff(secret *corev1.Secret, actual actualSecret, desired desiredSecret, more extras, noticed time.Time) (diff *secretDiff, isNew bool) {
	if last, known := w.last(secret); known {
		return diffOf(secret, actual, desired, more, noticed, &last, w.now())
	}
	return diffOf(secret, actual, desired, more, noticed, nil, w.now())
}

// apply writes a Secret that is there.
func (w *writer) apply(ctx context.Context, secret *corev1.Secret, diff *secretDiff) error {
	want := corev1ac.Secret(secret.Name, secret.Namespace).WithUID(secret.UID).WithResourceVersion(secret.ResourceVersion).
		WithAnnotations(diff.allAnnotations()).WithLabels(diff.extras.labels).WithData(diff.data)
	for _, owner := range diff.extras.owners {
		want.WithOwnerReferences(ownerConfiguration(owner))
	}
	if err := w.client.Apply(ctx, want, client.FieldOwner(w.manager), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying Secret %s/%s: %w", secret.Namespace, secret.Name, gone(err))
	}
	w.count(secret, diff)
	return nil
}

// create creates a Secret. If it already exists, the error is temporary.
func (w *writer) create(ctx context.Context, name client.ObjectKey, kind corev1.SecretType, diff *secretDiff) (*corev1.Secret, error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name,
			Labels: diff.extras.labels, Annotations: diff.allAnnotations(), OwnerReferences: diff.extras.owners,
		},
		Type: kind, Data: diff.data,
	}
	if err := w.client.Create(ctx, secret, client.FieldOwner(w.manager)); err != nil {
		return nil, fmt.Errorf("creating Secret %s: %w", name, err)
	}
	w.count(secret, diff)
	return secret, w.takeOver(ctx, secret)
}

// count notes a write.
func (w *writer) count(secret *corev1.Secret, diff *secretDiff) {
	w.know(secret, diff)
	w.metrics.writes.Inc()
	if !diff.noticed.IsZero() {
		w.metrics.lag.Observe(w.now().Sub(diff.noticed).Seconds())
	}
	if was := secret.Annotations[v1alpha1.StatusAnnotation]; was != string(diff.outcome.status) {
		w.metrics.outcomes.WithLabelValues(string(diff.outcome.status)).Inc()
	}
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
