package openvox

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeCA answers as a Puppet CA does (the end-to-end tests hold the real one to the same
// steps), and fails as it is told. It knows certificate_renewal, which the real one of
// the tests does not.
type fakeCA struct {
	*httptest.Server
	t    *testing.T
	name string
	key  *ecdsa.PrivateKey
	root *x509.Certificate

	mutex    sync.Mutex
	requests map[string][]byte
	issued   map[string]*x509.Certificate
	revoked  []*big.Int
	calls    []string
	serial   int64
	crl      int64
	// changed is the date of the CRL's file, and etag its tag: the real one has none.
	changed time.Time
	etag    string
	// clock is its time, and ahead how much later what it signs begins.
	clock func() time.Time
	ahead time.Duration
	// lifetime is of the certificates that it issues; renews says whether it has
	// certificate_renewal.
	lifetime time.Duration
	renews   bool
	// answer replaces an answer: nil, or false, leaves it.
	answer func(w http.ResponseWriter, r *http.Request) bool
	// beforeSign runs when a request is about to be signed.
	beforeSign func(certname string)
}

func newFakeCA(t *testing.T, options ...func(*fakeCA)) *fakeCA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	f := &fakeCA{
		t: t, name: "Puppet CA", key: key, requests: map[string][]byte{}, issued: map[string]*x509.Certificate{},
		clock: time.Now, serial: 1, crl: 1, changed: time.Now().Add(time.Hour), lifetime: 365 * 24 * time.Hour,
	}
	for _, option := range options {
		option(f)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: f.name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(10 * 365 * 24 * time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	f.root, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	f.Server = httptest.NewUnstartedServer(f)
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf := f.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, serverKey.Public())
	roots := x509.NewCertPool()
	roots.AddCert(f.root)
	f.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: serverKey}}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots}
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

func (f *fakeCA) bundle() []byte { return encodeCertificate(f.root) }

func (f *fakeCA) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/puppet-ca/v1/")
	f.calls = append(f.calls, r.Method+" "+path)
	if f.answer != nil && f.answer(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Query().Get("environment") != "production" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	what, certname, _ := strings.Cut(path, "/")
	if (what == "certificate_status" || what == "clean") && !strings.Contains(r.Header.Get("Accept"), "json") {
		http.Error(w, "No acceptable resource available.", http.StatusNotAcceptable) // as the real one
		return
	}
	switch r.Method + " " + what {
	case "GET certificate":
		f.give(w, f.issued[certname] != nil, func() []byte { return encodeCertificate(f.issued[certname]) })
	case "GET certificate_request":
		f.give(w, f.requests[certname] != nil, func() []byte { return f.requests[certname] })
	case "PUT certificate_request":
		if f.issued[certname] != nil || f.requests[certname] != nil {
			http.Error(w, certname+" already has a requested certificate; ignoring certificate request", http.StatusBadRequest)
			return
		}
		f.requests[certname] = body
	case "PUT certificate_status":
		if f.beforeSign != nil {
			f.beforeSign(certname)
		}
		if f.requests[certname] == nil || !bytes.Contains(body, []byte(`"signed"`)) {
			http.NotFound(w, r)
			return
		}
		block, _ := pem.Decode(f.requests[certname])
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.issued[certname] = f.issue(&x509.Certificate{Subject: request.Subject, DNSNames: request.DNSNames, IPAddresses: request.IPAddresses, ExtraExtensions: puppetOnly(request.Extensions)}, request.PublicKey)
		delete(f.requests, certname)
		w.WriteHeader(http.StatusNoContent)
	case "DELETE certificate_status":
		delete(f.requests, certname)
		delete(f.issued, certname)
		w.WriteHeader(http.StatusNoContent)
	case "PUT clean": // which leaves requests where they are
		for name, certificate := range f.issued {
			if bytes.Contains(body, []byte(`"`+name+`"`)) {
				f.revoked = append(f.revoked, certificate.SerialNumber)
				delete(f.issued, name)
			}
		}
	case "POST certificate_renewal":
		if !f.renews {
			http.NotFound(w, r)
			return
		}
		if len(r.TLS.PeerCertificates) == 0 {
			http.Error(w, "who are you", http.StatusForbidden)
			return
		}
		shown := r.TLS.PeerCertificates[0]
		renewed := f.issue(&x509.Certificate{Subject: shown.Subject, DNSNames: shown.DNSNames, IPAddresses: shown.IPAddresses, ExtraExtensions: puppetOnly(shown.Extensions)}, shown.PublicKey)
		f.issued[shown.Subject.CommonName] = renewed
		_, _ = w.Write(encodeCertificate(renewed))
	case "GET certificate_revocation_list":
		f.giveCRL(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fakeCA) give(w http.ResponseWriter, has bool, what func() []byte) {
	if !has {
		http.Error(w, "Could not find it", http.StatusNotFound)
		return
	}
	_, _ = w.Write(what())
}

// giveCRL answers 304 as the real one does: by the date of its file, which it never tells.
func (f *fakeCA) giveCRL(w http.ResponseWriter, r *http.Request) {
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	switch {
	case f.etag != "" && r.Header.Get("If-None-Match") == f.etag, err == nil && !f.changed.After(since):
		w.WriteHeader(http.StatusNotModified)
		return
	case f.etag != "":
		w.Header().Set("ETag", f.etag)
	}
	_, _ = w.Write(f.list(f.crl))
}

// issue fills in a template, and signs it.
func (f *fakeCA) issue(template *x509.Certificate, public any) *x509.Certificate {
	f.serial++
	now := f.clock()
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(f.serial), now.Add(-time.Hour), now.Add(f.lifetime)
	if f.ahead != 0 {
		template.NotBefore = now.Add(f.ahead)
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, f.root, public, f.key)
	require.NoError(f.t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(f.t, err)
	return certificate
}

func puppetOnly(all []pkix.Extension) (out []pkix.Extension) {
	for _, e := range all {
		if strings.HasPrefix(e.Id.String(), "1.3.6.1.4.1.34380.") {
			out = append(out, e)
		}
	}
	return out
}

func (f *fakeCA) list(number int64) []byte {
	template := &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: time.Now().Add(time.Duration(number) * time.Minute), NextUpdate: time.Now().Add(24 * time.Hour)}
	for _, serial := range f.revoked {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, f.root, f.key)
	require.NoError(f.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

func (f *fakeCA) count(call string) (n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, made := range f.calls {
		if made == call {
			n++
		}
	}
	return n
}
