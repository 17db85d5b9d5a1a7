package issuing

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// reasonIncomplete is of CRLs without a certificate that was revoked from here.
const reasonIncomplete = "Incomplete"

// revocations is called for each certificate that a CA has revoked from here.
type revocations func(ctx context.Context, ca types.NamespacedName, certificate *x509.Certificate)

// of is for one CA.
func (r revocations) of(ca types.NamespacedName) func(context.Context, *x509.Certificate) {
	if r == nil {
		return nil
	}
	return func(ctx context.Context, certificate *x509.Certificate) { r(ctx, ca, certificate) }
}

// revoked has a CA's CRL read at once and whole, and remembers what it must have.
func (r *AuthorityReconciler) revoked(ctx context.Context, ca types.NamespacedName, certificate *x509.Certificate) {
	r.mutex.Lock()
	r.revocations[ca] = &v1alpha1.RevokedCertificate{SerialNumber: serial(certificate), NotAfter: metav1.NewTime(certificate.NotAfter)}
	r.mutex.Unlock()
	r.refreshes.Wake(ctx, ca)
}

// mustHave is the certificate that lists of a CA have to name as revoked: nil where none is
// known that has not ended.
func mustHave(ca *v1alpha1.CertificateAuthority, latest *v1alpha1.RevokedCertificate, now time.Time) *v1alpha1.RevokedCertificate {
	if latest == nil && ca.Status.CRL != nil {
		latest = ca.Status.CRL.LastRevoked
	}
	if latest == nil || now.After(latest.NotAfter.Time) {
		return nil
	}
	return latest
}

// revokes says whether lists have a certificate: true where none is asked for.
func revokes(lists puppet.CRLs, certificate *v1alpha1.RevokedCertificate) bool {
	isEntry := func(e x509.RevocationListEntry) bool {
		return fmt.Sprintf("%x", e.SerialNumber) == certificate.SerialNumber
	}
	return certificate == nil || slices.ContainsFunc(lists, func(list *x509.RevocationList) bool {
		return slices.ContainsFunc(list.RevokedCertificateEntries, isEntry)
	})
}

func isIncomplete(ca *v1alpha1.CertificateAuthority) bool {
	c := meta.FindStatusCondition(ca.Status.Conditions, conditionCRLCurrent)
	return c != nil && c.Reason == reasonIncomplete
}
