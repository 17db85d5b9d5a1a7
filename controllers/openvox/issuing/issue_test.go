package issuing

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/test/certificates"
)

// bench is a Certificate, its Secrets and its CA.
type bench struct {
	t           *testing.T
	ca          *openvoxtest.CA
	client      client.Client
	certificate *v1alpha1.Certificate
	now         time.Time
	noAdmin     bool
	noRenewal   bool
}

// TestPlantedRequest: any client that reaches a CA may send a request under the operator's name,
// which does not block the operator.
func TestPlantedRequest(t *testing.T) {
	for name, certname := range map[string]string{"main-operator-signing": "main-operator", "main-operator-standby": "standby.main-operator", "web": "web.example.com"} {
		b := newBench(t)
		b.certificate = certificates.MakeCertificate(name, certname).UID("1").Obj()
		b.ca.Requests[certname] = csrtest.Template{CommonName: certname}.Make(t)
		out := b.attempt()
		if name == "web" {
			require.Equal(t, reasonForeign, out.reason, "a node may have the name")
			continue
		}
		require.Equal(t, v1alpha1.CertificateSigned, out.phase, out.message)
		require.NotNil(t, layout.StoredPair(b.secret(name+"-tls").Data))
	}
}

// TestNothingIsSaidToBeRevoked: a certificate that is not renewed, and whose successor could not
// be signed, is not revoked, and no Event claims otherwise.
func TestNothingIsSaidToBeRevoked(t *testing.T) {
	b := newBench(t)
	leaf := b.signed()
	b.now = leaf.NotAfter.Add(-time.Hour)
	server := puppet.Server{URL: b.ca.URL, CA: b.ca.Bundle()}
	anyone, err := puppet.NewClient(server)
	require.NoError(t, err)
	a := &authority.Connection{CA: openvoxtest.MakeCA("main"), Internal: true, Bundle: b.ca.Bundle(), Anyone: anyone, Admin: anyone, Admins: []authority.Administrator{{Certificate: leaf, Client: anyone}}, Server: server}
	i := &issuance{secrets: authority.Secrets{Client: b.client, Live: b.client}, certificate: b.certificate, authority: a, revoker: revokerOf(b.client, nil), keys: newKeyMaker(1024), now: func() time.Time { return b.now }}
	out := i.run(t.Context())
	require.Equal(t, authority.ReasonWaitingForSigner, out.reason)
	require.Empty(t, b.ca.Revoked)
	require.Equal(t, []string{"CertificateRenewalTriggered"}, reasonsOf(out.events))
}

// revokerOf returns a revoker that does not pause. reads counts how often it reads a CRL.
func revokerOf(c client.Client, reads *int) *authority.Revoker {
	r := authority.NewRevoker(authority.Secrets{Client: c, Live: c}, time.Now, func(context.Context, types.NamespacedName) {
		if reads != nil {
			*reads++
		}
	})
	r.Pause = 0
	return r
}

func newBench(t *testing.T) *bench {
	t.Helper()
	certificate := certificates.MakeCertificate("web", "web.example.com").UID("1").DNSNames("www.example.com", "10.0.0.1").Extensions(v1alpha1.CSRExtensions{PPRole: "web"}).Obj()
	certificate.Generation, certificate.Spec.RenewBefore = 1, "60d"
	b := &bench{t: t, ca: openvoxtest.NewCA(t), client: openvoxtest.NewClient(t), certificate: certificate, now: time.Now()}
	b.ca.Clock = func() time.Time { return b.now }
	return b
}

// attempt is one attempt, whose outcome the status then has.
func (b *bench) attempt() outcome {
	b.t.Helper()
	server := puppet.Server{URL: b.ca.URL, CA: b.ca.Bundle()}
	anyone, err := puppet.NewClient(server)
	require.NoError(b.t, err)
	a := &authority.Connection{CA: openvoxtest.MakeCA("main"), Bundle: b.ca.Bundle(), Anyone: anyone, Admin: anyone, Server: server}
	if b.noAdmin {
		a.Admin = nil
	}
	i := &issuance{secrets: authority.Secrets{Client: b.client, Live: b.client}, certificate: b.certificate, authority: a, revoker: revokerOf(b.client, nil), keys: newKeyMaker(1024), autoRenews: !b.noRenewal, now: func() time.Time { return b.now }}
	out := i.run(b.t.Context())
	if out.certificate != nil {
		b.certificate.Status.SerialNumber = layout.Serial(out.certificate)
	}
	return out
}

