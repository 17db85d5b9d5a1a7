package issuing

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/test/certificates"
)

// TestCertificatesByPolicies: with the field, a Certificate needs a SigningPolicy; those without
// which the CA cannot run do not.
func TestCertificatesByPolicies(t *testing.T) {
	t.Parallel()
	ca, policy := openvoxtest.MakeCA("main"), &v1alpha1.SigningPolicy{}
	policy.Name, policy.Namespace = "web", "ns"
	policy.Spec = v1alpha1.SigningPolicySpec{
		CertificateAuthorityRef: "main", Pattern: &v1alpha1.AllowList{Allow: []string{"web*"}}, DNSAltNames: &v1alpha1.AllowList{Allow: []string{"*.example.com"}},
		CSRAttributes: []v1alpha1.CSRAttribute{{Name: "pp_preshared_key", ValueFrom: &v1alpha1.SecretKeySelector{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "keys", Key: "psk"}}}},
	}
	site := openvoxtest.NewSite(t, ca, policy, openvoxtest.MakeSecret("keys", map[string][]byte{"psk": []byte("s3cret")}))
	r := &CertificateReconciler{client: site.Client, secrets: authority.Secrets{Client: site.Client, Live: site.Client}}
	refusals := func(name, certname, secret string, names ...string) []string {
		certificate := certificates.MakeCertificate(name, certname).DNSNames(names...).Extensions(v1alpha1.CSRExtensions{CustomExtensions: map[string]string{"pp_preshared_key": secret}}).Obj()
		words, err := refusals(t.Context(), r.client, r.secrets, certificate)
		require.NoError(t, err)
		return words
	}
	require.Empty(t, refusals("db", "db.example.com", "x"), "the default")
	ca.Spec.CertificatePolicy = v1alpha1.CertificatesByPolicies
	require.NoError(t, site.Client.Update(t.Context(), ca))
	require.Empty(t, refusals("web", "web1.example.com", "s3cret", "www.example.com"), "its own names are not reserved for it")
	require.NotEmpty(t, refusals("db", "db.example.com", "s3cret"))
	require.NotEmpty(t, refusals("web", "web1.example.com", "guessed"))
	require.NotEmpty(t, refusals("web", "web1.example.com", "s3cret", "www.example.org"))
	for _, name := range []string{"main-server", "main-operator-signing", "main-operator-standby"} {
		require.Empty(t, refusals(name, "x", "guessed"), name)
	}
}
