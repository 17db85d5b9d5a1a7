package store_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	testifyassert "github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type assert = testifyassert.CollectT

// between is a proxy to a server that can drop all traffic.
type between struct {
	address   string
	swallowed atomic.Bool
}

func newBetween(t *testing.T, server string) *between {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &between{address: listener.Addr().String()}
	var running sync.WaitGroup
	var open sync.Map
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				continue
			}
			open.Store(near, far)
			running.Go(func() { b.carry(near, far) })
			running.Go(func() { b.carry(far, near) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.Range(func(near, far any) bool {
			_, _ = near.(net.Conn).Close(), far.(net.Conn).Close()
			return true
		})
		running.Wait()
	})
	return b
}

func (b *between) swallow() { b.swallowed.Store(true) }

func (b *between) carry(from, to net.Conn) {
	_, _ = io.Copy(writer(func(part []byte) (int, error) {
		if b.swallowed.Load() {
			return len(part), nil
		}
		return to.Write(part)
	}), from)
}

type writer func([]byte) (int, error)

func (w writer) Write(part []byte) (int, error) { return w(part) }
