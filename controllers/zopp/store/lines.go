package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/stats"
)

// streamsEach is how many streams share a connection. Servers know no limit, but proxies
// before them do: 100 is a usual one, and calls wait for ever where streams have taken it
// all.
const streamsEach = 80

// line is a connection, and how many streams are on it. It is also the connection's
// stats.Handler, and notes the local address of the newest transport: a ClientConn replaces
// its transport whenever that one ends.
type line struct {
	connection *grpc.ClientConn
	streams    int
	newest     atomic.Value // string
}

// TagConn implements stats.Handler.
func (l *line) TagConn(ctx context.Context, transport *stats.ConnTagInfo) context.Context {
	l.newest.Store(transport.LocalAddr.String())
	return ctx
}

// HandleConn implements stats.Handler.
func (*line) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC implements stats.Handler.
func (*line) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (*line) HandleRPC(context.Context, stats.RPCStats) {}

// carries reports whether new calls would be on the transport with this local address.
func (l *line) carries(local string) bool {
	return l.newest.Load() == any(local) && l.connection.GetState() == connectivity.Ready
}

// lines are connections to one server. The first is for calls, too.
type lines struct {
	connect func(stats.Handler) (*grpc.ClientConn, error)

	mutex sync.Mutex
	all   []*line
}

// take is a place for a stream.
func (l *lines) take() (*line, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, known := range l.all {
		if known.streams < streamsEach {
			known.streams++
			return known, nil
		}
	}
	added := &line{streams: 1}
	var err error
	if added.connection, err = l.connect(added); err != nil {
		return nil, err
	}
	l.all = append(l.all, added)
	return added, nil
}

// leave gives the place back. A further connection that has no streams is closed.
func (l *lines) leave(from *line) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if from.streams--; from.streams > 0 || from == l.all[0] {
		return
	}
	_ = from.connection.Close()
	l.all = slices.DeleteFunc(l.all, func(known *line) bool { return known == from })
}

func (l *lines) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, known := range l.all {
		_ = known.connection.Close()
	}
}
