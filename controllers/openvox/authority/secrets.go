package authority

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// secretsManager is the field manager for Secrets.
const secretsManager = "lintel-openvox-secrets"

// Secrets reads and writes Secrets directly at the API server: a stale read would create a
// second key.
type Secrets struct {
	// Client writes Secrets, and Live reads them without a cache.
	Client client.Client
	Live   client.Reader
}

// Read is a Secret: nil where there is none.
func (s Secrets) Read(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return layout.ReadSecret(ctx, s.Live, namespace, name)
}

// Keep writes the given keys of a Secret, removes those that are nil, and leaves its others
// as they are.
func (s Secrets) Keep(ctx context.Context, owner client.Object, name string, labels map[string]string, data map[string][]byte) error {
	return s.edit(ctx, owner, name, labels, func(have map[string][]byte) error {
		maps.Copy(have, data)
		maps.DeleteFunc(have, func(_ string, value []byte) bool { return value == nil })
		return nil
	})
}

// edit changes the data of a Secret, or creates the Secret. An existing Secret without an owner,
// or with another owner, is left unchanged, and edit returns an error. A write conflict is an
// error, too.
func (s Secrets) edit(ctx context.Context, owner client.Object, name string, labels map[string]string, change func(data map[string][]byte) error) error {
	have, err := s.Read(ctx, owner.GetNamespace(), name)
	if err != nil {
		return err
	}
	if have == nil {
		return s.create(ctx, owner, name, labels, change)
	}
	if !ours(owner)(have) {
		return &notOurs{name}
	}
	before := have.DeepCopy()
	if have.Data == nil {
		have.Data = map[string][]byte{}
	}
	if have.Labels == nil {
		have.Labels = map[string]string{}
	}
	if err := change(have.Data); err != nil {
		return err
	}
	maps.Copy(have.Labels, labels)
	if equality.Semantic.DeepEqual(before, have) {
		return nil
	}
	if have.Immutable != nil && *have.Immutable { // set by a user
		return s.renew(ctx, have)
	}
	if err := s.Client.Update(ctx, have, client.FieldOwner(secretsManager)); err != nil {
		return fmt.Errorf("updating Secret %s: %w", name, err)
	}
	return nil
}

func (s Secrets) create(ctx context.Context, owner client.Object, name string, labels map[string]string, change func(data map[string][]byte) error) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: name, Labels: labels}, Data: map[string][]byte{}}
	if err := change(secret.Data); err != nil {
		return err
	}
	err := controllerutil.SetControllerReference(owner, secret, s.Client.Scheme())
	if err == nil {
		err = s.Client.Create(ctx, secret, client.FieldOwner(secretsManager))
	}
	if err != nil {
		return fmt.Errorf("creating Secret %s: %w", name, err)
	}
	return nil
}

// renew puts a Secret in the place of the one of which it is the copy.
func (s Secrets) renew(ctx context.Context, secret *corev1.Secret) error {
	next := &corev1.Secret{Type: secret.Type, Data: secret.Data, ObjectMeta: metav1.ObjectMeta{
		Namespace: secret.Namespace, Name: secret.Name, Labels: secret.Labels, Annotations: secret.Annotations, OwnerReferences: secret.OwnerReferences,
	}}
	err := client.IgnoreNotFound(s.Client.Delete(ctx, secret, client.Preconditions{UID: new(secret.UID)}))
	if err == nil {
		err = s.Client.Create(ctx, next, client.FieldOwner(secretsManager))
	}
	if err != nil {
		return fmt.Errorf("putting another in the place of Secret %s, which is immutable: %w", secret.Name, err)
	}
	return nil
}

// ours selects the objects that owner controls. Some objects of an in-cluster CA may outlive it;
// they have no controller, and the next CA with the name adopts them.
func ours(owner client.Object) object.Ours {
	ca, ofCA := owner.(*v1alpha1.CertificateAuthority)
	return func(o client.Object) bool {
		if !ofCA || ca.Spec.External != nil || metav1.GetControllerOf(o) != nil {
			return metav1.IsControlledBy(o, owner)
		}
		labelled := o.GetLabels()[layout.ManagedByLabel] == layout.ManagedBy && o.GetLabels()[layout.CALabel] == ca.Name
		switch o := o.(type) {
		case *corev1.Secret, *corev1.PersistentVolumeClaim:
			return labelled
		case *v1alpha1.Certificate: // anybody may label one
			return o.Spec.AuthorityRef == ca.Name && (labelled || layout.IsOperators(o.Name))
		}
		return false
	}
}

// notOurs is the error for a Secret with the expected name and another owner.
type notOurs struct{ name string }

// Error says what to do.
func (e *notOurs) Error() string {
	return fmt.Sprintf("Secret %s is not controlled by this object and is left alone; delete it, or have this object under another name", e.name)
}

// Owned is the data of a Secret that an object controls: nil where there is none.
func (s Secrets) Owned(ctx context.Context, owner client.Object, name string) (map[string][]byte, error) {
	secret, err := s.Read(ctx, owner.GetNamespace(), name)
	switch {
	case err != nil || secret == nil:
		return nil, err
	case !ours(owner)(secret):
		return nil, &notOurs{name}
	case secret.Data == nil:
		return map[string][]byte{}, nil
	}
	return secret.Data, nil
}

// Remove deletes a Secret that an object controls.
func (s Secrets) Remove(ctx context.Context, owner client.Object, name string) error {
	secret := &corev1.Secret{}
	err := s.Live.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, secret)
	if err == nil && metav1.IsControlledBy(secret, owner) {
		err = s.Client.Delete(ctx, secret, client.Preconditions{UID: new(secret.UID)})
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Secret %s: %w", name, err)
	}
	return nil
}

// Value returns one key of a user's Secret.
func (s Secrets) Value(ctx context.Context, namespace, name, key string) ([]byte, error) {
	secret, err := s.Read(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	if secret == nil || len(secret.Data[key]) == 0 {
		return nil, layout.NoSecretValue(name, key, layout.Any)
	}
	return secret.Data[key], nil
}

// intermediate is the CA that the Secret of spec.intermediateCA has. lacks is what the Secret lacks
// for that: "" where it has all, and its owner has marked it for this CA.
func (s Secrets) intermediate(ctx context.Context, ca *v1alpha1.CertificateAuthority) (imported cadir.Authority, lacks string, err error) {
	name := ca.Spec.IntermediateCA.SecretName
	secret, err := s.Read(ctx, ca.Namespace, name)
	switch {
	case err != nil:
		return cadir.Authority{}, "", err
	// A user who names a Secret need not have permission to read it: the text does not tell whether
	// it exists.
	case secret == nil || secret.Annotations[rules.IntermediateAnnotation] != ca.Name:
		return cadir.Authority{}, fmt.Sprintf("the Secret %s is not marked for this CertificateAuthority; its owner must set the annotation %s to %q", name, rules.IntermediateAnnotation, ca.Name), nil
	}
	for _, key := range intermediateKeys {
		if len(secret.Data[key]) == 0 {
			return cadir.Authority{}, fmt.Sprintf("the Secret %s has no key %q", name, key), nil
		}
	}
	return cadir.ReadAuthority(func(key string) []byte { return secret.Data[key] }), "", nil
}