func (b *bench) secret(name string) *corev1.Secret {
	secret := &corev1.Secret{}
	if err := b.client.Get(context.Background(), client.ObjectKey{Namespace: "ns", Name: name}, secret); err != nil {
		return nil
	}
	return secret
}

func (b *bench) stored() *x509.Certificate {
	b.t.Helper()
	secret := b.secret("web-tls")
	require.NotNil(b.t, secret)
	leaf := layout.StoredPair(secret.Data)
	require.NotNil(b.t, leaf, "the stored key belongs to the stored certificate")
	return leaf
}

func (b *bench) signed() *x509.Certificate {
	b.t.Helper()
	out := b.attempt()
	require.Equal(b.t, v1alpha1.CertificateSigned, out.phase, out.message)
	require.Nil(b.t, b.secret("web-tls-pending"))
	return b.stored()
}

func reasonsOf(events []object.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.Reason)
	}
	return out
}

func TestIssue(t *testing.T) {
	b := newBench(t)
	leaf := b.signed()
	require.Equal(t, []string{"www.example.com"}, leaf.DNSNames)
	require.Equal(t, "10.0.0.1", leaf.IPAddresses[0].String())
	require.Empty(t, layout.Difference(leaf, b.certificate.Spec))
	require.True(t, b.signed().Equal(leaf), "what is good is left alone")
	require.Equal(t, 1, b.ca.Count("PUT certificate_status/web.example.com"))
}

// TestOnlyItsOwnRequestIsSigned: a foreign request is never signed, whether it arrives first or
// in between.
func TestOnlyItsOwnRequestIsSigned(t *testing.T) {
	foreign := csrtest.Template{CommonName: "web.example.com"}.Make(t)
	t.Run("planted before", func(t *testing.T) {
		b := newBench(t)
		b.ca.Requests["web.example.com"] = foreign
		out := b.attempt()
		require.Equal(t, reasonForeign, out.reason)
		require.Equal(t, v1alpha1.CertificateError, out.phase)
		require.Zero(t, b.ca.Count("PUT certificate_status/web.example.com"))
		require.Nil(t, b.secret("web-tls"))
	})
	t.Run("exchanged before it is signed", func(t *testing.T) {
		b := newBench(t)
		b.ca.BeforeSign = func(certname string) { b.ca.Requests[certname] = foreign }
		out := b.attempt()
		require.Equal(t, reasonForeign, out.reason)
		require.Nil(t, b.secret("web-tls"))
		require.Len(t, b.ca.Revoked, 1, "what was signed by mistake is revoked")
	})
	t.Run("signed before", func(t *testing.T) {
		b := newBench(t)
		b.ca.Requests["web.example.com"] = foreign
		anyone, err := puppet.NewClient(puppet.Server{URL: b.ca.URL, CA: b.ca.Bundle()})
		require.NoError(t, err)
		require.NoError(t, anyone.Sign(t.Context(), "web.example.com"))
		out := b.attempt()
		require.Equal(t, reasonTaken, out.reason)
		require.Empty(t, b.ca.Revoked, "nobody else's certificate is revoked")
	})
}

// TestWithoutCredentials: without credentials, an administrator signs at the CA.
func TestWithoutCredentials(t *testing.T) {
	b := newBench(t)
	b.noAdmin = true
	out := b.attempt()
	require.Equal(t, v1alpha1.CertificateWaitingForSigning, out.phase)
	require.Equal(t, reasonWaiting, out.reason)
	require.Contains(t, out.message, "puppetserver ca sign --certname web.example.com")
	b.ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	out = b.attempt()
	require.Equal(t, authority.ReasonNotAnswering, out.reason, "nobody can sign at a CA that is down")
	require.Contains(t, out.message, "the CA cannot be asked: fetching the certificate of web.example.com: the CA answers 503")
	b.ca.Answer = nil
	anyone, err := puppet.NewClient(puppet.Server{URL: b.ca.URL, CA: b.ca.Bundle()})
	require.NoError(t, err)
	require.NoError(t, anyone.Sign(t.Context(), "web.example.com"))
	b.signed()
}

