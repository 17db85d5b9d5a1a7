package issuing

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

var certificatePausing = pausing.Kind[*v1alpha1.Certificate, v1alpha1.CertificateStatus]{
	Status:     func(c *v1alpha1.Certificate) *v1alpha1.CertificateStatus { return &c.Status },
	Conditions: func(s *v1alpha1.CertificateStatus) *[]metav1.Condition { return &s.Conditions },
}

// hasRights reports whether a Certificate that is not that of its CA's server has a stored
// certificate with an extension that gives rights.
func hasRights(ctx context.Context, reader client.Reader, s authority.Secrets, certificate *v1alpha1.Certificate) (bool, error) {
	secret, err := s.Read(ctx, certificate.Namespace, layout.TLSSecret(certificate.Name))
	if err != nil || secret == nil {
		return false, err
	}
	leaf := layout.StoredPair(secret.Data)
	if leaf == nil || layout.Authorization(leaf) == "" {
		return false, nil
	}
	ca := &v1alpha1.CertificateAuthority{}
	if err := reader.Get(ctx, authorityOf(certificate), ca); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return ca.Spec.External == nil && rules.ServerCertificate(ca) != certificate.Name, nil
}
