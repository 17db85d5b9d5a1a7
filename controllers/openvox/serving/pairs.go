package serving

import (
	"context"
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// pairs reads the certificates that Pods mount.
type pairs struct {
	client   client.Client
	secrets  secrets
	outdated Outdated
}

// Outdated is why a stored certificate is issued again: "" if it is not.
type Outdated func(context.Context, *v1alpha1.CertificateAuthority, *v1alpha1.Certificate, *x509.Certificate) (string, error)

// awaitIssuance waits for a certificate that is about to be issued again, so that Pods are replaced
// once for a change of both the workload and its certificate. A certificate that cannot be issued
// delays nothing.
func (p pairs) awaitIssuance(ctx context.Context, ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate, stored *x509.Certificate) error {
	signed := meta.FindStatusCondition(certificate.Status.Conditions, v1alpha1.ConditionCertSigned)
	failed := signed != nil && signed.Status != metav1.ConditionTrue && signed.ObservedGeneration == certificate.Generation
	if failed || pausing.IsPaused(certificate) || !certificate.DeletionTimestamp.IsZero() {
		return nil
	}
	difference, err := p.outdated(ctx, ca, certificate, stored)
	if err != nil || difference == "" {
		return err
	}
	return waitsForCertificate("Certificate %s is issued again: %s; changes wait for it, so that Pods are replaced once", certificate.Name, difference)
}

// of returns the key and the parsed certificate of a Certificate, and the certificates of its CA.
// A missing Secret is an *obstacle.
func (p pairs) of(ctx context.Context, certificate *v1alpha1.Certificate, ca *v1alpha1.CertificateAuthority) (pair map[string][]byte, bundle []byte, leaf *x509.Certificate, err error) {
	authority, err := p.read(ctx, ca.Namespace, layout.CASecret(ca))
	if err != nil {
		return nil, nil, nil, err
	}
	if bundle = authority[layout.CAFile]; len(bundle) == 0 {
		return nil, nil, nil, waitsForCertificate("Secret %s has no key %s, the certificate of CertificateAuthority %s", layout.CASecret(ca), layout.CAFile, ca.Name)
	}
	name := layout.TLSSecret(certificate.Name)
	if pair, err = p.read(ctx, certificate.Namespace, name); err != nil {
		return nil, nil, nil, err
	}
	if leaf = layout.StoredPair(pair); leaf == nil || !layout.IssuedBy(leaf, bundle) {
		signed := meta.FindStatusCondition(certificate.Status.Conditions, v1alpha1.ConditionCertSigned)
		return nil, nil, nil, waitsForCertificate("Certificate %s has no pair yet in Secret %s: %s", certificate.Name, name, ptr.Deref(signed, metav1.Condition{Message: "it was not looked at yet"}).Message)
	}
	if oid := layout.Authorization(leaf); oid != "" && ca.Spec.External == nil && rules.ServerCertificate(ca) != certificate.Name {
		return nil, nil, nil, waitsForCertificate("the certificate of %s has the extension %s still, which gives rights at the CA; it is issued again without", certificate.Name, oid)
	}
	return pair, bundle, leaf, nil
}

func waitsForCertificate(message string, args ...any) error {
	return &obstacle{phase: v1alpha1.ServerWaitingForCert, reason: reasonWaitingForCertificate, message: fmt.Sprintf(message, args...)}
}

// read returns the data of a Secret: from the cache if Lintel manages the Secret, and from the
// API server otherwise.
func (p pairs) read(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	secret, err := p.secret(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

// secret returns a Secret, or an empty one if it does not exist.
func (p pairs) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := p.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		err = p.secrets.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return secret, nil
}