// TestReissue: a certificate that is lost, edited, or differs from the desired one is reissued.
// The certificate that was issued last is never revoked.
func TestReissue(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"a change of names": func(b *bench) {
			b.certificate.Generation, b.certificate.Spec.DNSAltNames = 2, []string{"new.example.com"}
		},
		"a change of extensions": func(b *bench) {
			b.certificate.Generation, b.certificate.Spec.CSRExtensions.PPRole = 2, "db"
		},
		"a lost Secret": func(b *bench) { require.NoError(b.t, b.client.Delete(b.t.Context(), b.secret("web-tls"))) },
		"garbage": func(b *bench) {
			secret := b.secret("web-tls")
			secret.Data[layout.CertificateFile] = []byte("garbage")
			require.NoError(b.t, b.client.Update(b.t.Context(), secret))
		},
		"another key": func(b *bench) {
			secret := b.secret("web-tls")
			key, err := newKey(1024)
			require.NoError(b.t, err)
			secret.Data[layout.KeyFile] = key
			require.NoError(b.t, b.client.Update(b.t.Context(), secret))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			first := b.signed()
			change(b)
			second := b.signed()
			require.Empty(t, layout.Difference(second, b.certificate.Spec))
			require.Len(t, b.ca.Revoked, 1)
			require.Equal(t, first.SerialNumber, b.ca.Revoked[0])
			require.False(t, layout.SamePublic(first.PublicKey, second.PublicKey))
		})
	}
}

// TestRequestOfAnEarlierGeneration: such a request is withdrawn, not signed.
func TestRequestOfAnEarlierGeneration(t *testing.T) {
	b := newBench(t)
	b.noAdmin = true
	require.Equal(t, v1alpha1.CertificateWaitingForSigning, b.attempt().phase)
	b.noAdmin = false
	b.certificate.Generation, b.certificate.Spec.DNSAltNames = 2, []string{"new.example.com"}
	require.Equal(t, []string{"new.example.com"}, b.signed().DNSNames)
}

// TestRenewal uses certificate_renewal, for the same key, where the CA has it.
func TestRenewal(t *testing.T) {
	b := newBench(t)
	b.ca.Renews = true
	first := b.signed()
	b.now = first.NotAfter.Add(-59 * 24 * time.Hour)
	asked := 0
	b.ca.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			asked++
			checkRenewal(t, r, first)
		}
		return false
	}
	out := b.attempt()
	require.Equal(t, v1alpha1.CertificateSigned, out.phase, out.message)
	require.Equal(t, 1, asked)
	require.Equal(t, []string{"CertificateRenewalTriggered", "CertificateRenewed"}, reasonsOf(out.events))
	second := b.stored()
	require.False(t, second.Equal(first))
	require.True(t, layout.SamePublic(first.PublicKey, second.PublicKey))
	require.Empty(t, b.ca.Revoked)
	require.Equal(t, 1, b.ca.Count("PUT certificate_status/web.example.com"))
	require.Nil(t, b.secret("web-tls-pending"))
	b.attempt()
	require.Equal(t, 1, asked, "once")
}

