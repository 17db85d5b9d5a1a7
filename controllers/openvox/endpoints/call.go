package endpoints

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Call is a request to an endpoint.
type Call struct {
	Method string
	URL    *url.URL
	// Body is sent as ContentType: nil for none.
	Body                []byte
	ContentType, Accept string
	Headers             []Header
	// Limit is how many bytes of an answer are read.
	Limit int64
}

// Answer is what an endpoint has answered.
type Answer struct {
	Status int
	Body   []byte
}

// maxRedirects is how often an endpoint may name another path.
const maxRedirects = 3

// Do makes a request. The error names the server, and neither path nor credentials.
func (e Endpoint) Do(ctx context.Context, call Call) (Answer, error) {
	answer, err := e.do(ctx, call)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
		if wrapped.Timeout() {
			err = fmt.Errorf("there is no answer after %ds", e.TimeoutSeconds)
		}
	}
	if err != nil {
		return Answer{}, fmt.Errorf("asking %s://%s: %w", call.URL.Scheme, call.URL.Host, err)
	}
	return answer, nil
}

func (e Endpoint) do(ctx context.Context, call Call) (Answer, error) {
	var body io.Reader
	if call.Body != nil {
		body = bytes.NewReader(call.Body)
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, call.URL.String(), body)
	if err != nil {
		return Answer{}, err
	}
	e.Auth.apply(request)
	for name, value := range map[string]string{"Content-Type": call.ContentType, "Accept": call.Accept} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	request.Header.Set("User-Agent", "lintel")
	for _, header := range call.Headers {
		request.Header.Set(header.Name, header.Value)
	}
	client, err := e.client(call.URL)
	if err != nil {
		return Answer{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, call.Limit+1))
	timeout := net.Error(nil)
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return Answer{}, fmt.Errorf("there is no whole answer after %ds", e.TimeoutSeconds)
	case err != nil:
		return Answer{}, fmt.Errorf("reading the answer: %w", err)
	case int64(len(text)) > call.Limit:
		return Answer{}, fmt.Errorf("the answer has more than %d bytes", call.Limit)
	}
	return Answer{response.StatusCode, text}, nil
}

// client returns a client for one request, which sends credentials to no other server.
func (e Endpoint) client(target *url.URL) (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if target.Scheme == "https" {
		config, err := e.tls(target.Hostname())
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = config
	}
	return &http.Client{
		Transport: transport, Timeout: time.Duration(e.TimeoutSeconds) * time.Second,
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			first := before[0]
			switch {
			case next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host:
				return fmt.Errorf("it leads to another server, %s://%s, which is not asked; name that one in the URL", next.URL.Scheme, next.URL.Host)
			case next.Method != first.Method:
				return errors.New("it leads elsewhere, where nothing could be posted; name that place in the URL")
			case len(before) > maxRedirects:
				return fmt.Errorf("it leads elsewhere more than %d times", maxRedirects)
			}
			return nil
		},
	}, nil
}

func (a *Auth) apply(request *http.Request) {
	if a == nil {
		return
	}
	switch a.Type {
	case AuthToken:
		request.Header.Set(a.Header, a.Token)
	case AuthBearer:
		request.Header.Set("Authorization", "Bearer "+a.Token)
	case AuthBasic:
		request.SetBasicAuth(a.Username, a.Password)
	}
}

func (e Endpoint) tls(host string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.Auth != nil && e.Auth.Type == AuthMTLS {
		pair, err := tls.LoadX509KeyPair(e.SSL.CertFile, e.SSL.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the server's own certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if e.SSL.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(e.SSL.CA)) {
			return nil, errors.New("the configured CA does not contain a certificate")
		}
		return config, nil
	}
	puppet, err := e.SSL.puppetCA()
	if err != nil {
		return nil, err
	}
	// The system's roots take longer to read than all else: they are read where the Puppet CA
	// does not know the server.
	config.InsecureSkipVerify = true // VerifyConnection verifies
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if verify(state, host, puppet) == nil {
			return nil
		}
		system, err := systemRoots()
		if err != nil {
			return fmt.Errorf("reading the system's CAs: %w", err)
		}
		return verify(state, host, system)
	}
	return config, nil
}

// puppetCA has no certificates where there is no such file.
func (s SSL) puppetCA() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	text, err := os.ReadFile(s.CAFile)
	if errors.Is(err, fs.ErrNotExist) {
		return pool, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the Puppet CA: %w", err)
	}
	pool.AppendCertsFromPEM(text)
	return pool, nil
}

func verify(state tls.ConnectionState, host string, roots *x509.CertPool) error {
	intermediates := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: intermediates})
	return err
}

// bundles are where distributions have the system's roots in one file.
var bundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}

// systemRoots reads one file where there is one: Go reads a folder of the same roots, too.
func systemRoots() (*x509.CertPool, error) {
	if os.Getenv("SSL_CERT_FILE")+os.Getenv("SSL_CERT_DIR") == "" {
		for _, bundle := range bundles {
			if text, err := os.ReadFile(bundle); err == nil {
				pool := x509.NewCertPool()
				if pool.AppendCertsFromPEM(text) {
					return pool, nil
				}
			}
		}
	}
	return x509.SystemCertPool()
}

// Server names an endpoint without its path.
func (e Endpoint) Server() string {
	parsed, err := e.parse()
	if err != nil {
		return "the endpoint"
	}
	return parsed.Scheme + "://" + parsed.Host
}

// Join is a path below the URL.
func (e Endpoint) Join(path string) (*url.URL, error) {
	if _, err := e.parse(); err != nil {
		return nil, err
	}
	return url.Parse(strings.TrimSuffix(e.URL, "/") + path)
}
