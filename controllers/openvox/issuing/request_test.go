package issuing

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// signingTest has a CA, and a signer that may sign there.
type signingTest struct {
	ca     *openvoxtest.CA
	client client.Client
	signer signer
	denied string
	told   int
}

func newSigningTest(t *testing.T, objects ...client.Object) *signingTest {
	t.Helper()
	ca := openvoxtest.NewCA(t)
	external := openvoxtest.MakeExternalCA(ca.URL)
	external.Spec.External.TLSSecretRef = "admin"
	text, err := newKey(1024)
	require.NoError(t, err)
	key, err := parseKey(text)
	require.NoError(t, err)
	admin := ca.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: "main-operator"}}, key.Public())
	s := &signingTest{ca: ca, client: openvoxtest.NewClient(t, append(objects, external, openvoxtest.MakeSecret("main-ca", map[string][]byte{layout.CAFile: ca.Bundle()}),
		openvoxtest.MakeSecret("admin", map[string][]byte{"tls.crt": layout.EncodeCertificate(admin), "tls.key": text}))...)}
	s.signer = signer{client: s.client, secrets: authority.Secrets{Client: s.client, Live: s.client}, names: &certnames{}, revoker: revokerOf(s.client, &s.told), admit: func(context.Context, builtin.Object) (builtin.Verdict, error) {
		return openvoxtest.Verdict(s.denied), nil
	}}
	return s
}

// sign has a request signed which renews what next says.
func (s *signingTest) sign(t *testing.T, request []byte, next bool) outcome {
	return s.signer.sign(t.Context(), application{
		authority: openvoxtest.Main.NamespacedName, request: request,
		succeeds: func(context.Context, *x509.Certificate) (bool, error) { return next, nil },
	})
}

const web = "web.example.com"

// TestSigningOfRequests: which failures are final, and which are retried.
func TestSigningOfRequests(t *testing.T) {
	key := csrtest.Key(t)
	same := func(template csrtest.Template) []byte {
		template.CommonName, template.Key = web, key
		return template.Make(t)
	}
	give := func(s *signingTest, names ...string) *x509.Certificate {
		s.ca.Issued[web] = s.ca.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: web}, DNSNames: names}, key.Public())
		return s.ca.Issued[web]
	}
	foreign := csrtest.Template{CommonName: web}.Make(t)
	for name, c := range map[string]struct {
		prepare func(s *signingTest)
		next    bool
		phase   v1alpha1.CertificatePhase
		reason  string
		revoked int
	}{
		"signed":              {phase: v1alpha1.CertificateSigned},
		"denied":              {prepare: func(s *signingTest) { s.denied = "no policy" }, phase: v1alpha1.CertificateError, reason: reasonDenied},
		"no CA":               {prepare: func(s *signingTest) { require.NoError(t, s.client.Delete(t.Context(), openvoxtest.MakeExternalCA(""))) }, phase: v1alpha1.CertificatePending, reason: reasonNoAuthority},
		"foreign":             {prepare: func(s *signingTest) { s.ca.Requests[web] = foreign }, phase: v1alpha1.CertificatePending, reason: reasonForeign},
		"own, with more":      {prepare: func(s *signingTest) { s.ca.Requests[web] = same(csrtest.Template{DNSNames: []string{"bank"}}) }, phase: v1alpha1.CertificateSigned},
		"own, with more, now": {prepare: meanwhileWith(same(csrtest.Template{DNSNames: []string{"bank"}})), phase: v1alpha1.CertificatePending, reason: reasonForeign},
		"exchanged":           {prepare: func(s *signingTest) { s.ca.BeforeSign = func(string) { s.ca.Requests[web] = foreign } }, phase: v1alpha1.CertificatePending, reason: reasonForeign, revoked: 1},
		"signed meanwhile":    {prepare: meanwhile, phase: v1alpha1.CertificatePending, reason: reasonForeign},
		"certname has":        {prepare: func(s *signingTest) { s.ca.Issued[web] = s.ca.Root }, phase: v1alpha1.CertificateError, reason: reasonTaken},
		"has just this":       {prepare: func(s *signingTest) { give(s, web) }, phase: v1alpha1.CertificateSigned},
		"has, with more":      {prepare: func(s *signingTest) { give(s, web, "bank") }, phase: v1alpha1.CertificateError, reason: reasonTaken},
		"renews":              {prepare: func(s *signingTest) { s.ca.Issued[web] = s.ca.Root }, next: true, phase: v1alpha1.CertificateSigned, revoked: 1},
		"renews for its key":  {prepare: func(s *signingTest) { give(s) }, next: true, phase: v1alpha1.CertificateSigned, revoked: 1},
		"renews, and foreign": {prepare: func(s *signingTest) { s.ca.Issued[web], s.ca.Requests[web] = s.ca.Root, foreign }, next: true, phase: v1alpha1.CertificatePending, reason: reasonForeign},
		"refused":             {prepare: refusing, phase: v1alpha1.CertificateError, reason: reasonRefused},
		"held":                {prepare: func(s *signingTest) { s.signer.names.take(openvoxtest.Main.NamespacedName, web) }, phase: v1alpha1.CertificatePending, reason: reasonNameInUse},
		"down":                {prepare: func(s *signingTest) { s.ca.Close() }, phase: v1alpha1.CertificatePending, reason: authority.ReasonNotAnswering},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningTest(t)
			if c.prepare != nil {
				c.prepare(s)
			}
			out := s.sign(t, same(csrtest.Template{}), c.next)
			require.Equal(t, c.phase, out.phase, out.message)
			require.Equal(t, c.reason, out.reason, out.message)
			require.Len(t, s.ca.Revoked, c.revoked)
			require.Equal(t, c.revoked > 0, s.told > 0, "the CRL is read")
			if c.phase == v1alpha1.CertificateSigned {
				require.True(t, layout.SamePublic(key.Public(), out.certificate.PublicKey))
				require.Equal(t, s.ca.Issued[web], out.certificate, "the new one is never revoked")
				require.NotContains(t, out.certificate.DNSNames, "bank")
				return
			}
			require.Nil(t, out.certificate)
			if c.reason == reasonRefused {
				require.Empty(t, s.ca.Requests, "the next request is not held for somebody else's")
			}
		})
	}
}

