package issuing

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// Of a CertificateAuthority that is paused, the objects that it is set up from stay as they are.
// Its CRL, its revocations and the rendering of its SigningPolicies go on, because they keep
// clients out.
var (
	authorityPausing = pausing.Kind[*v1alpha1.CertificateAuthority, v1alpha1.CertificateAuthorityStatus]{
		Status:     func(ca *v1alpha1.CertificateAuthority) *v1alpha1.CertificateAuthorityStatus { return &ca.Status },
		Conditions: func(s *v1alpha1.CertificateAuthorityStatus) *[]metav1.Condition { return &s.Conditions },
	}
	certificatePausing = pausing.Kind[*v1alpha1.Certificate, v1alpha1.CertificateStatus]{
		Status:     func(c *v1alpha1.Certificate) *v1alpha1.CertificateStatus { return &c.Status },
		Conditions: func(s *v1alpha1.CertificateStatus) *[]metav1.Condition { return &s.Conditions },
	}
)

// unlessPaused carries a Certificate out. Those by which the operator signs are never paused, nor
// is one that must be revoked, because it gives rights at a CA that its spec does not.
func (r *CertificateReconciler) unlessPaused(ctx context.Context, certificate *v1alpha1.Certificate) (certificateReport, error) {
	if pausing.IsPaused(certificate) && !layout.IsOperators(certificate.Name) {
		rights, err := r.hasRights(ctx, certificate)
		if err != nil {
			return certificateReport{}, err
		}
		if !rights {
			return certificatePausing.Paused(certificate), nil
		}
	}
	report, err := r.carryOut(ctx, certificate)
	return certificatePausing.Resumed(certificate, report), err
}

// hasRights reports whether a Certificate that is not that of its CA's server has a stored
// certificate with an extension that gives rights.
func (r *CertificateReconciler) hasRights(ctx context.Context, certificate *v1alpha1.Certificate) (bool, error) {
	secret, err := r.secrets.read(ctx, certificate.Namespace, layout.TLSSecret(certificate.Name))
	if err != nil || secret == nil {
		return false, err
	}
	leaf := layout.StoredPair(secret.Data)
	if leaf == nil || layout.Authorization(leaf) == "" {
		return false, nil
	}
	ca := &v1alpha1.CertificateAuthority{}
	if err := r.client.Get(ctx, authorityOf(certificate), ca); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return ca.Spec.External == nil && rules.ServerCertificate(ca) != certificate.Name, nil
}