// checkRenewal verifies a request in the same way as a server with certificate_renewal: only the
// client certificate counts, so the request must be for its key.
func checkRenewal(t *testing.T, r *http.Request, old *x509.Certificate) {
	t.Helper()
	require.Equal(t, "/puppet-ca/v1/certificate_renewal", r.URL.Path)
	require.Equal(t, "environment=production", r.URL.RawQuery)
	require.Equal(t, "text/plain", r.Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(r.Header.Get("Accept"), "text/plain"))
	require.Len(t, r.TLS.PeerCertificates, 1)
	require.True(t, r.TLS.PeerCertificates[0].Equal(old), "it shows the certificate that is renewed")
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	r.Body = io.NopCloser(bytes.NewReader(body))
	block, rest := pem.Decode(body)
	require.NotNil(t, block)
	require.Empty(t, rest)
	require.Equal(t, "CERTIFICATE REQUEST", block.Type)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	require.NoError(t, err)
	require.NoError(t, request.CheckSignature())
	require.True(t, layout.SamePublic(request.PublicKey, old.PublicKey))
	require.Equal(t, old.Subject.CommonName, request.Subject.CommonName)
}

// TestRenewalRefused: only the next certificate for the key is stored; until then the old
// one serves, and it is not issued again instead.
func TestRenewalRefused(t *testing.T) {
	other := openvoxtest.NewCA(t)
	for name, c := range map[string]struct {
		answer func(b *bench, first *x509.Certificate) []byte
		want   string
	}{
		"another key": {func(b *bench, first *x509.Certificate) []byte {
			return layout.EncodeCertificate(b.ca.Issue(&x509.Certificate{Subject: first.Subject, DNSNames: first.DNSNames, IPAddresses: first.IPAddresses, ExtraExtensions: openvoxtest.PuppetOnly(first.Extensions)}, b.ca.Key.Public()))
		}, "it is for another key"},
		"another CA": {func(b *bench, first *x509.Certificate) []byte {
			other.Clock = b.ca.Clock
			return layout.EncodeCertificate(other.Issue(&x509.Certificate{Subject: first.Subject}, first.PublicKey))
		}, "it is signed by none of the CA's certificates"},
		"the old one": {func(_ *bench, first *x509.Certificate) []byte { return layout.EncodeCertificate(first) }, "no later than the one before"},
		"other names": {func(b *bench, first *x509.Certificate) []byte {
			return layout.EncodeCertificate(b.ca.Issue(&x509.Certificate{Subject: first.Subject}, first.PublicKey))
		}, "its DNS names are []"},
		"HTML":    {func(*bench, *x509.Certificate) []byte { return []byte("<html></html>") }, "renewing: the answer is a web page"},
		"nothing": {func(*bench, *x509.Certificate) []byte { return nil }, "renewing: the answer is not a certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			first := b.signed()
			b.now = first.NotAfter.Add(-59 * 24 * time.Hour)
			b.ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					_, _ = w.Write(c.answer(b, first))
				}
				return r.Method == http.MethodPost
			}
			out := b.attempt()
			require.Equal(t, v1alpha1.CertificateRenewing, out.phase)
			require.Equal(t, reasonRenewalFailed, out.reason)
			require.Contains(t, out.message, c.want)
			require.True(t, b.stored().Equal(first))
			require.Empty(t, b.ca.Revoked)
		})
	}
}

// TestRenewalThatWasLost: a renewal whose answer was lost is adopted.
func TestRenewalThatWasLost(t *testing.T) {
	b := newBench(t)
	b.ca.Renews = true
	first := b.signed()
	b.now = first.NotAfter.Add(-59 * 24 * time.Hour)
	b.ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			b.ca.Issued[first.Subject.CommonName] = b.ca.Issue(&x509.Certificate{Subject: first.Subject, DNSNames: first.DNSNames, IPAddresses: first.IPAddresses, ExtraExtensions: openvoxtest.PuppetOnly(first.Extensions)}, first.PublicKey)
			panic(http.ErrAbortHandler)
		}
		return false
	}
	require.Equal(t, v1alpha1.CertificateRenewing, b.attempt().phase)
	require.True(t, b.stored().Equal(first))
	require.True(t, b.signed().Equal(b.ca.Issued[first.Subject.CommonName]))
	require.Equal(t, 1, b.ca.Count("POST certificate_renewal"))
}

