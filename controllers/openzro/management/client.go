package management

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	// requestTimeout is how long a server has for an answer.
	requestTimeout = 10 * time.Second
	// maxAnswer is how long an answer may be, and all that is remembered of a tenant, in
	// bytes.
	maxAnswer = 16 << 20
	// maxValues is how many values either may have, by their commas: each takes a few
	// hundred bytes, however short it is written.
	maxValues = 1 << 18
	// maxKey is how long a key may be, in bytes.
	maxKey = 1024
	// maxConnections is the number of idle connections to a server.
	maxConnections = perTenant
	// maxRedirects within one host are followed.
	maxRedirects = 3
	// streamTimeouts is how many requestTimeouts a list has that is read as a stream. Its
	// first byte has one.
	streamTimeouts = 6
)

// Credentials are the address and the key of a Tenant.
type Credentials struct {
	// URL is that of the server, with or without /api.
	URL string
	Key string
	// CA is PEM: certificates that are trusted in place of those of the system.
	CA string
	// Name is the tenant's name in messages. It is not part of the identity of credentials.
	Name string
	// Elsewhere reports that the server is not on this machine, wherever its name resolves to.
	Elsewhere bool
	// Quoted is whether errors quote answers of the server. A tenant names a server in a
	// Secret, which may be any that the manager reaches, and reads the errors.
	Quoted bool
}

// client sends requests to one server with one key.
type client struct {
	base    string
	key     string
	quoted  bool
	http    *http.Client
	observe Observe
	timeout time.Duration
}

// Observe counts requests: code is 0 where no answer came.
type Observe func(method, collection string, code int)

func newClient(c Credentials, observe Observe) (*client, error) {
	base, err := baseOf(c.URL)
	if err != nil {
		return nil, err
	}
	if len(c.Key) > maxKey {
		return nil, fmt.Errorf("the key is longer than %d bytes, which no key is; copy it again", maxKey)
	}
	for _, r := range c.Key {
		if r <= ' ' || r >= 0x7f {
			return nil, errors.New("the key has characters that no key has, such as spaces or line breaks within; copy it again")
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.ResponseHeaderTimeout = maxConnections, requestTimeout
	transport.DialContext = (&net.Dialer{Timeout: requestTimeout / 2, KeepAlive: 30 * time.Second, Control: reachable(c.Elsewhere)}).DialContext
	if c.CA != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, errors.New("ca.crt holds no certificate in PEM")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &client{
		base: base, key: c.Key, quoted: c.Quoted, observe: observe, timeout: requestTimeout,
		http: &http.Client{Transport: transport, CheckRedirect: checkRedirect},
	}, nil
}

// IsLocal reports whether an address is a literal name or IP of this machine.
func IsLocal(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// baseOf is the address below which the collections are.
func baseOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("managementURL %q is not a URL such as https://api.openzro.io", text)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("managementURL has a user, a query or a fragment; give scheme, host and path alone")
	}
	return strings.TrimSuffix(strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), "/api") + "/api", nil
}

// SameServer reports whether two addresses belong to one server, with or without /api.
func SameServer(one, other string) bool {
	a, err := baseOf(one)
	if err != nil {
		return false
	}
	b, err := baseOf(other)
	return err == nil && strings.EqualFold(a, b)
}

// checkRedirect follows redirects of reads within a server: a key is sent nowhere else, and a
// write that is led elsewhere may become a read.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

var comma = []byte{','}

// do sends a request, and decodes the response into out, unless that is nil. of is the
// collection, for metrics.
func (c *client) do(ctx context.Context, method, of, path string, body, out any) error {
	timeout := c.timeout
	if _, is := out.(stream); is {
		timeout *= streamTimeouts
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	asked := method + " /api" + path
	answer, err := c.http.Do(request)
	if err != nil {
		c.count(method, of, 0)
		return c.unanswered(asked, method, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if read, is := out.(stream); is && answer.StatusCode/100 == 2 {
		c.count(method, of, answer.StatusCode)
		return c.read(answer, asked, method, read)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	c.count(method, of, answer.StatusCode)
	switch {
	case err != nil:
		return c.unanswered(asked, method, err)
	case answer.StatusCode/100 != 2:
		e := failure(asked, answer, text, c.key, c.quoted)
		e.Unsure = e.Unsure && method != http.MethodGet
		return e
	case len(text) > maxAnswer:
		return c.unreadable(asked, method, answer, fmt.Sprintf("the answer is longer than %d MiB", maxAnswer>>20))
	case bytes.Count(text, comma) > maxValues:
		return c.unreadable(asked, method, answer, fmt.Sprintf("the answer has more than %d values", maxValues))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return c.unreadable(asked, method, answer, notJSON(answer, c.quoted))
	}
	return nil
}

func (c *client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", method, path, err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", method, path, err)
	}
	request.Header.Set("Authorization", "Token "+c.key)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "lintel")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

func (c *client) count(method, of string, code int) {
	if c.observe != nil {
		c.observe(method, of, code)
	}
}

// isLocalError reports whether the text of an error quotes nothing of an answer, as that of a
// malformed one does.
func isLocalError(err error) bool {
	var operation *net.OpError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &operation) || errors.As(err, &certificate) || errors.As(err, &record) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// unanswered returns the error of a request with an unknown outcome.
func (c *client) unanswered(asked, method string, err error) *Error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err // it begins with the whole address
	}
	message := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		message = fmt.Sprintf("no answer within %s", c.timeout)
	}
	if !c.quoted && !isLocalError(err) {
		message = "the answer is not one of a management server; check managementURL"
	}
	unsure := method != http.MethodGet
	if of := (*net.OpError)(nil); errors.As(err, &of) && of.Op == "dial" {
		unsure = false // nothing was sent
	}
	return &Error{Cause: Unavailable, Asked: asked, Message: without(message, c.key), Unsure: unsure}
}

func (c *client) unreadable(asked, method string, answer *http.Response, message string) *Error {
	return &Error{Cause: Unavailable, Asked: asked, Code: answer.StatusCode, Message: without(message, c.key), Unsure: method != http.MethodGet}
}

// stream reads an answer while it arrives.
type stream func(body io.Reader) error

// read reads an answer as a stream.
func (c *client) read(answer *http.Response, asked, method string, read stream) error {
	err := read(answer.Body)
	var limit limitError
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limit):
		return c.unreadable(asked, method, answer, limit.Error())
	case errors.As(err, &syntax), errors.As(err, &kind), errors.Is(err, errNotAList):
		return c.unreadable(asked, method, answer, notJSON(answer, c.quoted))
	}
	return c.unanswered(asked, method, err)
}
