package endpoints

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func callEndpoint(t *testing.T, e Endpoint, method, path string) (Answer, error) {
	t.Helper()
	target, err := url.Parse(e.URL + path)
	require.NoError(t, err)
	c := Call{Method: method, URL: target, Limit: 1000, Headers: []Header{{"X-More", "more"}}}
	if method == http.MethodPost {
		c.Body, c.ContentType = []byte("{}"), "application/json"
	}
	return e.Do(t.Context(), c)
}

// TestCredentials: each kind is sent in its header, and custom headers take precedence.
func TestCredentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "authorization=%s token=%s more=%s", r.Header.Get("Authorization"), r.Header.Get("X-Token"), r.Header.Get("X-More"))
	}))
	defer server.Close()
	for _, c := range []struct {
		auth *Auth
		want string
	}{
		{nil, "authorization= token= more=more"},
		{&Auth{Type: AuthBasic, Username: "ann", Password: "pa:ss"}, "authorization=Basic YW5uOnBhOnNz token= more=more"},
		{&Auth{Type: AuthBearer, Token: "t"}, "authorization=Bearer t token= more=more"},
		{&Auth{Type: AuthToken, Header: "X-Token", Token: "t"}, "authorization= token=t more=more"},
		{&Auth{Type: AuthToken, Header: "X-More", Token: "t"}, "authorization= token= more=more"},
		{&Auth{Type: AuthMTLS}, "authorization= token= more=more"},
	} {
		answer, err := callEndpoint(t, Endpoint{URL: server.URL, TimeoutSeconds: 5, Auth: c.auth}, http.MethodPost, "/")
		require.NoError(t, err)
		require.Equal(t, c.want, string(answer.Body))
	}
}

// TestFaults: the error names the server, and not the path, which may be a secret.
func TestFaults(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server is asked") }))
	defer elsewhere.Close()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/secret/hang":
			<-hang
		case "/secret/halfway":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half")
			w.(http.Flusher).Flush()
			<-hang
		case "/secret/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half")
		case "/secret/huge":
			fmt.Fprint(w, strings.Repeat("a", 1001))
		case "/secret/away":
			http.Redirect(w, r, elsewhere.URL+"/other-secret", http.StatusTemporaryRedirect)
		case "/secret/loop":
			http.Redirect(w, r, "/secret/loop", http.StatusTemporaryRedirect)
		case "/secret/moved":
			http.Redirect(w, r, "/secret/here", http.StatusFound)
		case "/secret/kept":
			http.Redirect(w, r, "/secret/here", http.StatusPermanentRedirect)
		case "/secret/here":
			body, _ := io.ReadAll(r.Body)
			fmt.Fprint(w, r.Method+string(body))
		}
	}))
	defer server.Close()
	defer close(hang)
	e := Endpoint{URL: server.URL, TimeoutSeconds: 1, Auth: &Auth{Type: AuthBearer, Token: "hunter2"}}
	for path, want := range map[string]string{
		"hang": "there is no answer after 1s", "halfway": "there is no whole answer after 1s", "cut": "reading the answer: unexpected EOF",
		"huge": "the answer has more than 1000 bytes", "away": "it leads to another server, " + elsewhere.URL + ", which is not asked; name that one in the URL",
		"loop": "it leads elsewhere more than 3 times", "moved": "it leads elsewhere, where nothing could be posted; name that place in the URL",
	} {
		_, err := callEndpoint(t, e, http.MethodPost, "/secret/"+path)
		require.EqualError(t, err, "asking "+server.URL+": "+want, path)
	}
	for path, want := range map[string]string{"kept": "POST{}", "here": "POST{}"} {
		answer, err := callEndpoint(t, e, http.MethodPost, "/secret/"+path)
		require.NoError(t, err)
		require.Equal(t, want, string(answer.Body))
	}
	answer, err := callEndpoint(t, e, http.MethodGet, "/secret/moved")
	require.NoError(t, err)
	require.Equal(t, "GET", string(answer.Body))

	server.CloseClientConnections()
	_, err = callEndpoint(t, Endpoint{URL: "http://127.0.0.1:1", TimeoutSeconds: 1}, http.MethodGet, "/secret")
	require.ErrorContains(t, err, "asking http://127.0.0.1:1: dial tcp 127.0.0.1:1: ")
}