// TestACAThatIsAhead: a certificate that does not count yet is not stored before it does,
// and nothing is asked for twice until then.
func TestACAThatIsAhead(t *testing.T) {
	b := newBench(t)
	b.ca.Ahead = 4 * time.Minute
	out := b.attempt()
	require.Equal(t, v1alpha1.CertificatePending, out.phase)
	require.Equal(t, reasonNotYetValid, out.reason)
	require.Contains(t, out.message, "the CA's clock is ahead of the cluster's")
	require.InDelta(t, 4*time.Minute, out.wait, float64(2*time.Second))
	require.Nil(t, b.secret("web-tls"))
	b.now = b.now.Add(out.wait)
	b.signed()
	require.Equal(t, 1, b.ca.Count("PUT certificate_status/web.example.com"))

	b = newBench(t)
	first := b.signed()
	b.ca.Renews, b.ca.Ahead, b.now = true, 4*time.Minute, first.NotAfter.Add(-59*24*time.Hour)
	out = b.attempt()
	require.Equal(t, v1alpha1.CertificateRenewing, out.phase)
	require.Equal(t, reasonNotYetValid, out.reason)
	require.True(t, b.stored().Equal(first), "the old one serves")
	b.now = b.now.Add(out.wait)
	require.False(t, b.signed().Equal(first))
	require.Equal(t, 1, b.ca.Count("POST certificate_renewal"))
	require.Empty(t, b.ca.Revoked)
}

// TestACAThatIsBehind: a CA with a slow clock signs certificates that have already expired.
func TestACAThatIsBehind(t *testing.T) {
	b := newBench(t)
	b.ca.Lifetime = -time.Minute
	out := b.attempt()
	require.Equal(t, v1alpha1.CertificateError, out.phase)
	require.Contains(t, out.message, "the CA has signed a certificate that has ended already")
	require.Nil(t, b.secret("web-tls"))
}

// TestNoKeyForACAThatIsDown: making one takes seconds.
func TestNoKeyForACAThatIsDown(t *testing.T) {
	b := newBench(t)
	b.ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	out := b.attempt()
	require.Contains(t, out.message, "the CA answers 503")
	require.Nil(t, b.secret("web-tls-pending"))
}

// TestRevoke: what goes is revoked, and nothing else under its name.
func TestRevoke(t *testing.T) {
	b := newBench(t)
	told := 0
	revoke := func() []object.Event {
		anyone, err := puppet.NewClient(puppet.Server{URL: b.ca.URL, CA: b.ca.Bundle()})
		require.NoError(t, err)
		a := &authority.Connection{CA: openvoxtest.MakeCA("main"), Bundle: b.ca.Bundle(), Anyone: anyone, Admin: anyone}
		i := &issuance{secrets: authority.Secrets{Client: b.client, Live: b.client}, certificate: b.certificate, authority: a, revoker: revokerOf(b.client, &told), now: time.Now}
		require.NoError(t, i.revoke(t.Context()))
		return i.events
	}
	revoke()
	require.Empty(t, b.ca.Revoked)
	first := b.signed()
	b.certificate.Status.SerialNumber = "1234"
	revoke()
	require.Empty(t, b.ca.Revoked, "the CA has another by now")
	b.certificate.Status.SerialNumber = layout.Serial(first)
	require.Zero(t, told)
	b.ca.Idle = true
	require.Equal(t, []string{authority.ReasonUnconfirmed}, reasonsOf(revoke()), "an answer of 200 is no revocation")
	require.NotNil(t, b.ca.Issued["web.example.com"], "without its file it could not be revoked again")
	b.ca.Idle = false
	require.Equal(t, []string{"CertificateCleaned"}, reasonsOf(revoke()))
	require.Equal(t, first.SerialNumber, b.ca.Revoked[0])
	require.Nil(t, b.ca.Issued["web.example.com"])
	require.NotZero(t, told, "the CRL is read")
}

