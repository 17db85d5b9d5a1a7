package store

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestFullLinesInABlackHole: calls that the server never answers fill a connection as others do. It is alive
// only if the server has answered one lately.
func TestFullLinesInABlackHole(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	for name, c := range map[string]struct {
		limit     uint32
		calls     int32
		answered  time.Duration // ago
		unchecked bool
	}{
		"room for the check":         {20, 1, 0, false},
		"full, and answering":        {20, 20, 0, true},
		"full, and lost":             {20, 20, time.Minute, false},
		"a stream is all it permits": {1, 0, time.Minute, true},
		"one call, and that is lost": {1, 1, time.Minute, false},
		"one call, after an answer":  {1, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection, err := grpc.NewClient(silent.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			require.NoError(t, err)
			t.Cleanup(func() { _ = connection.Close() })
			l := &pooledConnection{connection: connection}
			l.limit.Store(c.limit)
			l.calls.Store(c.calls)
			l.answered.Store(time.Now().Add(-c.answered).UnixNano())
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if c.unchecked {
				require.NoError(t, l.check(ctx))
			} else {
				require.Error(t, l.check(ctx))
			}
		})
	}
}
