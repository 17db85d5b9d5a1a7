package puppet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// maxStatuses bounds the list of all that a CA has: 800 bytes for each of 80,000 certnames.
	maxStatuses = 64 << 20
	// maxRequested bounds the list of the requests that wait, for programs that must not use much
	// memory: about 2,500 requests.
	maxRequested = 2 << 20
)

// State is the state of a certname at a CA.
type State string

// The states that a Puppet CA reports.
const (
	StateRequested State = "requested"
	StateSigned    State = "signed"
	StateRevoked   State = "revoked"
)

// CertificateStatus is what a CA reports of a certname: a certificate, or the request that
// waits where there is no certificate.
type CertificateStatus struct {
	Name  string
	State State
	// Fingerprint is the SHA-256 of the certificate or request, as 32 pairs of hexadecimal
	// digits with colons.
	Fingerprint string
	// SubjectAltNames are such as "DNS:www.example.com".
	SubjectAltNames []string
	// Serial is in hexadecimal, and the dates are zero where the CA does not report them: of
	// requests, and at older CAs.
	Serial              string
	NotBefore, NotAfter time.Time
}

// statusText is CertificateStatus as CAs write it.
type statusText struct {
	Name            string            `json:"name"`
	State           State             `json:"state"`
	Fingerprint     string            `json:"fingerprint"`
	Fingerprints    map[string]string `json:"fingerprints"`
	DNSAltNames     []string          `json:"dns_alt_names"`
	SubjectAltNames []string          `json:"subject_alt_names"`
	Serial          json.Number       `json:"serial_number"`
	NotBefore       string            `json:"not_before"`
	NotAfter        string            `json:"not_after"`
}

// read checks what a CA has written.
func (t statusText) read() (CertificateStatus, error) {
	status := CertificateStatus{Name: t.Name, State: t.State, Fingerprint: t.Fingerprints["SHA256"], SubjectAltNames: t.SubjectAltNames}
	if status.Fingerprint == "" {
		status.Fingerprint = t.Fingerprint
	}
	if status.SubjectAltNames == nil {
		status.SubjectAltNames = t.DNSAltNames
	}
	switch {
	case t.Name == "":
		return status, errors.New("an entry has no name")
	case t.State != StateRequested && t.State != StateSigned && t.State != StateRevoked:
		return status, fmt.Errorf("%.200q has the unknown state %.40q", t.Name, t.State)
	case t.Serial != "":
		const decimal = 10
		serial, ok := new(big.Int).SetString(t.Serial.String(), decimal)
		if !ok {
			return status, fmt.Errorf("%.200q has the serial number %.60q", t.Name, t.Serial)
		}
		status.Serial = fmt.Sprintf("%x", serial)
	}
	for _, date := range []struct {
		text string
		into *time.Time
	}{{t.NotBefore, &status.NotBefore}, {t.NotAfter, &status.NotAfter}} {
		if date.text == "" {
			continue
		}
		at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(strings.TrimSuffix(date.text, "UTC"), "Z"))
		if err != nil {
			return status, fmt.Errorf("%.200q has the date %.60q", t.Name, date.text)
		}
		*date.into = at
	}
	return status, nil
}

// CertificateStatus is what the CA reports of one certname to those who administer it, or
// ErrNotFound.
func (c *Client) CertificateStatus(ctx context.Context, certname string) (CertificateStatus, error) {
	text, err := c.do(ctx, http.MethodGet, "certificate_status/"+url.PathEscape(certname), "", nil)
	var status CertificateStatus
	if err == nil {
		var written statusText
		if err = json.Unmarshal(text, &written); err == nil {
			status, err = written.read()
		}
		if err == nil && status.Name != certname {
			err = fmt.Errorf("the answer is about %.200q", status.Name)
		}
	}
	if err != nil {
		return CertificateStatus{}, fmt.Errorf("reading the status of %s: %w", certname, err)
	}
	return status, nil
}

// CertificateStatuses are all certificates and requests that the CA has, in its order. An
// entry that cannot be read, or that is there twice, makes the whole list an error.
func (c *Client) CertificateStatuses(ctx context.Context) ([]CertificateStatus, error) {
	return c.statuses(ctx, "certificate_statuses/all", maxStatuses)
}

// Requested are the certnames of the requests that wait at the CA. A list of more than 2 MiB is
// an error.
func (c *Client) Requested(ctx context.Context) (certnames []string, err error) {
	statuses, err := c.statuses(ctx, "certificate_statuses/all?&state="+string(StateRequested), maxRequested)
	for _, status := range statuses {
		if status.State == StateRequested { // a server that does not know the parameter lists all
			certnames = append(certnames, status.Name)
		}
	}
	return certnames, err
}

func (c *Client) statuses(ctx context.Context, path string, limit int) ([]CertificateStatus, error) {
	// The name in the path is not used: Puppet's clients send one, too.
	text, err := c.doUpTo(ctx, limit, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, fmt.Errorf("listing the certificates of the CA: %w", err)
	}
	var written []statusText
	if err := json.Unmarshal(text, &written); err != nil {
		return nil, fmt.Errorf("listing the certificates of the CA: the answer is not a list of certificates: %w", err)
	}
	if written == nil {
		return nil, errors.New("listing the certificates of the CA: the answer is not a list of certificates: it is null")
	}
	statuses, seen := make([]CertificateStatus, 0, len(written)), map[string]bool{}
	for _, one := range written {
		status, err := one.read()
		if err == nil && seen[status.Name] {
			err = fmt.Errorf("%.200q is listed twice", status.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("listing the certificates of the CA: %w", err)
		}
		seen[status.Name] = true
		statuses = append(statuses, status)
	}
	return statuses, nil
}
