package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// trustDelay is how much later than we do the API server may see a new bundle.
	trustDelay = 10 * time.Second
	// reloadInterval is how often the files are read.
	reloadInterval = 2 * time.Second
)

// Trust says whether every caller would accept a certificate, leaf first.
type Trust func(ctx context.Context, chain []*x509.Certificate) (bool, error)

// Certificate serves the key pair that its source gives and replaces it in place.
//
// The first key pair is served immediately, and the replica is Ready once the key pair is trusted:
// calls of a replica that starts after the issue of a certificate and before the update of the bundle
// would fail, while other replicas still serve the old certificate. A later key pair waits until it is
// trusted, and then 10 s more, so that callers always know the certificate while the authority is
// renewed. It does not wait if the old certificate has expired. As long as no new key pair can be read,
// the old one stays.
type Certificate struct {
	source   KeyPairSource
	trust    Trust
	metrics  *Metrics
	logger   *slog.Logger
	now      func() time.Time
	interval time.Duration

	serving atomic.Pointer[keyPair] // nil before the first
	// confirmed reports that a served certificate was trusted once. It never returns to false: the
	// trust of later certificates is checked before they are served.
	confirmed atomic.Bool
	pending   *keyPair
	// trustedSince is when pending was first seen to be trusted.
	trustedSince time.Time
	lastError    string
}

// keyPair is the result of reading the source once.
type keyPair struct {
	certificate tls.Certificate
	chain       []*x509.Certificate
	authority   *x509.Certificate // nil = no ca.crt
	text        []byte            // of tls.crt, to tell one from another
}

// NewCertificate makes a Certificate. A nil trust means that callers trust every
// pair of the source. Nothing is read until Start or Reload.
func NewCertificate(source KeyPairSource, trust Trust, metrics *Metrics, logger *slog.Logger) *Certificate {
	return &Certificate{
		source: source, trust: trust, metrics: metrics, logger: logger,
		now: time.Now, interval: reloadInterval,
	}
}

// Start reads the source again and again until ctx ends. It is a manager's Runnable on
// every replica.
func (c *Certificate) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) { c.report(c.Reload(ctx)) }, c.interval)
	return nil
}

// report logs an error once, not with every reading.
func (c *Certificate) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != c.lastError && err != nil {
		c.logger.Warn("serving certificate not ready or not renewed", "error", err)
	}
	c.lastError = text
}

// Reload reads the source once, and serves its key pair if it is trusted.
func (c *Certificate) Reload(ctx context.Context) error {
	files, err := c.source(ctx)
	if err != nil {
		return err
	}
	read, err := parseKeyPair(files)
	if err != nil {
		return err
	}
	serving := c.serving.Load()
	switch {
	case serving == nil || c.now().After(serving.chain[0].NotAfter):
		c.serve(read)
		return c.confirm(ctx)
	case bytes.Equal(read.text, serving.text):
		c.pending = nil
		return c.confirm(ctx)
	case !c.confirmed.Load(), c.trust == nil: // callers do not trust the one that is served, or trust every one
		c.serve(read)
		return c.confirm(ctx)
	case c.pending == nil || !bytes.Equal(read.text, c.pending.text):
		c.pending, c.trustedSince = read, time.Time{}
	}
	trusted, err := c.trust(ctx, c.pending.chain)
	switch {
	case err != nil:
		return fmt.Errorf("asking whether the new certificate is trusted: %w", err)
	case !trusted:
		c.trustedSince = time.Time{}
	case c.trustedSince.IsZero():
		c.trustedSince = c.now()
	case c.now().Sub(c.trustedSince) >= trustDelay:
		c.serve(c.pending)
		return c.confirm(ctx)
	}
	return nil
}

// confirm checks whether the served certificate is trusted, until it was once. It adds no
// delay: the API server sees the bundle sooner than a Service sends it to a replica.
func (c *Certificate) confirm(ctx context.Context) error {
	if c.confirmed.Load() {
		return nil
	}
	if c.trust != nil {
		trusted, err := c.trust(ctx, c.serving.Load().chain)
		if err != nil {
			return fmt.Errorf("asking whether the serving certificate is trusted: %w", err)
		}
		if !trusted {
			return errNotTrusted
		}
	}
	c.confirmed.Store(true)
	return nil
}

func (c *Certificate) serve(pair *keyPair) {
	c.serving.Store(pair)
	c.pending = nil
	var authority time.Time
	if pair.authority != nil {
		authority = pair.authority.NotAfter
	}
	c.metrics.certificatesLoaded(pair.chain[0].NotAfter, authority)
	c.logger.Info("serving certificate loaded", "notAfter", pair.chain[0].NotAfter, "serial", pair.chain[0].SerialNumber)
}

var (
	errNoCertificate = errors.New("no serving certificate is loaded")
	errNotTrusted    = errors.New("the webhook configurations do not trust the serving certificate yet: cert-manager's injector has not written its authority into all entries")
)

// GetCertificate implements the function of tls.Config.
func (c *Certificate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if serving := c.serving.Load(); serving != nil {
		return &serving.certificate, nil
	}
	return nil, errNoCertificate
}

// Ready is an error as long as no certificate is loaded, or none that callers trust: a
// healthz.Checker.
func (c *Certificate) Ready(*http.Request) error {
	switch {
	case c.serving.Load() == nil:
		return errNoCertificate
	case !c.confirmed.Load():
		return errNotTrusted
	}
	return nil
}

func parseKeyPair(files KeyPairFiles) (*keyPair, error) {
	pair := &keyPair{text: files.Certificate}
	var err error
	// Fails where certificate and key are of different renewals: the next reading sees
	// both.
	if pair.certificate, err = tls.X509KeyPair(files.Certificate, files.Key); err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	if pair.chain, err = x509.ParseCertificates(slices.Concat(pair.certificate.Certificate...)); err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	if block, _ := pem.Decode(files.Authority); block != nil {
		if pair.authority, err = x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("reading the certificate authority: %w", err)
		}
	}
	return pair, nil
}
