package openvox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forward is a connection through the API server to one port of a Pod. It listens nowhere, so
// that no other user of the machine reaches the Pod by it.
type forward struct {
	pod        client.ObjectKey
	port       int
	connection httpstream.Connection
	requests   atomic.Int64
}

// forwardTimeout is how long an API server may take to forward a port, or to open a stream.
const forwardTimeout = 30 * time.Second

// awaited is the result of a call that knows no context. It is given up when the context ends, or
// after forwardTimeout; discard takes a result that comes later.
func awaited[T any](ctx context.Context, call func() (T, error), discard func(T)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, forwardTimeout, fmt.Errorf("the API server has not answered in %s", forwardTimeout))
	defer cancel()
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := call()
		results <- result{value, err}
	}()
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		go func() {
			if r := <-results; r.err == nil {
				discard(r.value)
			}
		}()
		var none T
		return none, context.Cause(ctx)
	}
}

func newForward(ctx context.Context, config *rest.Config, pod client.ObjectKey, port int) (*forward, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("forwarding a port to Pod %s: %w", pod.Name, err)
	}
	address := base.JoinPath("api/v1/namespaces", pod.Namespace, "pods", pod.Name, "portforward")
	dialer, err := newDialer(config, address)
	if err != nil {
		return nil, fmt.Errorf("forwarding a port to Pod %s: %w", pod.Name, err)
	}
	connection, err := awaited(ctx, func() (httpstream.Connection, error) {
		connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		return connection, err
	}, func(late httpstream.Connection) { _ = late.Close() })
	if err != nil {
		return nil, fmt.Errorf("forwarding a port to Pod %s: %w", pod.Name, err)
	}
	return &forward{pod: pod, port: port, connection: connection}, nil
}

// newDialer uses WebSockets, and SPDY where the API server or a proxy does not, as kubectl does.
func newDialer(config *rest.Config, address *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	fallback := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	first, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(first, fallback, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

func (f *forward) close() { _ = f.connection.Close() }

// dial opens a connection to the port.
func (f *forward) dial(ctx context.Context) (net.Conn, error) {
	stream := func(headers http.Header) (httpstream.Stream, error) {
		return awaited(ctx, func() (httpstream.Stream, error) { return f.connection.CreateStream(headers) }, func(late httpstream.Stream) { _ = late.Reset() })
	}
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(f.port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.FormatInt(f.requests.Add(1), 10))
	failures, err := stream(headers.Clone())
	if err != nil {
		return nil, f.failed(err)
	}
	_ = failures.Close() // nothing is written there
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := stream(headers)
	if err != nil {
		f.connection.RemoveStreams(failures)
		return nil, f.failed(err)
	}
	c := &forwardedConn{Stream: data, forward: f, failures: failures, failure: make(chan string, 1)}
	go c.watch()
	return c, nil
}

func (f *forward) failed(err error) error {
	return fmt.Errorf("forwarding port %d of Pod %s: %w", f.port, f.pod.Name, err)
}

// forwardedConn is a connection to a port of a Pod.
type forwardedConn struct {
	httpstream.Stream
	forward  *forward
	failures httpstream.Stream
	failure  chan string // what the node reports, or "", once
}

// watch reads why the node could not connect. It ends with the stream.
func (c *forwardedConn) watch() {
	const longest = 500
	text, _ := io.ReadAll(io.LimitReader(c.failures, longest))
	c.failure <- strings.TrimSpace(string(text))
}

// Read implements net.Conn. A connection that the node has not made ends without a byte, and
// with the node's reason.
func (c *forwardedConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	select {
	case text := <-c.failure:
		c.failure <- text
		if text != "" {
			return n, c.forward.failed(errors.New(text))
		}
	case <-time.After(time.Second):
	}
	return n, err
}

// Close implements net.Conn.
func (c *forwardedConn) Close() error {
	err := c.Stream.Reset()
	_ = c.failures.Reset()
	c.forward.connection.RemoveStreams(c.Stream, c.failures)
	return err
}

// LocalAddr implements net.Conn.
func (c *forwardedConn) LocalAddr() net.Addr { return forwardedAddr{} }

// RemoteAddr implements net.Conn.
func (c *forwardedConn) RemoteAddr() net.Addr { return forwardedAddr{} }

// SetDeadline implements net.Conn. Requests have a timeout, which closes their connection.
func (c *forwardedConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (c *forwardedConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (c *forwardedConn) SetWriteDeadline(time.Time) error { return nil }

type forwardedAddr struct{}

// Network implements net.Addr.
func (forwardedAddr) Network() string { return "forwarded" }

// String implements net.Addr.
func (forwardedAddr) String() string { return "forwarded port" }