// meanwhile makes the CA sign a foreign request between two attempts.
func meanwhile(s *signingTest) {
	s.ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "certificate_request/"+web) {
			return false
		}
		s.ca.Issued[web] = s.ca.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: web}}, s.ca.Key.Public())
		http.Error(w, web+" already has a requested certificate; ignoring certificate request", http.StatusBadRequest)
		return true
	}
}

// meanwhileWith submits another request to the CA before this one.
func meanwhileWith(request []byte) func(*signingTest) {
	return func(s *signingTest) {
		s.ca.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "certificate_request/"+web) {
				s.ca.Requests[web] = request
			}
			return false
		}
	}
}

// refusing makes the CA reject requests.
func refusing(s *signingTest) {
	s.ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "certificate_status/"+web) {
			http.Error(w, "Found extensions that are not permitted: 2.5.29.15", http.StatusConflict)
			return true
		}
		return false
	}
}

// TestTwoRequestsForOneName: of two that renew at a time, the second finds what the first
// has got, and does not revoke it.
func TestTwoRequestsForOneName(t *testing.T) {
	s := newSigningTest(t)
	s.ca.Issued[web] = s.ca.Root
	key := csrtest.Key(t)
	request := csrtest.Template{CommonName: web, Key: key}.Make(t)
	asked := application{authority: openvoxtest.Main.NamespacedName, request: request, succeeds: func(_ context.Context, has *x509.Certificate) (bool, error) {
		return has.Equal(s.ca.Root), nil
	}}
	s.ca.BeforeSign = func(string) {
		require.Equal(t, retryNameInUse, s.signer.sign(t.Context(), asked).wait, "it waits for the first")
	}
	require.Equal(t, v1alpha1.CertificateSigned, s.signer.sign(t.Context(), asked).phase)
	first := s.ca.Issued[web]
	require.Equal(t, first, s.signer.sign(t.Context(), asked).certificate)
	require.Len(t, s.ca.Revoked, 1)
}

// TestChain: the leaf comes first, then the intermediates; the root is returned separately.
func TestChain(t *testing.T) {
	root := openvoxtest.NewCA(t)
	key := csrtest.Key(t)
	middle := root.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: "middle"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, key.Public())
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(9), Subject: pkix.Name{CommonName: web}}, middle, csrtest.Key(t).Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	join := func(all ...*x509.Certificate) (text []byte) {
		for _, certificate := range all {
			text = append(text, layout.EncodeCertificate(certificate)...)
		}
		return text
	}
	other := openvoxtest.NewCA(t).Root
	for name, c := range map[string]struct {
		bundle       []*x509.Certificate
		chain, above []*x509.Certificate
	}{
		"whole":           {[]*x509.Certificate{root.Root, other, middle}, []*x509.Certificate{leaf, middle}, []*x509.Certificate{root.Root}},
		"without root":    {[]*x509.Certificate{middle}, []*x509.Certificate{leaf, middle}, []*x509.Certificate{middle}},
		"nothing of it":   {[]*x509.Certificate{other}, []*x509.Certificate{leaf}, nil},
		"nothing at all":  {nil, []*x509.Certificate{leaf}, nil},
		"the root itself": {[]*x509.Certificate{root.Root}, []*x509.Certificate{leaf}, nil},
	} {
		certificates, above := chain(leaf, join(c.bundle...))
		require.Equal(t, join(c.chain...), certificates, name)
		require.Equal(t, join(c.above...), above, name)
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
