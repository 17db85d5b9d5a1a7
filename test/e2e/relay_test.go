package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// relay forwards TCP connections to managers that are ready, as a Service does: it
// knows nothing of TLS or requests, leaves open connections where they are, and does
// not try another manager when one refuses.
type relay struct {
	listener net.Listener
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	backends []*backend
	next     int
	open     map[net.Conn]bool
}

type backend struct {
	manager *installation.Manager
	ready   bool
}

// startRelay listens on loopback until the test ends.
func startRelay(t *testing.T) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	r := &relay{listener: listener, stop: stop, open: map[net.Conn]bool{}}
	r.running.Go(r.accept)
	r.running.Go(func() { r.watch(ctx) })
	t.Cleanup(r.close)
	return r
}

// url is what managers register.
func (r *relay) url() string { return "https://" + r.listener.Addr().String() }

func (r *relay) close() {
	r.stop()
	_ = r.listener.Close()
	r.mu.Lock()
	for connection := range r.open {
		_ = connection.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
}

// add has a manager called once it is ready.
func (r *relay) add(manager *installation.Manager) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backends = append(r.backends, &backend{manager: manager})
}

func (r *relay) remove(manager *installation.Manager) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backends = slices.DeleteFunc(r.backends, func(b *backend) bool { return b.manager == manager })
}

// callable is how many managers get new connections.
func (r *relay) callable() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
	for _, b := range r.backends {
		if b.ready {
			count++
		}
	}
	return count
}

// watch asks every manager whether it is ready, again and again.
func (r *relay) watch(ctx context.Context) {
	client := &http.Client{Timeout: time.Second}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		r.mu.Lock()
		backends := slices.Clone(r.backends)
		r.mu.Unlock()
		for _, b := range backends {
			response, err := client.Get(b.manager.Health + "/readyz")
			if err == nil {
				_ = response.Body.Close()
			}
			r.mu.Lock()
			b.ready = err == nil && response.StatusCode == http.StatusOK
			r.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (r *relay) accept() {
	for {
		caller, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.forward(caller) })
	}
}

func (r *relay) forward(caller net.Conn) {
	defer caller.Close()
	address := r.pick()
	if address == "" {
		return
	}
	callee, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer callee.Close()
	r.mu.Lock()
	r.open[caller], r.open[callee] = true, true
	r.mu.Unlock()
	var directions sync.WaitGroup
	directions.Go(func() { pump(callee, caller) })
	directions.Go(func() { pump(caller, callee) })
	directions.Wait()
	r.mu.Lock()
	delete(r.open, caller)
	delete(r.open, callee)
	r.mu.Unlock()
}

// pump copies one direction and passes its end on.
func pump(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if err != nil {
		_ = to.Close()
		return
	}
	_ = to.(*net.TCPConn).CloseWrite()
}

// pick takes ready managers in turn.
func (r *relay) pick() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range r.backends {
		r.next++
		if b := r.backends[r.next%len(r.backends)]; b.ready {
			return strings.TrimPrefix(b.manager.WebhookURL, "https://")
		}
	}
	return ""
}
