package openzro

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// The annotations of Secrets with created setup keys. Any user who may write Secrets may write
// them: the status determines which keys an object owns.
const (
	// keyIDAnnotation is the ID of the key at the server, and keyForAnnotation the UID of the
	// OZSetupKey for which it was created.
	keyIDAnnotation  = "openzro.io/setup-key-id"
	keyForAnnotation = "openzro.io/setup-key-for"
	// keyReplacedAnnotation is the ID of the replaced key, which is still to be deleted.
	keyReplacedAnnotation = "openzro.io/setup-key-replaced"
)

// keySecret is the known state of a Secret with a setup key, without the key.
type keySecret struct {
	exists bool
	uid    types.UID
	// has reports that there is a value, good that it has the form of a key, and prefix is its
	// first characters.
	has, good bool
	prefix    string
	// noted reports that the annotations are the object's: id is that of a key that was created
	// for it, and replaced that of the previous one.
	noted        bool
	id, replaced string
	// owned reports that the Secret is deleted with the object, and immutable that it cannot be
	// written.
	owned, immutable bool
}

// keySecretStore reads and writes Secrets with setup keys.
type keySecretStore struct {
	client client.Client
	reader client.Reader // which has no cache
	known  *lru.Cache    // keySecret by keySecretVersion
}

// maxKeySecrets is how many Secrets are remembered.
const maxKeySecrets = 10000

type keySecretVersion struct {
	of, uid      types.UID
	version, key string
}

// read returns the state of an object's Secret. It reads from the API server only if the Secret
// has changed.
func (k *keySecretStore) read(ctx context.Context, of *v1.OZSetupKey) (keySecret, error) {
	ref := of.SecretKey()
	name := client.ObjectKey{Namespace: of.Namespace, Name: ref.Name}
	seen := object.MetadataOf(object.SecretKind)
	err := k.client.Get(ctx, name, seen)
	if err == nil {
		if known, has := k.known.Get(keySecretVersion{of.UID, seen.UID, seen.ResourceVersion, ref.Key}); has {
			return known.(keySecret), nil
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return keySecret{}, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return k.live(ctx, of)
}

// live reads without the cache, which may lag behind a recent write.
func (k *keySecretStore) live(ctx context.Context, of *v1.OZSetupKey) (keySecret, error) {
	ref := of.SecretKey()
	name := client.ObjectKey{Namespace: of.Namespace, Name: ref.Name}
	var whole corev1.Secret
	err := k.reader.Get(ctx, name, &whole)
	if apierrors.IsNotFound(err) {
		return keySecret{}, nil
	}
	if err != nil {
		return keySecret{}, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	now := keySecretOf(&whole, ref.Key, of)
	k.known.Add(keySecretVersion{of.UID, whole.UID, whole.ResourceVersion, ref.Key}, now)
	return now, nil
}

func keySecretOf(s *corev1.Secret, key string, of *v1.OZSetupKey) keySecret {
	value := strings.TrimSpace(string(s.Data[key]))
	out := keySecret{
		exists: true, uid: s.UID, has: value != "", good: isKey(value), owned: metav1.IsControlledBy(s, of),
		immutable: s.Immutable != nil && *s.Immutable,
	}
	if out.good {
		out.prefix = strings.ToUpper(value[:management.KeyPrefix])
	}
	if out.noted = s.Annotations[keyForAnnotation] == string(of.UID); out.noted {
		out.id, out.replaced = s.Annotations[keyIDAnnotation], s.Annotations[keyReplacedAnnotation]
	}
	return out
}

// isKey reports whether a text has the form of a setup key.
func isKey(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }

// claim records in the Secret of an object, which it creates if missing, that a key is about to
// be created: without permission to write the Secret, no key is created.
func (k *keySecretStore) claim(ctx context.Context, of *v1.OZSetupKey, now keySecret) (types.UID, error) {
	if now.exists {
		return now.uid, k.patch(ctx, of, now.uid, map[string]any{keyForAnnotation: string(of.UID)}, nil)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: of.Namespace, Name: of.SecretKey().Name, Labels: map[string]string{managedByLabel: managedBy},
		Annotations:     map[string]string{keyForAnnotation: string(of.UID)},
		OwnerReferences: []metav1.OwnerReference{controllerReference(of, "OZSetupKey")},
	}}
	if err := k.client.Create(ctx, secret, client.FieldOwner(fieldManager("OZSetupKey"))); err != nil {
		return "", fmt.Errorf("creating Secret %s/%s: %w", of.Namespace, secret.Name, err)
	}
	return secret.UID, nil
}

// store writes a created key into the Secret of an object.
func (k *keySecretStore) store(ctx context.Context, of *v1.OZSetupKey, uid types.UID, made management.SetupKey, replaced string) error {
	notes := map[string]any{keyIDAnnotation: made.ID, keyForAnnotation: string(of.UID), keyReplacedAnnotation: nil}
	if replaced != "" {
		notes[keyReplacedAnnotation] = replaced
	}
	return k.patch(ctx, of, uid, notes, map[string]any{of.SecretKey().Key: base64.StdEncoding.EncodeToString([]byte(made.Key))})
}

// clear removes the object's annotations and its deleted key from a Secret that stays. The
// annotations for another object's key stay.
func (k *keySecretStore) clear(ctx context.Context, of *v1.OZSetupKey, secret keySecret, key bool) error {
	var notes, data map[string]any
	if secret.noted {
		notes = map[string]any{keyIDAnnotation: nil, keyForAnnotation: nil, keyReplacedAnnotation: nil}
	}
	if key {
		data = map[string]any{of.SecretKey().Key: nil}
	}
	return client.IgnoreNotFound(k.patch(ctx, of, secret.uid, notes, data))
}

// patch writes to the Secret with a UID, and to no other of its name.
func (k *keySecretStore) patch(ctx context.Context, of *v1.OZSetupKey, uid types.UID, notes, data map[string]any) error {
	meta := map[string]any{"uid": uid}
	if notes != nil {
		meta["annotations"] = notes
	}
	change := map[string]any{"metadata": meta}
	if data != nil {
		change["data"] = data
	}
	text, err := json.Marshal(change)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.SecretKey().Name}}
	if err := k.client.Patch(ctx, secret, client.RawPatch(types.MergePatchType, text), client.FieldOwner(fieldManager("OZSetupKey"))); err != nil {
		return fmt.Errorf("writing Secret %s/%s: %w", of.Namespace, secret.Name, err)
	}
	return nil
}

// controllerReference returns an owner reference that deletes an object with its owner.
func controllerReference(of v1.Object, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1.SchemeGroupVersion.String(), Kind: kind, Name: of.GetName(), UID: of.GetUID(), Controller: new(true),
	}
}
