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
	"sync"
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
// that no other user of the machine reaches the Pod by it. One that has ended, because the Pod was
// replaced or a proxy closed it, is opened again.
type forward struct {
	config *rest.Config
	find   func(context.Context) (client.ObjectKey, error)
	port   int

	mutex    sync.Mutex
	current  *forwarded // nil until it is needed
	requests atomic.Int64
}

// forwarded is a connection to a Pod.
type forwarded struct {
	pod        client.ObjectKey
	connection httpstream.Connection
}

func (f *forwarded) ended() bool {
	select {
	case <-f.connection.CloseChan():
		return true
	default:
		return false
	}
}

// forwardTimeout is how long an API server may take to forward a port, or to open a stream.
const forwardTimeout = 30 * time.Second

// awaited is the result of a call that knows no context. It stops waiting when the context ends,
// or after forwardTimeout; discard receives a later result.
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

// newForward forwards a port of the Pod that find returns.
func newForward(config *rest.Config, find func(context.Context) (client.ObjectKey, error), port int) *forward {
	return &forward{config: config, find: find, port: port}
}

// connected is the connection, which is opened unless there is one that has not ended.
func (f *forward) connected(ctx context.Context) (*forwarded, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.current != nil && !f.current.ended() {
		return f.current, nil
	}
	pod, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := f.connect(ctx, pod)
	if err != nil {
		return nil, fmt.Errorf("forwarding a port to Pod %s: %w", pod.Name, err)
	}
	f.current = &forwarded{pod: pod, connection: connection}
	return f.current, nil
}

func (f *forward) connect(ctx context.Context, pod client.ObjectKey) (httpstream.Connection, error) {
	base, _, err := rest.DefaultServerUrlFor(f.config)
	if err != nil {
		return nil, err
	}
	dialer, err := newDialer(f.config, base.JoinPath("api/v1/namespaces", pod.Namespace, "pods", pod.Name, "portforward"))
	if err != nil {
		return nil, err
	}
	return awaited(ctx, func() (httpstream.Connection, error) {
		connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		return connection, err
	}, func(late httpstream.Connection) { _ = late.Close() })
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

func (f *forward) close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.current != nil {
		_ = f.current.connection.Close()
	}
}

// dial opens a connection to the port. If that fails on a connection to the Pod that is dead, or
// that has died without a word, one that is opened again is tried.
func (f *forward) dial(ctx context.Context) (net.Conn, error) {
	to, err := f.connected(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := f.stream(ctx, to)
	if err == nil || ctx.Err() != nil {
		return connection, err
	}
	_ = to.connection.Close()
	if to, err = f.connected(ctx); err != nil {
		return nil, err
	}
	return f.stream(ctx, to)
}

// stream opens a connection to the port of a Pod: two streams.
func (f *forward) stream(ctx context.Context, to *forwarded) (net.Conn, error) {
	stream := func(headers http.Header) (httpstream.Stream, error) {
		return awaited(ctx, func() (httpstream.Stream, error) { return to.connection.CreateStream(headers) }, func(late httpstream.Stream) { _ = late.Reset() })
	}
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(f.port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.FormatInt(f.requests.Add(1), 10))
	failures, err := stream(headers.Clone())
	if err != nil {
		return nil, f.failed(to, err)
	}
	_ = failures.Close() // nothing is written there
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := stream(headers)
	if err != nil {
		to.connection.RemoveStreams(failures)
		return nil, f.failed(to, err)
	}
	c := &forwardedConn{Stream: data, forward: f, to: to, failures: failures, failure: make(chan string, 1)}
	go c.watch()
	return c, nil
}

func (f *forward) failed(to *forwarded, err error) error {
	return fmt.Errorf("forwarding port %d of Pod %s: %w", f.port, to.pod.Name, err)
}

// forwardedConn is a connection to a port of a Pod.
type forwardedConn struct {
	httpstream.Stream
	forward  *forward
	to       *forwarded
	failures httpstream.Stream
	failure  chan string // what the node reports, or "", once
}

// watch reads why the node could not connect. It ends with the stream.
func (c *forwardedConn) watch() {
	const longest = 500
	text, _ := io.ReadAll(io.LimitReader(c.failures, longest))
	c.failure <- strings.TrimSpace(string(text))
}

// Read implements net.Conn. A connection that the node could not open ends without data, and with
// the node's error.
func (c *forwardedConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	select {
	case text := <-c.failure:
		c.failure <- text
		if text != "" {
			return n, c.forward.failed(c.to, errors.New(text))
		}
	case <-time.After(time.Second):
	}
	return n, err
}

// Close implements net.Conn.
func (c *forwardedConn) Close() error {
	err := c.Stream.Reset()
	_ = c.failures.Reset()
	c.to.connection.RemoveStreams(c.Stream, c.failures)
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
