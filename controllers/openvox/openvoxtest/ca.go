package openvoxtest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// CA simulates a Puppet CA, and injects faults. The end-to-end tests run the same steps against
// the real CA. It supports certificate_renewal, which the real CA of the tests does not.
type CA struct {
	*httptest.Server
	t *testing.T
	// Name is the common name of Root, its own certificate, whose key is Key.
	Name string
	Key  *ecdsa.PrivateKey
	Root *x509.Certificate

	mutex sync.Mutex
	// Requests are those that wait, in PEM, and Issued the certificates, by certname.
	Requests map[string][]byte
	Issued   map[string]*x509.Certificate
	// Revoked are the serial numbers on its CRL, and CRL is the number of that.
	Revoked []*big.Int
	CRL     int64
	// Calls are those that were answered, such as "GET certificate/web.example.com".
	Calls  []string
	serial int64
	// Changed is the date of the CRL's file, and ETag its tag: the real one has none.
	Changed time.Time
	ETag    string
	// Clock is the CA's time. Ahead delays the start of the certificates that it signs.
	Clock func() time.Time
	Ahead time.Duration
	// Lifetime is of the certificates that it issues; Renews says whether it has
	// certificate_renewal.
	Lifetime time.Duration
	Renews   bool
	// Idle answers revocations with 200 and revokes nothing.
	Idle bool
	// DeletesRequests permits DELETE certificate_request, which Puppet's own auth.conf does not.
	DeletesRequests bool
	// Hosts are further DNS names of its server's certificate.
	Hosts []string
	// Answer replaces an answer: nil, or false, leaves it.
	Answer func(w http.ResponseWriter, r *http.Request) bool
	// BeforeSign runs when a request is about to be signed.
	BeforeSign func(certname string)
}

// NewCA starts a CA on the loopback interface until the test ends. The options are applied
// before its certificate is created.
func NewCA(t *testing.T, options ...func(*CA)) *CA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	f := &CA{
		t: t, Name: "Puppet CA", Key: key, Requests: map[string][]byte{}, Issued: map[string]*x509.Certificate{},
		Clock: time.Now, serial: 1, CRL: 1, Changed: time.Now().Add(time.Hour), Lifetime: 365 * 24 * time.Hour,
	}
	for _, option := range options {
		option(f)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: f.Name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(10 * 365 * 24 * time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	f.Root, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	f.Server = httptest.NewUnstartedServer(f)
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf := f.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, DNSNames: f.Hosts, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, serverKey.Public())
	roots := x509.NewCertPool()
	roots.AddCert(f.Root)
	f.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: serverKey}}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots}
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// Bundle is its own certificate in PEM.
func (f *CA) Bundle() []byte { return encoded(f.Root) }

// ServeHTTP implements http.Handler.
func (f *CA) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/puppet-ca/v1/")
	f.Calls = append(f.Calls, r.Method+" "+path)
	if f.Answer != nil && f.Answer(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Query().Get("environment") != "production" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	what, certname, _ := strings.Cut(path, "/")
	if (strings.HasPrefix(what, "certificate_status") || what == "clean") && !strings.Contains(r.Header.Get("Accept"), "json") {
		http.Error(w, "No acceptable resource available.", http.StatusNotAcceptable) // as the real one
		return
	}
	switch r.Method + " " + what {
	case "GET certificate":
		f.give(w, f.Issued[certname] != nil, func() []byte { return encoded(f.Issued[certname]) })
	case "GET certificate_request":
		f.give(w, f.Requests[certname] != nil, func() []byte { return f.Requests[certname] })
	case "PUT certificate_request":
		if f.Issued[certname] != nil || f.Requests[certname] != nil {
			http.Error(w, certname+" already has a requested certificate; ignoring certificate request", http.StatusBadRequest)
			return
		}
		f.Requests[certname] = body
	case "DELETE certificate_request":
		if !f.DeletesRequests {
			http.Error(w, "Forbidden request: /puppet-ca/v1/certificate_request (method :delete)", http.StatusForbidden)
			return
		}
		if f.Requests[certname] == nil {
			http.NotFound(w, r)
			return
		}
		delete(f.Requests, certname)
		w.WriteHeader(http.StatusNoContent)
	case "GET certificate_status":
		status := f.status(certname)
		f.give(w, status != nil, func() []byte { return encodedJSON(f.t, status) })
	case "GET certificate_statuses":
		all := []map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(f.names())) {
			all = append(all, f.status(name))
		}
		_, _ = w.Write(encodedJSON(f.t, all))
	case "PUT certificate_status":
		if bytes.Contains(body, []byte(`"revoked"`)) {
			if f.Issued[certname] == nil {
				http.Error(w, "Cannot revoke certificate for host "+certname+" without a signed certificate", http.StatusConflict)
				return
			}
			f.revoke(f.Issued[certname])
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if f.BeforeSign != nil {
			f.BeforeSign(certname)
		}
		if f.Requests[certname] == nil || !bytes.Contains(body, []byte(`"signed"`)) {
			http.NotFound(w, r)
			return
		}
		block, _ := pem.Decode(f.Requests[certname])
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.Issued[certname] = f.Issue(&x509.Certificate{Subject: request.Subject, DNSNames: request.DNSNames, IPAddresses: request.IPAddresses, ExtraExtensions: PuppetOnly(request.Extensions)}, request.PublicKey)
		delete(f.Requests, certname)
		w.WriteHeader(http.StatusNoContent)
	case "DELETE certificate_status":
		delete(f.Requests, certname)
		delete(f.Issued, certname)
		w.WriteHeader(http.StatusNoContent)
	case "PUT clean": // which leaves requests where they are
		for name, certificate := range f.Issued {
			if bytes.Contains(body, []byte(`"`+name+`"`)) {
				f.revoke(certificate)
				delete(f.Issued, name)
			}
		}
	case "POST certificate_renewal":
		if !f.Renews {
			http.NotFound(w, r)
			return
		}
		if len(r.TLS.PeerCertificates) == 0 {
			http.Error(w, "who are you", http.StatusForbidden)
			return
		}
		shown := r.TLS.PeerCertificates[0]
		renewed := f.Issue(&x509.Certificate{Subject: shown.Subject, DNSNames: shown.DNSNames, IPAddresses: shown.IPAddresses, ExtraExtensions: PuppetOnly(shown.Extensions)}, shown.PublicKey)
		f.Issued[shown.Subject.CommonName] = renewed
		_, _ = w.Write(encoded(renewed))
	case "GET certificate_revocation_list":
		f.giveCRL(w, r)
	default:
		http.NotFound(w, r)
	}
}

