package store

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/stats"
)

// TestAStreamOnAFormerTransportEnds checks that the stream ends at any time when the change of
// the connection is noticed: a server that drains may do so before any caller waits for a
// change.
func TestAStreamOnAFormerTransportEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	on := &pooledConnection{}
	on.connection, err = connect("http://"+listener.Addr().String(), "", on)
	require.NoError(t, err)
	t.Cleanup(func() { _ = on.connection.Close() })

	ends := func(ctx context.Context, local string) bool {
		w := &Watch{}
		_, w.cancel = context.WithCancel(ctx)
		w.endWith(ctx, on, local)
		return w.drained.Load()
	}
	require.True(t, ends(t.Context(), "127.0.0.1:1"), "the connection is idle")

	on.connection.Connect()
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for state := on.connection.GetState(); state != connectivity.Ready; state = on.connection.GetState() {
		require.True(t, on.connection.WaitForStateChange(waiting, state))
	}
	require.True(t, ends(t.Context(), "127.0.0.1:1"), "another transport is ready")
	stopped, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	require.False(t, ends(stopped, on.newest.Load().(string)), "its own transport is ready")
}

var _ stats.Handler = (*pooledConnection)(nil)
