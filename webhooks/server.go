package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const (
	readHeaderTimeout = 5 * time.Second
	// requestTimeout is above the longest that the API server waits for a webhook.
	requestTimeout = maxTimeLimit + 5*time.Second
	// idleTimeout is above the API server's own, so that it is the one that closes.
	idleTimeout     = 2 * time.Minute
	maxHeaderBytes  = 64 << 10
	shutdownTimeout = requestTimeout
)

// ServerOptions say where and how the webhooks are served.
type ServerOptions struct {
	// Address is host:port.
	Address     string
	Handler     http.Handler
	Certificate *Certificate
	// ClientCA is a file of the certificates that callers' must be issued by; empty
	// lets anybody call.
	ClientCA string
	Logger   *slog.Logger
}

// Server serves the webhooks over TLS, with HTTP/2.
type Server struct {
	options  ServerOptions
	server   *http.Server
	address  atomic.Pointer[string]
	draining atomic.Bool
}

// NewServer makes a server. The error is a client CA that cannot be read.
func NewServer(options ServerOptions) (*Server, error) {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: options.Certificate.GetCertificate,
	}
	if options.ClientCA != "" {
		text, err := os.ReadFile(options.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("reading the client CA: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("reading the client CA: %s holds no certificate", options.ClientCA)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	s := &Server{options: options}
	s.server = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		TLSConfig:         config,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(options.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// serve answers a request, and while draining ends its connection after the answer:
// one that the API server keeps would lead it here until it is cut under a request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	s.options.Handler.ServeHTTP(w, r)
}

// Drain announces the end: requests are still answered, but the server is no longer Ready, and
// its connections are closed after their current request.
func (s *Server) Drain() { s.draining.Store(true) }

// Start serves until ctx ends, then lets running requests finish. It implements
// manager.Runnable.
func (s *Server) Start(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("listening for webhooks: %w", err)
	}
	s.address.Store(new(listener.Addr().String()))
	served := make(chan error, 1)
	go func() { served <- s.server.ServeTLS(listener, "", "") }()

	select {
	case err := <-served:
		return fmt.Errorf("serving webhooks: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err = s.server.Shutdown(ending)
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("ending the webhook server: %w", err)
	}
	return nil
}

// Address is where the server listens, with the assigned port: empty before.
func (s *Server) Address() string {
	if address := s.address.Load(); address != nil {
		return *address
	}
	return ""
}

// Ready is an error as long as the server cannot answer, and once it drains: a
// healthz.Checker.
func (s *Server) Ready(r *http.Request) error {
	if s.draining.Load() {
		return errors.New("the webhook server is draining")
	}
	if s.Address() == "" {
		return errors.New("the webhook server is not listening yet")
	}
	return s.options.Certificate.Ready(r)
}
