package puppet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// StatusError is an unexpected response of a CA.
type StatusError struct {
	Code int
	Body string // its beginning
	// quoted says whether the words may be repeated to others.
	quoted bool
}

// Error describes the CA's answer. It quotes the answer only if the server is known to be a CA:
// otherwise a user who sets a URL could read the content of that URL.
func (e *StatusError) Error() string {
	detail := e.Body
	if !e.quoted {
		detail = e.summary()
	}
	if detail != "" {
		detail = ": " + detail
	}
	return fmt.Sprintf("the CA answers %d %s%s", e.Code, http.StatusText(e.Code), detail)
}

// refusals map the messages of Puppet CAs to their meanings.
var refusals = []struct{ says, means string }{
	{"already has a", "it has a certificate or a request of this name already"},
	{"subject alternative names", "it signs no subjectAltName (allow-subject-alt-names)"},
	{"authorization extension", "it signs no extensions that give rights (allow-authorization-extensions)"},
	{"extensions that are not permitted", "it does not permit an extension of the request"},
	{"Forbidden request", "its auth.conf does not permit this client to ask"},
}

// summary describes a known refusal; "" for any other response.
func (e *StatusError) summary() string {
	for _, known := range refusals {
		if strings.Contains(e.Body, known.says) {
			return known.means
		}
	}
	return ""
}

// unansweredError is the error of a request that no CA has answered.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

// Unanswered reports whether an error means that the CA is unavailable: there is no answer, the
// server has an internal error, redirects, or is not a CA.
func Unanswered(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Code >= http.StatusInternalServerError || status.Code/100 == http.StatusMultipleChoices/100
	}
	var none unansweredError
	return errors.As(err, &none)
}

// graphic replaces control characters, which a terminal would interpret.
func graphic(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, text)
}

// explain returns the same text for the same error each time, and names the clock or certificate
// at fault. Go's HTTP client quotes answers that are not HTTP.
func (c *Client) explain(err error) error {
	if connection, ok := errors.AsType[*net.OpError](err); ok {
		connection.Source = nil // a port of ours, another one each time
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired && invalid.Cert != nil {
		return &validityError{invalid.Cert}
	}
	if c.quoted || quotesNothing(err) {
		return err
	}
	return fmt.Errorf("%s does not answer in HTTP, or a proxy on the way refuses", strings.TrimSuffix(c.base, "/puppet-ca/v1/"))
}

// quotesNothing reports whether an error concerns the connection, and quotes no response.
func quotesNothing(err error) bool {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err
	}
	var (
		connection   *net.OpError
		name         *net.DNSError
		timeout      net.Error
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
		alert        tls.AlertError
	)
	switch {
	case errors.As(err, &connection), errors.As(err, &name), errors.As(err, &timeout) && timeout.Timeout():
	case errors.As(err, &verification), errors.As(err, &record), errors.As(err, &alert):
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled), errors.Is(err, http.ErrSchemeMismatch):
	case strings.HasPrefix(strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: "), "net/http: server response headers exceeded"):
	default:
		return false
	}
	return true
}

// validityError reports a server certificate that is not valid at present.
type validityError struct{ certificate *x509.Certificate }

// Error names the dates of the certificate.
func (e *validityError) Error() string {
	return fmt.Sprintf("the certificate %q, by which the CA's server is known, counts from %s to %s, and not now; if it should, a clock is wrong",
		e.certificate.Subject, e.certificate.NotBefore.UTC().Format(time.RFC3339), e.certificate.NotAfter.UTC().Format(time.RFC3339))
}
