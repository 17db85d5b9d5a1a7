// Package zopp replaces a zopp server in tests: a Double, and the faults that it injects. It
// also writes to a server, the double or a real one, as an administrator does.
//
// The double knows no keys, and stores no more than a real server: the writer encrypts the
// values. The tests of this package compare it with a real server: they run against the one that
// ZOPP_SERVER and ZOPP_CREDENTIALS name.
package zopp

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// Double is a zopp server in memory. Its contents survive a stop and a start.
type Double struct {
	wire.UnimplementedZoppServiceServer

	// Now is its clock.
	Now func() time.Time
	// StreamLimit is how many streams it takes on a connection: StreamsEach when 0.
	StreamLimit uint32

	mutex      sync.Mutex
	principals map[string]*storedPrincipal
	workspaces map[string]*storedWorkspace
	calls      map[string]int
	faults     map[*Fault]struct{}
	bus        bus

	certificate *tls.Certificate
	roots       *x509.CertPool
	address     string
	server      *grpc.Server
	served      chan struct{}
	draining    sync.WaitGroup
	connections atomic.Int64
}

// StreamsEach is the maximum number of concurrent streams on a connection. Servers have no
// limit, but this is a usual one of proxies.
const StreamsEach = 100

// NewDouble is an empty one that does not serve yet.
func NewDouble() *Double {
	d := &Double{
		Now:        time.Now,
		principals: map[string]*storedPrincipal{},
		workspaces: map[string]*storedWorkspace{},
		calls:      map[string]int{},
		faults:     map[*Fault]struct{}{},
	}
	d.bus.subscribers = map[*subscriber]struct{}{}
	return d
}

// Start serves: at a free port the first time, and later at the same.
func (d *Double) Start() error {
	address := d.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := listen(address)
	if err != nil {
		return fmt.Errorf("listening for the double of zopp: %w", err)
	}
	d.address = listener.Addr().String()
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(d.unary),
		grpc.StreamInterceptor(d.streaming),
		grpc.StatsHandler(counting{d}),
		grpc.MaxConcurrentStreams(cmp.Or(d.StreamLimit, StreamsEach)),
		// Real servers mind no pings.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
	if d.certificate != nil {
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(d.certificate)))
	}
	d.server, d.served = grpc.NewServer(options...), make(chan struct{})
	wire.RegisterZoppServiceServer(d.server, d)
	go func() {
		defer close(d.served)
		_ = d.server.Serve(listener)
	}()
	return nil
}

// listen takes a port again that connections of before may still hold for a moment.
func listen(address string) (listener net.Listener, err error) {
	deadline := time.Now().Add(5 * time.Second)
	for {
		if listener, err = net.Listen("tcp", address); err == nil || time.Now().After(deadline) {
			return listener, err
		}
		<-time.After(10 * time.Millisecond)
	}
}

// Stop breaks all connections. What the double has stays, and Start serves it again.
func (d *Double) Stop() {
	if d.server == nil {
		return
	}
	d.release()
	d.server.Stop()
	<-d.served
	d.server = nil
}

// Drain does what a server does during a graceful shutdown: it refuses new connections, sends
// GOAWAY on the open ones, and leaves their streams open without any further changes. Start can
// then serve a new server with the double's contents at the same address.
func (d *Double) Drain() {
	d.bus.forsake()
	old, served := d.server, d.served
	d.server = nil
	d.draining.Go(old.GracefulStop)
	<-served
}

// Drained waits until all streams of a drained server have ended.
func (d *Double) Drained() { d.draining.Wait() }

// URL is where it serves, once it has been started.
func (d *Double) URL() string {
	if d.certificate != nil {
		return "https://" + d.address
	}
	return "http://" + d.address
}

// Calls returns the number of calls of a method, such as ListSecrets, since the double was
// created.
func (d *Double) Calls(method string) int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.calls[prefix+method]
}

// Streams is how many streams of changes are open now.
func (d *Double) Streams() int { return d.bus.count() }

// Watching says whether an environment is watched as it is now: streams of a former one of its
// name stay open.
func (d *Double) Watching(e store.Environment) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found := d.find(e)
	return found != nil && d.bus.watches(found.id)
}

// Connections is how many connections are open now.
func (d *Double) Connections() int { return int(d.connections.Load()) }

// counting counts connections.
type counting struct{ d *Double }

func (c counting) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (c counting) HandleRPC(context.Context, stats.RPCStats)                         {}
func (c counting) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c counting) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.d.connections.Add(1)
	case *stats.ConnEnd:
		c.d.connections.Add(-1)
	}
}

var errNoDouble = errors.New("a real server cannot be made faulty")
