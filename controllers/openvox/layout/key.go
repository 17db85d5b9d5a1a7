package layout

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// KeyIn reports whose key a Secret holds, as the predicate of a sentence: "" for none that is
// known. A user who names a Secret in a manifest need not be permitted to read it, so its
// values are neither sent nor rendered.
func KeyIn(ctx context.Context, reader client.Reader, secret *corev1.Secret) (string, error) {
	if what := keyBySelf(secret); what != "" {
		return what, nil
	}
	if secret.Type == corev1.SecretTypeTLS {
		return "has the key of a certificate", nil
	}
	return administers(ctx, reader, secret)
}

// ReservedKeyIn is KeyIn without the keys of certificates of others.
func ReservedKeyIn(ctx context.Context, reader client.Reader, secret *corev1.Secret) (string, error) {
	if what := keyBySelf(secret); what != "" {
		return what, nil
	}
	return administers(ctx, reader, secret)
}

// keyBySelf is what a Secret says of itself.
func keyBySelf(secret *corev1.Secret) string {
	switch {
	case secret.Labels[ManagedByLabel] == ManagedBy:
		return "is OpenVox's own"
	case secret.Annotations[rules.IntermediateAnnotation] != "":
		return "is marked for a CA"
	case secret.Type == corev1.SecretTypeServiceAccountToken:
		return "has the token of a ServiceAccount"
	}
	return ""
}

// administers names the CertificateAuthority that is administered by a Secret.
func administers(ctx context.Context, reader client.Reader, secret *corev1.Secret) (string, error) {
	var list v1alpha1.CertificateAuthorityList
	if err := reader.List(ctx, &list, client.InNamespace(secret.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing the CertificateAuthorities of %s: %w", secret.Namespace, err)
	}
	for i := range list.Items {
		if external := list.Items[i].Spec.External; external != nil && external.TLSSecretRef == secret.Name {
			return "is by what CertificateAuthority " + list.Items[i].Name + " is administered", nil
		}
	}
	return "", nil
}

// What a value of a Secret must be, for NoSecretValue.
const (
	// OfItsOwn: the Secret is created for the purpose.
	OfItsOwn = "create one for this purpose: Lintel never uses Secrets of OpenVox, of a CA or of type kubernetes.io/tls, or tokens of ServiceAccounts, here"
	// CertificatesOnly: the value is not secret.
	CertificatesOnly = "its value must be certificates in PEM, and nothing else"
	// Any value can be used.
	Any = "create it"
)

// NoSecretValue is the only error about a value of a Secret that a user names. A user who may read
// the status of the object need not have permission to read Secrets: the text is the same for a
// missing Secret, for a Secret that is not permitted, and for one without the key or with another
// value.
func NoSecretValue(name, key, needs string) error {
	return fmt.Errorf("there is no Secret %s with a value of key %q that can be used here; %s", name, key, needs)
}

// PolicyValue returns a value that a SigningPolicy compares with. problem describes an invalid
// Secret, or that there is none (nil); err means that the API server has not answered.
func PolicyValue(ctx context.Context, reader client.Reader, name string, secret *corev1.Secret, key string) (value string, problem, err error) {
	if secret == nil {
		return "", NoSecretValue(name, key, OfItsOwn), nil
	}
	what, err := KeyIn(ctx, reader, secret)
	if err != nil {
		return "", nil, err
	}
	text := secret.Data[key]
	if what != "" || len(text) == 0 {
		return "", NoSecretValue(name, key, OfItsOwn), nil
	}
	return string(text), nil, nil
}

// Claim is the known state of a PersistentVolumeClaim.
type Claim int

const (
	// MissingClaim does not exist, and may be created for a CA.
	MissingClaim Claim = iota
	// OtherClaim is any that is not the volume of a CA.
	OtherClaim
	// CAVolume is the volume of a CA, also of one that is deleted: its keys are on the volume.
	CAVolume
)

// FindClaim finds a PersistentVolumeClaim by its name. claims must read all of them, not only
// Lintel's own.
func FindClaim(ctx context.Context, authorities, claims client.Reader, namespace, name string) (Claim, error) {
	var list v1alpha1.CertificateAuthorityList
	if err := authorities.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return MissingClaim, fmt.Errorf("listing the CertificateAuthorities of %s: %w", namespace, err)
	}
	if slices.ContainsFunc(list.Items, func(ca v1alpha1.CertificateAuthority) bool { return CAClaim(ca.Name) == name }) {
		return CAVolume, nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	switch err := claims.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim); {
	case apierrors.IsNotFound(err):
		return MissingClaim, nil
	case err != nil:
		return MissingClaim, fmt.Errorf("reading PersistentVolumeClaim %s: %w", name, err)
	case claim.Labels[CALabel] != "":
		return CAVolume, nil
	}
	return OtherClaim, nil
}
