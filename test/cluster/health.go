package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// dialer connects to an address.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// prober asks components for their health. It sends no credentials: every
// health endpoint here is open to anonymous callers.
type prober struct{ client *http.Client }

// newProber asks through dial, which for nil is the network of this process.
func newProber(dial dialer) *prober {
	return &prober{client: &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			// The scheduler and the controller manager make up certificates on
			// start; the peer is a loopback port that this cluster chose.
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
			DisableKeepAlives: true,
			DialContext:       dial,
		},
	}}
}

// check returns nil when url answers 200, and otherwise an error with the answer.
func (p *prober) check(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %.300s", url, response.Status, bytes.TrimSpace(body))
	}
	return nil
}

// wait polls url until it answers 200 or ctx ends, and then says why it never
// did.
func (p *prober) wait(ctx context.Context, url string) error {
	return poll(ctx, func() error { return p.check(ctx, url) })
}

// poll calls try until it returns nil. When ctx ends first, its cause and the
// last answer that was not about ctx itself are the error.
func poll(ctx context.Context, try func() error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			if last == nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}
