package authority

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
)

// Of a CertificateAuthority that is paused, the objects that it is set up from stay as they are.
// Its CRL, its revocations and the rendering of its SigningPolicies go on, because they keep
// clients out.
var authorityPausing = pausing.Kind[*v1alpha1.CertificateAuthority, v1alpha1.CertificateAuthorityStatus]{
	Status:     func(ca *v1alpha1.CertificateAuthority) *v1alpha1.CertificateAuthorityStatus { return &ca.Status },
	Conditions: func(s *v1alpha1.CertificateAuthorityStatus) *[]metav1.Condition { return &s.Conditions },
}