// TestRenewalByReissue where the CA has no certificate_renewal, or does not permit it.
func TestRenewalByReissue(t *testing.T) {
	for name, noRenewal := range map[string]bool{"404": false, "403": false, "not permitted": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.noRenewal = noRenewal
			b.ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if name == "403" && r.Method == http.MethodPost {
					http.Error(w, "forbidden", http.StatusForbidden)
					return true
				}
				return false
			}
			first := b.signed()
			b.now = first.NotAfter.Add(-61 * 24 * time.Hour)
			require.True(t, b.signed().Equal(first), "it is not due")
			b.now = first.NotAfter.Add(-59 * 24 * time.Hour)
			out := b.attempt()
			require.Equal(t, v1alpha1.CertificateSigned, out.phase, out.message)
			require.Equal(t, []string{"CertificateRenewalTriggered", "CertificateReissued", authority.ReasonSigned}, reasonsOf(out.events))
			require.False(t, b.stored().Equal(first))
			require.Equal(t, first.SerialNumber, b.ca.Revoked[0])
			require.Equal(t, noRenewal, b.ca.Count("POST certificate_renewal") == 0)
			require.Empty(t, b.attempt().events, "not twice within an hour")
		})
	}
}

// TestExpired: a certificate that has ended cannot show itself, and is issued again.
func TestExpired(t *testing.T) {
	b := newBench(t)
	b.ca.Renews = true
	first := b.signed()
	b.now = first.NotAfter.Add(time.Hour)
	require.False(t, b.signed().Equal(first))
	require.Zero(t, b.ca.Count("POST certificate_renewal"))
}

// TestOldPairServes: the old certificate stays in use until the new one is stored, even after
// failures.
func TestOldPairServes(t *testing.T) {
	b := newBench(t)
	first := b.signed()
	b.now = first.NotAfter.Add(-time.Hour)
	b.ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "certificate_request") {
			http.Error(w, "no", http.StatusInternalServerError)
			return true
		}
		return false
	}
	out := b.attempt()
	require.Equal(t, v1alpha1.CertificateRenewing, out.phase)
	require.Equal(t, reasonRenewalFailed, out.reason)
	require.True(t, b.stored().Equal(first))
	b.ca.Answer = nil
	require.False(t, b.signed().Equal(first))
}

// TestBadAnswers: an answer that is not one of our certificates is never stored.
func TestBadAnswers(t *testing.T) {
	other := openvoxtest.NewCA(t)
	for name, body := range map[string]struct {
		code   int
		text   string
		want   string
		reason string
	}{
		"5xx":     {http.StatusBadGateway, "down", "the CA answers 502", authority.ReasonNotAnswering},
		"HTML":    {http.StatusOK, "<html>hello</html>", "the answer is a web page", authority.ReasonNotAnswering},
		"CSR":     {http.StatusOK, string(csrtest.Template{CommonName: "web.example.com"}.Make(t)), "the answer is not a certificate", reasonFailed},
		"garbage": {http.StatusOK, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "x509", reasonFailed},
		"foreign": {http.StatusOK, string(other.Bundle()), "has not asked for", reasonTaken},
		"moved":   {http.StatusFound, "", "the CA answers 302", authority.ReasonNotAnswering},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/certificate/") {
					return false
				}
				w.Header().Set("Location", other.URL)
				w.WriteHeader(body.code)
				_, _ = w.Write([]byte(body.text))
				return true
			}
			out := b.attempt()
			require.Equal(t, v1alpha1.CertificateError, out.phase)
			require.Equal(t, body.reason, out.reason)
			require.Contains(t, out.message, body.want)
			require.Nil(t, b.secret("web-tls"))
			require.Zero(t, b.ca.Count("PUT certificate_status/web.example.com"))
		})
	}
}

// TestForeignSecret: a Secret that another owner has created is left unchanged.
func TestForeignSecret(t *testing.T) {
	b := newBench(t)
	b.client = openvoxtest.NewClient(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "web-tls", Namespace: "ns"}, Data: map[string][]byte{"mine": []byte("x")}})
	out := b.attempt()
	require.Equal(t, v1alpha1.CertificateError, out.phase)
	require.Contains(t, out.message, "Secret web-tls is not controlled by this object")
	require.Equal(t, map[string][]byte{"mine": []byte("x")}, b.secret("web-tls").Data)
	require.Empty(t, b.ca.Calls)
}
