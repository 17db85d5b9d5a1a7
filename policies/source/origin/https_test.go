package origin

import (
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/external/rules"
)

// serveData starts a server of data with TLS. It returns the request for /list.json.
func serveData(t *testing.T, handler http.HandlerFunc) Request {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return dataRequest(server.URL, certificateOf(server))
}

func dataRequest(address string, authority []byte) Request {
	return Request{
		HTTPS:  &v1alpha1.HTTPSOrigin{URL: address + "/list.json", CABundle: authority},
		Data:   &DataRules{Rules: rules.Rules{MaxBytes: 1000, MinEntries: 1, Schema: json.RawMessage(`{"type":"array","items":{"type":"string"}}`)}},
		Limits: DataLimits(1000),
	}
}

func answerWith(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestDataOverHTTPS(t *testing.T) {
	t.Parallel()
	text := ` ["b", "a"] `
	request := serveData(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, text)
	})
	_, err := fetch(t.Context(), request)
	requireRefused(t, err, ReasonAuthenticationFailed, "refuses the credentials")
	request.Credentials = map[string][]byte{"bearerToken": []byte("t\n")}
	answer, err := fetch(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"data.json": `["b","a"]`}, answer.Files)
	require.Equal(t, 2, answer.Entries)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", answer.Revision)
	request.Known = answer.Revision
	again, err := fetch(t.Context(), request)
	require.NoError(t, err)
	require.Nil(t, again.Files)
}

// TestDataThatIsRefused: each of these keeps the last good data in force.
func TestDataThatIsRefused(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(answerWith(`["a"]`))
	t.Cleanup(elsewhere.Close)
	for name, c := range map[string]struct {
		handler       http.HandlerFunc
		reason, words string
	}{
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/list.json?token=secret", http.StatusFound)
		}, ReasonRedirected, "redirects to " + elsewhere.URL + "/list.json, which is not followed"},
		"a redirect to itself": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusMovedPermanently)
		}, ReasonRedirected, "not followed"},
		"nothing there":     {http.NotFound, ReasonNotFound, "does not exist (404 Not Found)"},
		"an error":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, ReasonFetchFailed, "502 Bad Gateway"},
		"no content":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, ReasonFetchFailed, "204 No Content"},
		"shrunk to nothing": {answerWith("[]"), rules.ReasonTooFewEntries, "has 0 entries"},
		"an empty file":     {answerWith(""), rules.ReasonUnreadable, "it is empty"},
		"another schema":    {answerWith(`["a", {"name": "b"}]`), rules.ReasonSchemaMismatch, "data[1]"},
		"duplicate keys":    {answerWith(`[{"a":1,"a":2}]`), rules.ReasonUnreadable, "duplicate"},
		"not data":          {answerWith("<html>sign in</html>"), rules.ReasonUnreadable, ""},
		"a broken connection": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `["a"`)
		}, ReasonFetchFailed, "unexpected EOF"},
	} {
		_, err := fetch(t.Context(), serveData(t, c.handler))
		requireRefused(t, err, c.reason, c.words)
		require.NotContains(t, err.Error(), "secret", name)
	}
}

// TestDataWithoutEnd is refused while it is received: the server sends as long as it is read.
func TestDataWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, compressed := range []bool{false, true} {
		sent := make(chan int, 1)
		request := serveData(t, func(w http.ResponseWriter, _ *http.Request) {
			var to io.Writer = w
			if compressed {
				w.Header().Set("Content-Encoding", "gzip")
				to = gzip.NewWriter(w)
			}
			n := 0
			for {
				if _, err := io.WriteString(to, strings.Repeat(`["a",`, 1000)); err != nil {
					sent <- n
					return
				}
				n += 5000
			}
		})
		_, err := fetch(t.Context(), request)
		requireRefused(t, err, rules.ReasonTooLarge, "sends more than 1000 bytes")
		<-sent
	}
}