// revoke puts a certificate on the CRL. One that has it already stays as it is, as the real one's.
func (f *CA) revoke(certificate *x509.Certificate) {
	if !f.Idle && !slices.ContainsFunc(f.Revoked, func(s *big.Int) bool { return s.Cmp(certificate.SerialNumber) == 0 }) {
		f.Revoked = append(f.Revoked, certificate.SerialNumber)
		f.CRL++
	}
}

// names are those of all certificates and requests.
func (f *CA) names() map[string]bool {
	names := map[string]bool{}
	for name := range f.Issued {
		names[name] = true
	}
	for name := range f.Requests {
		names[name] = true
	}
	return names
}

// status is the answer about a certname: nil where the CA has neither a certificate nor a
// request.
func (f *CA) status(certname string) map[string]any {
	const layout = "2006-01-02T15:04:05UTC"
	status := map[string]any{"name": certname, "subject_alt_names": []string{}, "authorization_extensions": map[string]string{}}
	content, names := []byte(nil), []string(nil)
	switch issued, request := f.Issued[certname], f.Requests[certname]; {
	case issued != nil:
		content, names = issued.Raw, issued.DNSNames
		status["state"], status["serial_number"] = "signed", issued.SerialNumber
		status["not_before"], status["not_after"] = issued.NotBefore.UTC().Format(layout), issued.NotAfter.UTC().Format(layout)
		if slices.ContainsFunc(f.Revoked, func(s *big.Int) bool { return s.Cmp(issued.SerialNumber) == 0 }) {
			status["state"] = "revoked"
		}
	case request != nil:
		block, _ := pem.Decode(request)
		content, status["state"] = block.Bytes, "requested"
		if parsed, err := x509.ParseCertificateRequest(content); err == nil {
			names = parsed.DNSNames
		}
	default:
		return nil
	}
	names = slices.Clone(names)
	for i := range names {
		names[i] = "DNS:" + names[i]
	}
	sum := strings.ToUpper(strings.ReplaceAll(fmt.Sprintf("% x", sha256.Sum256(content)), " ", ":"))
	status["fingerprint"], status["fingerprints"] = sum, map[string]string{"SHA256": sum}
	if len(names) > 0 {
		status["subject_alt_names"] = names
	}
	return status
}

func encodedJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

func (f *CA) give(w http.ResponseWriter, has bool, what func() []byte) {
	if !has {
		http.Error(w, "Could not find it", http.StatusNotFound)
		return
	}
	_, _ = w.Write(what())
}

// giveCRL answers 304 as the real CA does: by the modification time of its file, which it never
// sends.
func (f *CA) giveCRL(w http.ResponseWriter, r *http.Request) {
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	switch {
	case f.ETag != "" && r.Header.Get("If-None-Match") == f.ETag, err == nil && !f.Changed.After(since):
		w.WriteHeader(http.StatusNotModified)
		return
	case f.ETag != "":
		w.Header().Set("ETag", f.ETag)
	}
	_, _ = w.Write(f.List(f.CRL))
}

// Issue fills in a template, and signs it for a public key.
func (f *CA) Issue(template *x509.Certificate, public any) *x509.Certificate {
	f.serial++
	now := f.Clock()
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(f.serial), now.Add(-time.Hour), now.Add(f.Lifetime)
	if f.Ahead != 0 {
		template.NotBefore = now.Add(f.Ahead)
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, f.Root, public, f.Key)
	require.NoError(f.t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(f.t, err)
	return certificate
}

func encoded(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

// PuppetOnly are the extensions that a Puppet CA takes over from a request.
func PuppetOnly(all []pkix.Extension) (out []pkix.Extension) {
	for _, e := range all {
		if strings.HasPrefix(e.Id.String(), "1.3.6.1.4.1.34380.") {
			out = append(out, e)
		}
	}
	return out
}

// List is its CRL of a number, in PEM. One with a higher number is newer.
func (f *CA) List(number int64) []byte {
	template := &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: time.Now().Add(time.Duration(number) * time.Minute), NextUpdate: time.Now().Add(24 * time.Hour)}
	for _, serial := range f.Revoked {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, f.Root, f.Key)
	require.NoError(f.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

// Count returns the number of calls, by a name as in Calls.
func (f *CA) Count(call string) (n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, made := range f.Calls {
		if made == call {
			n++
		}
	}
	return n
}

// NewPair is a certificate of a CA with its key, as the Secret of a Certificate has them.
func NewPair(t *testing.T, ca *CA, template *x509.Certificate) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return map[string][]byte{layout.CertificateFile: encoded(ca.Issue(template, key.Public())), layout.KeyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
}

// CertificateOf is the certificate of a Secret's data.
func CertificateOf(t *testing.T, pair map[string][]byte) *x509.Certificate {
	t.Helper()
	certificate := layout.StoredPair(pair)
	require.NotNil(t, certificate)
	return certificate
}
