package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/stats"
)

// streamsEach is the most streams that share a connection. Servers know no limit by
// themselves, but proxies in front of them do: 100 is a usual one.
const streamsEach = 80

// pooledConnection is a connection, and how many streams are on it. It is also the connection's
// stats.Handler, and notes the local address of the newest transport: a ClientConn replaces
// its transport whenever that one ends.
type pooledConnection struct {
	connection *grpc.ClientConn
	streams    int
	newest     atomic.Value // string
	// calls is how many calls are under way, and answered when the server last answered one, in
	// Unix nanoseconds.
	calls    atomic.Int32
	answered atomic.Int64
	// limit is how many streams the server takes on the newest transport: 0 for any number.
	limit atomic.Uint32
	// replaced reports that the server no longer answered here, and did on another connection.
	replaced atomic.Bool
}

// TagConn implements stats.Handler.
func (l *pooledConnection) TagConn(ctx context.Context, transport *stats.ConnTagInfo) context.Context {
	l.newest.Store(transport.LocalAddr.String())
	return ctx
}

// HandleConn implements stats.Handler.
func (*pooledConnection) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC implements stats.Handler.
func (*pooledConnection) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (*pooledConnection) HandleRPC(context.Context, stats.RPCStats) {}

// carries reports whether new calls would be on the transport with this local address.
func (l *pooledConnection) carries(local string) bool {
	return l.newest.Load() == any(local) && l.connection.GetState() == connectivity.Ready
}

// smallLimit is the limit below which the first connection carries calls alone: otherwise, streams
// would leave so little room that a few calls hold up the check of the server, which looks like
// an outage.
const smallLimit = 16

// capacity is how many streams the connection carries. A fifth of the server's limit is left for
// calls, and at least one.
func (l *pooledConnection) capacity(further bool) int {
	limit := int(l.limit.Load())
	switch {
	case limit == 0:
		return streamsEach
	case limit < smallLimit && !further:
		return 0
	}
	return min(streamsEach, limit-max(1, limit/5))
}

// isFull reports whether calls and streams may have used up the server's limit: a further call
// would wait in the client.
func (l *pooledConnection) isFull() bool {
	limit := int(l.limit.Load())
	return limit == 1 || limit > 0 && int(l.calls.Load()) >= limit-l.capacity(false)
}

// isBusy reports whether the connection is full and the server works nevertheless: it has answered a
// call lately, or a stream takes up all that it permits. Calls that are all lost in the network
// fill a connection, too.
func (l *pooledConnection) isBusy() bool {
	return l.isFull() && (l.calls.Load() == 0 || time.Since(time.Unix(0, l.answered.Load())) < checkTimeout)
}

// settle waits until the connection is ready and the server's limit is known, or until the
// connection fails.
func (l *pooledConnection) settle(ctx context.Context) {
	l.connection.Connect()
	for state := l.connection.GetState(); state == connectivity.Idle || state == connectivity.Connecting; state = l.connection.GetState() {
		if !l.connection.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// connectionPool are connections to one server. Calls use the first.
type connectionPool struct {
	connect func(*pooledConnection) (*grpc.ClientConn, error)

	mutex sync.Mutex
	all   []*pooledConnection
}

// add adds a connection.
func (l *connectionPool) add() error {
	added, err := l.dial()
	if err != nil {
		return err
	}
	l.all = append(l.all, added)
	return nil
}

// dial returns a connection that is not among the others.
func (l *connectionPool) dial() (*pooledConnection, error) {
	added := &pooledConnection{}
	var err error
	added.connection, err = l.connect(added)
	return added, err
}

// take returns a connection for a stream, and counts the stream. It connects a connection before it counts on
// it, because the server's limit is unknown until then.
func (l *connectionPool) take(ctx context.Context) (*pooledConnection, error) {
	for at := 0; ; at++ {
		candidate, err := l.at(at)
		if err != nil {
			return nil, err
		}
		candidate.settle(ctx)
		if l.count(candidate, at > 0) {
			return candidate, nil
		}
	}
}

// at returns a connection by index. The one after the last is added.
func (l *connectionPool) at(index int) (*pooledConnection, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if index >= len(l.all) {
		if err := l.add(); err != nil {
			return nil, err
		}
		index = len(l.all) - 1
	}
	return l.all[index], nil
}

// count adds a stream to a connection that has room. A connection without other streams has room unless
// it is the first, which calls use: some servers take one stream on each connection.
func (l *connectionPool) count(on *pooledConnection, further bool) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if on.streams >= on.capacity(further) && (on.streams > 0 || !further) || !slices.Contains(l.all, on) {
		return false
	}
	on.streams++
	return true
}

// leave gives the place back. A further connection that has no streams is closed.
func (l *connectionPool) leave(from *pooledConnection) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if from.streams--; from.streams > 0 || from == l.all[0] {
		return
	}
	_ = from.connection.Close()
	l.all = slices.DeleteFunc(l.all, func(known *pooledConnection) bool { return known == from })
}

// current returns a copy of the connections.
func (l *connectionPool) current() []*pooledConnection {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.all)
}

// replace closes connections, which ends their calls and streams. The fresh connection becomes the first
// if that one is among them, and is closed otherwise.
func (l *connectionPool) replace(dead []*pooledConnection, fresh *pooledConnection) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if slices.Contains(dead, l.all[0]) {
		l.all = append([]*pooledConnection{fresh}, l.all...)
	} else {
		_ = fresh.connection.Close()
	}
	l.all = slices.DeleteFunc(l.all, func(known *pooledConnection) bool { return slices.Contains(dead, known) })
	for _, each := range dead {
		each.replaced.Store(true)
		_ = each.connection.Close()
	}
}

func (l *connectionPool) close() {
	for _, known := range l.current() {
		_ = known.connection.Close()
	}
}

// Invoke implements grpc.ClientConnInterface, by the first connection.
func (l *connectionPool) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	first := l.current()[0]
	first.calls.Add(1)
	defer first.calls.Add(-1)
	err := first.connection.Invoke(ctx, method, args, reply, options...)
	if !isLost(err) {
		first.answered.Store(time.Now().UnixNano())
	}
	return err
}

// NewStream implements grpc.ClientConnInterface, by the first connection.
func (l *connectionPool) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return l.current()[0].connection.NewStream(ctx, desc, method, options...)
}
