package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/lintel-policy/lintel/policies/source/roots"
)

// Keepalive detects a connection that is lost silently, and backoff limits how long a reconnect
// takes: at most reconnectMost after the server's return. gRPC allows no shorter interval.
const (
	pingInterval  = 10 * time.Second
	pingTimeout   = 5 * time.Second
	reconnect     = 200 * time.Millisecond
	reconnectMost = time.Second
)

// maxAnswerBytes limits the size of one response. Secrets of Kubernetes have at most 1 MiB, but
// an environment may contain the values of many.
const maxAnswerBytes = 32 << 20

// connect returns a connection that is established on first use.
func connect(server, caFile string, on *pooledConnection) (*grpc.ClientConn, error) {
	address, secure, err := parseServer(server)
	if err != nil {
		return nil, err
	}
	transport, err := transportTo(secure, caFile)
	if err != nil {
		return nil, err
	}
	retry := backoff.DefaultConfig
	retry.BaseDelay, retry.MaxDelay = reconnect, reconnectMost
	return grpc.NewClient("dns:///"+address,
		grpc.WithTransportCredentials(limitReader{transport, on}),
		grpc.WithDisableServiceConfig(),
		grpc.WithStatsHandler(on),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: defaultTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval, Timeout: pingTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswerBytes)))
}

const addressForm = "write it as http://zopp-server:50051, or https:// with TLS"

// parseServer reads the address of a server, and whether it is with TLS.
func parseServer(server string) (address string, secure bool, err error) {
	if !strings.Contains(server, "://") {
		return "", false, fmt.Errorf("the address of the zopp server has no scheme; %s", addressForm)
	}
	at, err := url.Parse(server)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("the address of the zopp server is not a URL; %s", addressForm)
	case at.Scheme != "http" && at.Scheme != "https":
		return "", false, fmt.Errorf("the address of the zopp server begins with %q; %s", at.Scheme+"://", addressForm)
	case at.User != nil || at.RawQuery != "" || at.Fragment != "" || at.Path != "" && at.Path != "/":
		return "", false, fmt.Errorf("the address of the zopp server has more than a scheme, a host and a port; %s", addressForm)
	case at.Hostname() == "":
		return "", false, fmt.Errorf("the address of the zopp server names no host; %s", addressForm)
	}
	secure = at.Scheme == "https"
	port := at.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[secure]
	}
	return net.JoinHostPort(at.Hostname(), port), secure, nil
}

func transportTo(secure bool, caFile string) (credentials.TransportCredentials, error) {
	switch {
	case !secure && caFile != "":
		return nil, fmt.Errorf("there is a CA certificate for the zopp server (%s), and its address begins with http://, which is without TLS: write https://, or leave the certificate out", caFile)
	case !secure:
		return insecure.NewCredentials(), nil
	case caFile == "":
		trusted, err := roots.System()
		if err != nil {
			return nil, fmt.Errorf("reading the certificate authorities for the zopp server: %w", err)
		}
		return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}), nil
	}
	if _, err := readRoots(caFile); err != nil {
		return nil, err
	}
	return rereading{credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), caFile}, nil
}

// rereading reads the CA certificate for each connection: it is renewed in place.
type rereading struct {
	credentials.TransportCredentials
	caFile string
}

// ClientHandshake trusts the current contents of the CA file.
func (r rereading) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	trusted, err := readRoots(r.caFile)
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}).ClientHandshake(ctx, authority, raw)
}

// Clone is a copy.
func (r rereading) Clone() credentials.TransportCredentials {
	return rereading{r.TransportCredentials.Clone(), r.caFile}
}

func readRoots(caFile string) (*x509.CertPool, error) {
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("reading the CA certificate for the zopp server: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s, the CA certificate for the zopp server, has no certificate in PEM", caFile)
	}
	return trusted, nil
}