func TestSlowServerOfData(t *testing.T) {
	t.Parallel()
	request := serveData(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	request.Limits.Time = 2 * time.Second
	_, err := fetchApart(t, request)
	requireRefused(t, err, ReasonFetchFailed, "took longer than 2s")
}

func TestCertificatesOfServersOfData(t *testing.T) {
	t.Parallel()
	unknown := serveData(t, answerWith(`["a"]`))
	other, _ := certificate(t, time.Now().Add(time.Hour), "127.0.0.1")
	unknown.HTTPS.CABundle = other
	_, err := fetch(t.Context(), unknown)
	requireRefused(t, err, ReasonCertificateRefused, "set spec.https.caBundle")
	unknown.HTTPS.CABundle = []byte("x")
	_, err = fetch(t.Context(), unknown)
	requireRefused(t, err, ReasonCredentialsInvalid, "no certificate in PEM")

	for name, c := range map[string]struct {
		ends  time.Time
		host  string
		words string
	}{
		"expired":      {time.Now().Add(-time.Hour), "127.0.0.1", "has expired"},
		"another host": {time.Now().Add(time.Hour), "192.0.2.1", "not valid for it"},
	} {
		authority, pair := certificate(t, c.ends, c.host)
		server := httptest.NewUnstartedServer(answerWith(`["a"]`))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		server.StartTLS()
		t.Cleanup(server.Close)
		_, err := fetch(t.Context(), dataRequest(server.URL, authority))
		requireRefused(t, err, ReasonCertificateRefused, c.words)
		require.Error(t, err, name)
	}
}

// certificate is a certificate that is its own authority.
func certificate(t *testing.T, ends time.Time, host string) (authority []byte, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: ends.Add(-2 * time.Hour), NotAfter: ends,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.ParseIP(host)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestSignedData(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	sign := func(key *ecdsa.PrivateKey, text string) string {
		sum := sha256.Sum256([]byte(text))
		signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString(signature)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	const text = `["a"]`
	for name, c := range map[string]struct{ signature, words string }{
		"signed":           {sign(key, text) + "\n", ""},
		"unsigned":         {"", "is not signed: there is no signature at"},
		"another key":      {sign(other, text), "none of the keys fits"},
		"another text":     {sign(key, `["b"]`), "none of the keys fits"},
		"not in base64":    {"%", "not in base64"},
		"a signature page": {"<html>", "not in base64"},
	} {
		request := serveData(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/list.json":
				_, _ = io.WriteString(w, text)
			case r.URL.Path == "/list.json.sig" && c.signature != "":
				_, _ = io.WriteString(w, c.signature)
			default:
				http.NotFound(w, r)
			}
		})
		request.HTTPS.Verify = &v1alpha1.HTTPSVerification{}
		request.Keys = map[string][]byte{"cosign.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}
		answer, err := fetch(t.Context(), request)
		if c.words == "" {
			require.NoError(t, err, name)
			require.Equal(t, "the data is signed by cosign.pub", answer.Signature)
			continue
		}
		requireRefused(t, err, ReasonVerificationFailed, c.words)
	}
}

// TestSignatureElsewhereGetsNoCredentials: they are for the server of the data.
func TestSignatureElsewhereGetsNoCredentials(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		http.NotFound(w, r)
	}))
	t.Cleanup(elsewhere.Close)
	request := serveData(t, answerWith(`["a"]`))
	request.HTTPS.CABundle = append(request.HTTPS.CABundle, certificateOf(elsewhere)...)
	request.HTTPS.Verify = &v1alpha1.HTTPSVerification{SignatureURL: elsewhere.URL + "/list.sig"}
	request.Credentials = map[string][]byte{"bearerToken": []byte("t")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	request.Keys = map[string][]byte{"cosign.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}
	_, err = fetch(t.Context(), request)
	requireRefused(t, err, ReasonVerificationFailed, "is not signed")
	require.Empty(t, <-seen)
}

func TestDataURLs(t *testing.T) {
	t.Parallel()
	for address, words := range map[string]string{
		"https://a.example/x?y=1": "", "http://a.example/x": "must begin with https://", "https://u:p@a.example/x": "contains credentials", "https://": "must begin with", "file:///etc/passwd": "must begin with",
	} {
		if err := CheckDataURL(address); words == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, words, address)
			require.NotContains(t, err.Error(), "u:p")
		}
	}
}

func TestDataFromArtifacts(t *testing.T) {
	t.Parallel()
	r := startRegistry(t, nil)
	r.push("latest", r.tarball(map[string]string{"lists/registries.json": `["a"]`, "lists/other.json": "{", "p.rego": module}))
	request := r.request()
	request.OCI.Path = "lists"
	request.Data = &DataRules{File: "registries.json", Rules: rules.Rules{MaxBytes: 1000}}
	answer, err := fetch(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"data.json": `["a"]`}, answer.Files)
	request.Data.MaxBytes, request.Limits = 3, DataLimits(3)
	_, err = fetch(t.Context(), request)
	requireRefused(t, err, ReasonTooLarge, "has more than 3 bytes of data")
	request.Data.MaxBytes, request.Limits = 1000, DataLimits(1000)
	request.Data.File = "missing.json"
	_, err = fetch(t.Context(), request)
	requireRefused(t, err, ReasonNotFound, "has no file missing.json: correct spec.file")
	request.Data.File = "other.json"
	_, err = fetch(t.Context(), request)
	requireRefused(t, err, rules.ReasonUnreadable, "other.json cannot be read")
}

// TestLargestData: the child that fetches has memory for the largest data, and its schema.
func TestLargestData(t *testing.T) {
	t.Parallel()
	const most = 4 << 20 // the maximum of spec.maxBytes
	one := `{"id":"CVE-2026-00000","severity":"high","fixed":true,"packages":["a","b"]}`
	text := "[" + strings.Repeat(one+",", most/(len(one)+1)-1) + one + "]"
	request := serveData(t, answerWith(text))
	request.Data.MaxBytes, request.Limits = most, DataLimits(most)
	request.Data.Schema = json.RawMessage(`{"type":"array","items":{"type":"object","required":["id"],"properties":{"id":{"type":"string","pattern":"^CVE-"},"packages":{"type":"array","items":{"type":"string"}}}}}`)
	answer, err := fetchApart(t, request)
	require.NoError(t, err)
	require.Len(t, answer.Files["data.json"], len(`{"fixed":true,"id":"CVE-2026-00000","packages":["a","b"],"severity":"high"},`)*answer.Entries+1)
}
