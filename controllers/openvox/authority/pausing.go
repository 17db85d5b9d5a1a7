package authority

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
)

// A paused CertificateAuthority keeps its setup objects unchanged. Its CRL, its revocations and its
// SigningPolicies are still updated, because they keep clients out.
var authorityPausing = pausing.Kind[*v1alpha1.CertificateAuthority, v1alpha1.CertificateAuthorityStatus]{
	Status:     func(ca *v1alpha1.CertificateAuthority) *v1alpha1.CertificateAuthorityStatus { return &ca.Status },
	Conditions: func(s *v1alpha1.CertificateAuthorityStatus) *[]metav1.Condition { return &s.Conditions },
}
