package openvox

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// TestSigningOfRequests: what ends for good, and what is tried again.
func TestSigningOfRequests(t *testing.T) {
	foreign := csrtest.Template{CommonName: "web.example.com"}.Make(t)
	for name, c := range map[string]struct {
		prepare func(ca *fakeCA)
		denied  string
		phase   v1alpha1.CertificatePhase
		reason  string
	}{
		"signed":       {phase: v1alpha1.CertificateSigned},
		"denied":       {denied: "no policy", phase: v1alpha1.CertificateError, reason: reasonDenied},
		"foreign":      {prepare: func(ca *fakeCA) { ca.requests["web.example.com"] = foreign }, phase: v1alpha1.CertificatePending, reason: reasonForeign},
		"certname has": {prepare: func(ca *fakeCA) { ca.issued["web.example.com"] = ca.root }, phase: v1alpha1.CertificateError, reason: reasonTaken},
		"down":         {prepare: func(ca *fakeCA) { ca.Close() }, phase: v1alpha1.CertificatePending, reason: reasonWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			ca := newFakeCA(t)
			authority := newAuthority(ca.URL)
			authority.Spec.External.TLSSecretRef = "admin"
			key, err := newKey(2048)
			require.NoError(t, err)
			signer, err := parseKey(key)
			require.NoError(t, err)
			admin := ca.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "main-operator"}}, signer.Public())
			c1 := newClient(t, authority, secretOf("main-ca", map[string][]byte{caKey: ca.bundle()}),
				secretOf("admin", map[string][]byte{"tls.crt": encodeCertificate(admin), "tls.key": key}))
			r := &RequestReconciler{client: c1, secrets: secrets{c1, c1}, events: events.NewFakeRecorder(10), admit: func(context.Context, client.Object) (string, error) { return c.denied, nil }}
			if c.prepare != nil {
				c.prepare(ca)
			}
			object := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: certificatesv1.CertificateSigningRequestSpec{
				SignerName: rules.SignerPrefix + "ns.main", Request: csrtest.Template{CommonName: "web.example.com"}.Make(t),
			}}
			out := r.sign(t.Context(), mainKey.NamespacedName, object)
			require.Equal(t, c.phase, out.phase, out.message)
			require.Equal(t, c.reason, out.reason, out.message)
			require.Equal(t, c.phase == v1alpha1.CertificateSigned, out.certificate != nil)
			require.Empty(t, ca.revoked)
		})
	}
}

// TestWaitsForSigner: approved and nothing else.
func TestWaitsForSigner(t *testing.T) {
	with := func(issued string, kinds ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
		object := &certificatesv1.CertificateSigningRequest{Status: certificatesv1.CertificateSigningRequestStatus{Certificate: []byte(issued)}}
		for _, kind := range kinds {
			object.Status.Conditions = append(object.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: kind, Status: corev1.ConditionTrue})
		}
		return object
	}
	require.True(t, waitsForSigner(with("", certificatesv1.CertificateApproved)))
	require.False(t, waitsForSigner(with("")))
	require.False(t, waitsForSigner(with("x", certificatesv1.CertificateApproved)))
	require.False(t, waitsForSigner(with("", certificatesv1.CertificateApproved, certificatesv1.CertificateDenied)))
	require.False(t, waitsForSigner(with("", certificatesv1.CertificateApproved, certificatesv1.CertificateFailed)))
}
