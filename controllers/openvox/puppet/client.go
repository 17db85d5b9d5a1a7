// Package puppet speaks the HTTP API of a Puppet CA.
package puppet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultTimeout = 30 * time.Second
	maxBody        = 10 << 20
	// handshakeTimeout is for a server that takes connections and does nothing with them.
	handshakeTimeout = 10 * time.Second
)

// ErrNotFound means that the CA does not have the requested object.
var ErrNotFound = errors.New("the CA does not have it")

// Server is where a CA answers, and how it is known.
type Server struct {
	URL string
	// CA is a bundle in PEM of those who may have issued the server's certificate.
	CA []byte
	// Certificate and Key are in PEM who asks: none for what anybody may ask.
	Certificate, Key []byte
	// Insecure takes any server for the CA.
	Insecure bool
	// Quoted has errors repeat what the server says: never of one that others may name.
	Quoted bool
	// Timeout is for one request and its whole answer: 30 s unless set.
	Timeout time.Duration
	// Dial connects to the server, in place of the network and its proxies. The server is
	// still verified by the name in URL.
	Dial func(ctx context.Context) (net.Conn, error)
}

// Client asks one CA. It keeps connections open; Close ends them.
type Client struct {
	base   string
	http   *http.Client
	quoted bool
}

// NewClient makes a client. Nothing is sent yet.
func NewClient(s Server) (*Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.Insecure} //nolint:gosec // the user's own wish
	if len(s.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(s.CA) {
			return nil, errors.New("the bundle of the CA holds no certificate in PEM")
		}
	}
	if len(s.Certificate) > 0 || len(s.Key) > 0 {
		pair, err := tls.X509KeyPair(s.Certificate, s.Key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate for the CA: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, TLSHandshakeTimeout: handshakeTimeout,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
	}
	if s.Dial != nil {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return s.Dial(ctx) }
	}
	return &Client{
		base: strings.TrimSuffix(s.URL, "/") + "/puppet-ca/v1/", quoted: s.Quoted,
		http: &http.Client{
			Timeout:   cmp.Or(s.Timeout, defaultTimeout),
			Transport: transport,
			// A CA never redirects: credentials would be sent along.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Certificate is the certificate that the CA has for a certname, or ErrNotFound.
func (c *Client) Certificate(ctx context.Context, certname string) (*x509.Certificate, error) {
	text, err := c.do(ctx, http.MethodGet, "certificate/"+url.PathEscape(certname), "", nil)
	return parse(text, err, parseCertificate, "fetching the certificate of "+certname)
}

// Request is the request that waits at the CA for a certname, or ErrNotFound.
func (c *Client) Request(ctx context.Context, certname string) (*x509.CertificateRequest, error) {
	text, err := c.do(ctx, http.MethodGet, "certificate_request/"+url.PathEscape(certname), "", nil)
	return parse(text, err, parseRequest, "fetching the request of "+certname)
}

// RequestText is the request that waits at the CA for a certname as the CA has written it, or
// ErrNotFound.
func (c *Client) RequestText(ctx context.Context, certname string) ([]byte, error) {
	text, err := c.do(ctx, http.MethodGet, "certificate_request/"+url.PathEscape(certname), "", nil)
	if err != nil {
		return nil, fmt.Errorf("fetching the request of %s: %w", certname, err)
	}
	return text, nil
}

// parse parses an answer, if there is one. doing describes the request.
func parse[T any](text []byte, err error, read func([]byte) (*T, error), doing string) (*T, error) {
	if err == nil {
		var answer *T
		if answer, err = read(text); err == nil {
			return answer, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", doing, err)
}

// Submit sends a request in PEM. If the CA already has a request, it keeps that one, which is
// not an error: see Request.
func (c *Client) Submit(ctx context.Context, certname string, request []byte) error {
	_, err := c.do(ctx, http.MethodPut, "certificate_request/"+url.PathEscape(certname), "text/plain", request)
	if status, ok := errors.AsType[*StatusError](err); ok && status.Code == http.StatusBadRequest && strings.Contains(status.Body, "already has a requested certificate") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("submitting the request of %s: %w", certname, err)
	}
	return nil
}

// Status reads the CA's state of a certname, which only administrators may read. It returns a
// *StatusError with code 403 for other clients, and ErrNotFound for an unknown certname.
func (c *Client) Status(ctx context.Context, certname string) error {
	if _, err := c.do(ctx, http.MethodGet, "certificate_status/"+url.PathEscape(certname), "", nil); err != nil {
		return fmt.Errorf("reading the status of %s: %w", certname, err)
	}
	return nil
}

// Sign makes the CA sign the pending request for a certname.
func (c *Client) Sign(ctx context.Context, certname string) error {
	if _, err := c.do(ctx, http.MethodPut, "certificate_status/"+url.PathEscape(certname), "application/json", []byte(`{"desired_state":"signed"}`)); err != nil {
		return fmt.Errorf("signing %s: %w", certname, err)
	}
	return nil
}

// Revoke revokes the certificate of a certname. The CA keeps its file, so that it can be
// revoked again. Calls that overlap overwrite each other's CRL.
func (c *Client) Revoke(ctx context.Context, certname string) error {
	if _, err := c.do(ctx, http.MethodPut, "certificate_status/"+url.PathEscape(certname), "application/json", []byte(`{"desired_state":"revoked"}`)); err != nil {
		return fmt.Errorf("revoking %s: %w", certname, err)
	}
	return nil
}

// Clean revokes and deletes the certificates of certnames. Pending requests stay. Concurrent
// calls overwrite each other's CRL.
func (c *Client) Clean(ctx context.Context, certnames ...string) error {
	body, err := json.Marshal(map[string][]string{"certnames": certnames})
	if err != nil {
		return err
	}
	if _, err := c.do(ctx, http.MethodPut, "clean", "application/json", body); err != nil {
		return fmt.Errorf("cleaning %s: %w", strings.Join(certnames, ", "), err)
	}
	return nil
}

// ErrSigned is of a request that cannot be removed, because the CA has signed it.
var ErrSigned = errors.New("the CA has signed the request in the meantime")

// Withdraw removes the request that waits for a certname, which Clean leaves where it is, or
// returns ErrSigned. Where the CA does not permit certificate_request to be deleted, as by
// Puppet's own auth.conf, certificate_status is: that would also remove a certificate, without
// revoking it, so the CA is asked immediately before that the request still waits.
func (c *Client) Withdraw(ctx context.Context, certname string) error {
	failed := func(err error) error { return fmt.Errorf("removing the request of %s: %w", certname, err) }
	_, err := c.do(ctx, http.MethodDelete, "certificate_request/"+url.PathEscape(certname), "", nil)
	if err == nil {
		return nil
	}
	answer, answered := errors.AsType[*StatusError](err)
	answered = answered && (answer.Code == http.StatusForbidden || answer.Code == http.StatusMethodNotAllowed)
	if !answered && !errors.Is(err, ErrNotFound) {
		return failed(err)
	}
	switch status, err := c.CertificateStatus(ctx, certname); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return failed(err)
	case status.State != StateRequested:
		return failed(ErrSigned)
	}
	if _, err := c.do(ctx, http.MethodDelete, "certificate_status/"+url.PathEscape(certname), "", nil); err != nil && !errors.Is(err, ErrNotFound) {
		return failed(err)
	}
	return nil
}

// ErrNoRenewal is of CAs that do not know certificate_renewal, or do not permit it.
var ErrNoRenewal = errors.New("the CA offers no certificate_renewal")

// Renew asks for the next certificate for the key of the one that the client shows, or
// returns ErrNoRenewal. The request in PEM is of that key; servers may go by the shown
// certificate alone.
func (c *Client) Renew(ctx context.Context, request []byte) (*x509.Certificate, error) {
	text, err := c.do(ctx, http.MethodPost, "certificate_renewal", "text/plain", request)
	var status *StatusError
	if errors.Is(err, ErrNotFound) || errors.As(err, &status) && status.Code == http.StatusForbidden {
		return nil, ErrNoRenewal
	}
	return parse(text, err, parseCertificate, "renewing")
}

func (c *Client) do(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	return c.doUpTo(ctx, maxBody, method, path, contentType, body)
}

// doUpTo is do for an answer of at most limit bytes.
func (c *Client) doUpTo(ctx context.Context, limit int, method, path, contentType string, body []byte) ([]byte, error) {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	_, text, err := c.sendUpTo(request, limit)
	return text, err
}

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	path, query, _ := strings.Cut(path, "?")
	request, err := http.NewRequestWithContext(ctx, method, c.base+path+"?environment=production"+query, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	// Text endpoints have no other format, and endpoints that write have no text format.
	request.Header.Set("Accept", "text/plain, application/json;q=0.5")
	return request, nil
}

// send returns the answer of a CA to a successful request, and an error otherwise.
func (c *Client) send(request *http.Request) (http.Header, []byte, error) {
	return c.sendUpTo(request, maxBody)
}

func (c *Client) sendUpTo(request *http.Request, limit int) (http.Header, []byte, error) {
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, unansweredError{c.explain(err)}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, nil, unansweredError{fmt.Errorf("reading the answer: %w", c.explain(err))}
	case len(text) > limit:
		return nil, nil, unansweredError{fmt.Errorf("the answer is longer than %d bytes", limit)}
	case response.StatusCode == http.StatusNotFound:
		return nil, nil, ErrNotFound
	case response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent:
		const shown = 200
		return response.Header, nil, &StatusError{response.StatusCode, graphic(string(text[:min(len(text), shown)])), c.quoted}
	case strings.HasPrefix(response.Header.Get("Content-Type"), "text/html"):
		return nil, nil, unansweredError{errors.New("the answer is a web page: the server is not a Puppet CA")}
	}
	return response.Header, text, nil
}

// parseCertificate reads the first certificate: any others belong to CAs.
func parseCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("the answer is not a certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

func parseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || !strings.HasSuffix(block.Type, "CERTIFICATE REQUEST") {
		return nil, errors.New("the answer is not a certificate request")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