// authority is a CA that signs for 127.0.0.1 and other names.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA " + t.Name() + time.Now().String()}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	a := &authority{t, certificate, key, filepath.Join(t.TempDir(), "ca.pem")}
	require.NoError(t, os.WriteFile(a.file, a.pem(), 0o600))
	return a
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// pair is a certificate for a name, or for 127.0.0.1 where that is empty.
func (a *authority) pair(name string) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	if name != "" {
		template.DNSNames = []string{name}
	} else {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serve is a server with a pair, which says who asks.
func serve(t *testing.T, pair tls.Certificate) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, certificate := range r.TLS.PeerCertificates {
			fmt.Fprint(w, certificate.Subject.CommonName)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// TestTrust: a server is verified with the Puppet CA or the system's CAs, or with a configured
// CA alone, and always by its name.
func TestTrust(t *testing.T) {
	puppet, system, own := newAuthority(t), newAuthority(t), newAuthority(t)
	t.Setenv("SSL_CERT_FILE", system.file)
	t.Setenv("SSL_CERT_DIR", t.TempDir())
	files := SSL{CAFile: puppet.file}
	given := SSL{CAFile: puppet.file, CA: string(own.pem())}
	for name, c := range map[string]struct {
		pair tls.Certificate
		ssl  SSL
		want string
	}{
		"the Puppet CA's":                    {puppet.pair(""), files, ""},
		"the system's":                       {system.pair(""), files, ""},
		"the system's, without a Puppet CA":  {system.pair(""), SSL{CAFile: "/does/not/exist"}, ""},
		"nobody's":                           {own.pair(""), files, "certificate signed by unknown authority"},
		"the one's that is given":            {own.pair(""), given, ""},
		"the Puppet CA's, but one is given":  {puppet.pair(""), given, "certificate signed by unknown authority"},
		"the system's, but one is given":     {system.pair(""), given, "certificate signed by unknown authority"},
		"the Puppet CA's for another name":   {puppet.pair("a.example.com"), files, "certificate"},
		"the system's for another name":      {system.pair("a.example.com"), files, "certificate"},
		"one that is given for another name": {own.pair("a.example.com"), given, "certificate"},
		"what is given is none":              {own.pair(""), SSL{CA: "x"}, "the configured CA does not contain a certificate"},
	} {
		_, err := callEndpoint(t, Endpoint{URL: serve(t, c.pair), TimeoutSeconds: 5, SSL: c.ssl}, http.MethodGet, "/")
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}
}

// TestOwnCertificate: the server presents its own certificate with mtls only.
func TestOwnCertificate(t *testing.T) {
	puppet := newAuthority(t)
	pair, folder := puppet.pair("puppet"), t.TempDir()
	files := SSL{CAFile: puppet.file, CertFile: filepath.Join(folder, "cert.pem"), KeyFile: filepath.Join(folder, "key.pem")}
	target := Endpoint{URL: serve(t, puppet.pair("")), TimeoutSeconds: 5, SSL: files, Auth: &Auth{Type: AuthMTLS}}
	_, err := callEndpoint(t, target, http.MethodGet, "/")
	require.ErrorContains(t, err, "reading the server's own certificate: open "+files.CertFile)

	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(files.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	answer, err := callEndpoint(t, target, http.MethodGet, "/")
	require.NoError(t, err)
	require.Equal(t, "puppet", string(answer.Body))
	target.Auth = nil
	answer, err = callEndpoint(t, target, http.MethodGet, "/")
	require.NoError(t, err)
	require.Empty(t, string(answer.Body))
}
