package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startServer serves until the test ends, and returns how to end it.
func startServer(t *testing.T, options ServerOptions) (*Server, func() error) {
	t.Helper()
	options.Address = "127.0.0.1:0"
	options.Logger = slog.New(slog.DiscardHandler)
	server, err := NewServer(options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Start(ctx) }()
	require.Eventually(t, func() bool { return server.Address() != "" }, 2*time.Minute, time.Millisecond)
	return server, func() error { cancel(); return <-done }
}

func TestServer(t *testing.T) {
	directory, ca, callers := t.TempDir(), newAuthority(t, "serving"), newAuthority(t, "callers")
	ca.issue(t, directory, 1, time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth)
	certificate := NewCertificate(Directory(directory), nil, newTestMetrics(t), slog.New(slog.DiscardHandler))
	require.NoError(t, certificate.Reload(t.Context()))
	clientCA := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(clientCA, callers.pem, 0o600))

	entered, release := make(chan struct{}, 1), make(chan struct{})
	server, end := startServer(t, ServerOptions{
		Certificate: certificate, ClientCA: clientCA,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				entered <- struct{}{}
				<-release
			}
			_, _ = w.Write([]byte(r.Proto))
		}),
	})
	require.NoError(t, server.Ready(nil))

	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	caller := t.TempDir()
	callers.issue(t, caller, 2, time.Now().Add(time.Hour), x509.ExtKeyUsageClientAuth)
	pair, err := tls.LoadX509KeyPair(filepath.Join(caller, "tls.crt"), filepath.Join(caller, "tls.key"))
	require.NoError(t, err)
	newClient := func(config *tls.Config) *http.Client {
		config.RootCAs = roots
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 10 * time.Second}
	}
	url := "https://" + server.Address()

	_, err = newClient(&tls.Config{}).Get(url)
	require.Error(t, err, "a caller without a certificate")
	_, err = newClient(&tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}).Get(url) //nolint:gosec // refused on purpose
	require.Error(t, err)

	client := newClient(&tls.Config{Certificates: []tls.Certificate{pair}})
	response, err := client.Get(url)
	require.NoError(t, err)
	assert.Equal(t, 2, response.ProtoMajor, "HTTP/2")
	assert.EqualValues(t, tls.VersionTLS13, response.TLS.Version)
	require.NoError(t, response.Body.Close())

	ca.issue(t, directory, 7, time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth)
	require.NoError(t, certificate.Reload(t.Context()))
	response, err = newClient(&tls.Config{Certificates: []tls.Certificate{pair}}).Get(url)
	require.NoError(t, err)
	assert.EqualValues(t, 7, response.TLS.PeerCertificates[0].SerialNumber.Int64(), "replaced in place")
	require.NoError(t, response.Body.Close())

	slow := make(chan error, 1)
	go func() {
		response, err := client.Get(url + "/slow")
		if err == nil {
			err = response.Body.Close()
		}
		slow <- err
	}()
	<-entered
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	require.Eventually(t, func() bool {
		_, err := newClient(&tls.Config{Certificates: []tls.Certificate{pair}}).Get(url)
		return err != nil && strings.Contains(err.Error(), "refused")
	}, 2*time.Minute, 5*time.Millisecond, "no new connection once the end was asked for")
	close(release)
	require.NoError(t, <-slow, "what runs may finish")
	require.NoError(t, <-ended)
}

func TestADrainingServerSendsItsCallersAway(t *testing.T) {
	directory, ca := t.TempDir(), newAuthority(t, "serving")
	ca.issue(t, directory, 1, time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth)
	certificate := NewCertificate(Directory(directory), nil, newTestMetrics(t), slog.New(slog.DiscardHandler))
	require.NoError(t, certificate.Reload(t.Context()))
	server, end := startServer(t, ServerOptions{
		Certificate: certificate,
		Handler:     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answered")) }),
	})
	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	// The API server calls webhooks with HTTP/1.1, and keeps the connections.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	call := func() *http.Response {
		response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get("https://" + server.Address())
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response
	}
	require.False(t, call().Close)
	require.NoError(t, server.Ready(nil))

	server.Drain()
	require.ErrorContains(t, server.Ready(nil), "draining")
	response := call()
	require.Equal(t, http.StatusOK, response.StatusCode, "it still answers")
	require.True(t, response.Close, "the connection is not used again")
	require.NoError(t, end())
}

func TestServerErrors(t *testing.T) {
	certificate := NewCertificate(Directory(t.TempDir()), nil, newTestMetrics(t), slog.New(slog.DiscardHandler))
	logger := slog.New(slog.DiscardHandler)
	_, err := NewServer(ServerOptions{Certificate: certificate, ClientCA: "missing", Logger: logger})
	require.ErrorContains(t, err, "reading the client CA")
	empty := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	_, err = NewServer(ServerOptions{Certificate: certificate, ClientCA: empty, Logger: logger})
	require.ErrorContains(t, err, "holds no certificate")

	server, err := NewServer(ServerOptions{Certificate: certificate, Address: "127.0.0.1:-1", Logger: logger})
	require.NoError(t, err)
	require.ErrorContains(t, server.Start(t.Context()), "listening for webhooks")
	require.Error(t, server.Ready(nil))
}
