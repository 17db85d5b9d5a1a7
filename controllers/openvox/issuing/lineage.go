package issuing

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lineage tells whether a CertificateRequest renews a certificate. Whoever may make
// requests can write any owner into one, so that the owner alone proves nothing: it needs
// two keys. cert-manager must hold the request's key as the next one of its Certificate,
// and that Certificate must have got the certificate that is to be replaced.
type lineage struct {
	live    client.Reader
	request *cmapi.CertificateRequest
}

// succeeds reports whether the request is the successor of the certificate that its Certificate
// has. All input is read from the API server, because a revocation cannot be undone.
func (l lineage) succeeds(ctx context.Context, has *x509.Certificate) (bool, error) {
	certificate, err := l.certificate(ctx)
	if err != nil || certificate == nil {
		return false, err
	}
	request, err := l.nextOf(ctx, certificate)
	if err != nil || request == nil {
		return false, err
	}
	if layout.SamePublic(has.PublicKey, request.PublicKey) && !hasNames(has, request) {
		return true, nil // it was for the same key, before the Certificate changed
	}
	stored, err := l.isStored(ctx, certificate, has)
	if err != nil || stored {
		return stored, err
	}
	return l.wasIssued(ctx, certificate, has)
}

// certificate is the Certificate that controls the request and names the same CA; nil
// where there is none.
func (l lineage) certificate(ctx context.Context) (*cmapi.Certificate, error) {
	owner := metav1.GetControllerOf(l.request)
	if owner == nil || owner.Kind != cmapi.CertificateKind || owner.APIVersion != cmapi.SchemeGroupVersion.String() {
		return nil, nil
	}
	certificate := &cmapi.Certificate{}
	err := l.live.Get(ctx, client.ObjectKey{Namespace: l.request.Namespace, Name: owner.Name}, certificate)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s Certificate %s: %w", certmanager.GroupName, owner.Name, err)
	}
	if certificate.UID != owner.UID || !certificate.DeletionTimestamp.IsZero() || certificate.Spec.IssuerRef != l.request.Spec.IssuerRef {
		return nil, nil
	}
	return certificate, nil
}

// nextOf is the request, where cert-manager holds its key as the next one of a
// Certificate; else nil.
func (l lineage) nextOf(ctx context.Context, certificate *cmapi.Certificate) (*x509.CertificateRequest, error) {
	if certificate.Status.NextPrivateKeySecretName == nil {
		return nil, nil
	}
	secret, err := l.secret(ctx, *certificate.Status.NextPrivateKeySecretName)
	if err != nil || secret == nil {
		return nil, err
	}
	key, err := parseKey(secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, nil // an invalid key proves nothing
	}
	block, _ := pem.Decode(l.request.Spec.Request)
	if block == nil {
		return nil, nil
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || request.CheckSignature() != nil || !layout.SamePublic(request.PublicKey, key.Public()) {
		return nil, nil // the rules report the error
	}
	return request, nil
}

// isStored says whether a Certificate's Secret holds a certificate with its private key.
// The certificate alone would prove nothing: CAs give it to anybody.
func (l lineage) isStored(ctx context.Context, certificate *cmapi.Certificate, has *x509.Certificate) (bool, error) {
	secret, err := l.secret(ctx, certificate.Spec.SecretName)
	if err != nil || secret == nil {
		return false, err
	}
	leaf := layout.FirstCertificate(secret.Data[corev1.TLSCertKey])
	key, err := parseKey(secret.Data[corev1.TLSPrivateKeyKey])
	return err == nil && leaf != nil && leaf.Equal(has) && layout.SamePublic(has.PublicKey, key.Public()), nil
}

// wasIssued says whether a certificate was returned to an earlier request of the same
// Certificate, for Secrets get lost.
func (l lineage) wasIssued(ctx context.Context, certificate *cmapi.Certificate, has *x509.Certificate) (bool, error) {
	var list cmapi.CertificateRequestList
	if err := l.live.List(ctx, &list, client.InNamespace(l.request.Namespace)); err != nil {
		return false, fmt.Errorf("listing the CertificateRequests of Certificate %s: %w", certificate.Name, err)
	}
	for i := range list.Items {
		earlier := &list.Items[i]
		if earlier.UID == l.request.UID || !metav1.IsControlledBy(earlier, certificate) || earlier.Spec.IssuerRef != l.request.Spec.IssuerRef ||
			earlier.Annotations[cmapi.CertificateNameKey] != certificate.Name { // an annotation that cert-manager protects against changes
			continue
		}
		if leaf := layout.FirstCertificate(earlier.Status.Certificate); leaf != nil && leaf.Equal(has) {
			return true, nil
		}
	}
	return false, nil
}

func (l lineage) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	return authority.Secrets{Live: l.live}.Read(ctx, l.request.Namespace, name)
}
