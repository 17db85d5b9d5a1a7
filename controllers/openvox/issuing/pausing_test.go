package issuing

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/test/certificates"
)

// TestPausedCertificates: one that is paused is not issued; the operator's own, and one that has
// rights that it must lose, go on.
func TestPausedCertificates(t *testing.T) {
	t.Parallel()
	fake := openvoxtest.NewCA(t)
	rights := pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 34380, 1, 3, 39}, Value: []byte{0x0c, 4, 't', 'r', 'u', 'e'}}
	admin := openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "x"}, ExtraExtensions: []pkix.Extension{rights}})
	site := openvoxtest.NewSite(t, openvoxtest.MakeCA("main"),
		openvoxtest.MakeSecret("plain-tls", openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "x"}})),
		openvoxtest.MakeSecret("admin-tls", admin), openvoxtest.MakeSecret("main-server-tls", admin))
	r := &CertificateReconciler{client: site.Client, secrets: authority.Secrets{Client: site.Client, Live: site.Client}, events: site.Events, attempts: attempt.NewRunner[outcome](time.Now),
		admit: func(context.Context, builtin.Object) (builtin.Verdict, error) { return openvoxtest.Verdict("no"), nil }}
	for name, paused := range map[string]bool{"plain": true, "none": true, "main-server": true, "admin": false, "main-operator-signing": false} {
		certificate := certificates.MakeCertificate(name, name).Obj()
		certificate.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
		require.NoError(t, site.Client.Create(t.Context(), certificate))
		report, err := r.unlessPaused(t.Context(), certificate)
		require.NoError(t, err)
		require.Equal(t, paused, report.Status != nil && meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionPaused), name)
	}
}
