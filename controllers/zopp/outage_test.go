package zopp

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/test/zopp"
)

// relay is a way to a server that may be disturbed.
type relay struct {
	address, server string

	mutex    sync.Mutex
	listener net.Listener
	// closes has connections closed as soon as they are accepted, and swallows has those
	// that are open, or accepted from now on, carry nothing for as long as they last.
	closes, swallows bool
	open             map[net.Conn]*bool // whether it is swallowed
	running          sync.WaitGroup
}

func startRelay(t *testing.T, server string) *relay {
	t.Helper()
	r := &relay{server: server, address: "127.0.0.1:0", open: map[net.Conn]*bool{}}
	require.NoError(t, r.listen())
	t.Cleanup(func() { r.refuse(); r.running.Wait() })
	return r
}

func (r *relay) listen() (err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.listener, err = net.Listen("tcp", r.address); err != nil {
		return err
	}
	listener := r.listener
	r.address = listener.Addr().String()
	r.running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			r.carry(near)
		}
	})
	return nil
}

// refuse closes all connections and accepts no new ones.
func (r *relay) refuse() {
	r.mutex.Lock()
	_ = r.listener.Close()
	r.mutex.Unlock()
	r.reset()
}

func (r *relay) reset() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for conn := range r.open {
		_ = conn.Close()
	}
}

func (r *relay) set(closes, swallows bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.closes, r.swallows = closes, swallows
	if swallows {
		for _, swallowed := range r.open {
			*swallowed = true
		}
	}
}

func (r *relay) carry(near net.Conn) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	far, err := net.Dial("tcp", r.server)
	if err != nil || r.closes {
		_ = near.Close()
		if far != nil {
			_ = far.Close()
		}
		return
	}
	swallowed := r.swallows
	r.open[near], r.open[far] = &swallowed, &swallowed
	copied := func(from, to net.Conn) {
		_, _ = io.Copy(writerFunc(func(part []byte) (int, error) {
			r.mutex.Lock()
			drop := swallowed
			r.mutex.Unlock()
			if drop {
				return len(part), nil
			}
			return to.Write(part)
		}), from)
		r.mutex.Lock()
		drop := swallowed
		delete(r.open, from)
		r.mutex.Unlock()
		_ = from.Close()
		if !drop {
			_ = to.Close()
		}
	}
	r.running.Go(func() { copied(near, far) })
	r.running.Go(func() { copied(far, near) })
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(part []byte) (int, error) { return w(part) }

// outages is a hub with many environments whose server is behind a relay.
type outages struct {
	*testing.T
	hub          *hub
	peer         *zopp.Peer
	relay        *relay
	environments []*zopp.Environment
}

const outageEnvironments = 21

func newOutages(t *testing.T) *outages {
	t.Helper()
	o := &outages{T: t}
	var err error
	o.peer, err = zopp.StartDouble(t.Context(), zopp.NewDouble())
	require.NoError(t, err)
	t.Cleanup(o.peer.Stop)
	workspace, err := o.peer.MakeWorkspace(t.Context(), "acme")
	require.NoError(t, err)
	reader1, err := workspace.MakeReader(t.Context(), "lintel")
	require.NoError(t, err)
	o.relay = startRelay(t, strings.TrimPrefix(o.peer.URL, "http://"))
	file := filepath.Join(t.TempDir(), "credentials.json")
	require.NoError(t, os.WriteFile(file, reader1.Credentials(), 0o600))
	credentials, err := store.FindCredentials(file, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	values, err := store.New(store.Options{Server: "http://" + o.relay.address, Credentials: credentials})
	require.NoError(t, err)
	o.hub = newHub(reader{values}, time.Minute, newMetrics(prometheus.NewRegistry()), func(context.Context, user) {})
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.hub.Start(ctx) }()
	t.Cleanup(func() {
		end()
		values.Close()
		require.NoError(t, <-ended)
	})
	var used []store.Environment
	for i := range outageEnvironments {
		e, err := workspace.MakeEnvironment(t.Context(), "many", fmt.Sprint(i))
		require.NoError(t, err)
		o.environments, used = append(o.environments, e), append(used, e.Environment)
	}
	_, err = o.hub.Use(t.Context(), appSecrets, 0, used...)
	require.NoError(t, err)
	o.until("all streams", time.Minute, o.healthy)
	return o
}

func (o *outages) until(what string, limit time.Duration, is func() bool) time.Duration {
	o.Helper()
	began := time.Now()
	require.Eventually(o, is, limit, 5*time.Millisecond, what)
	return time.Since(began)
}

// streams and failing return the values of the metrics.
func (o *outages) streams() int {
	return o.hub.sum(func(f *follower) int { return count(f.streaming.Load()) })
}

func (o *outages) failing() int {
	return o.hub.sum(func(f *follower) int { return count(f.failed.Load() > 0) })
}

// healthy reports whether the server, too, has all streams.
func (o *outages) healthy() bool {
	for _, e := range o.environments {
		if !o.peer.Double.Watching(e.Environment) {
			return false
		}
	}
	return o.streams() == outageEnvironments && o.failing() == 0 && !o.hub.outage.unreachable.Load()
}

// told reports whether the latest list of each environment has the value.
func (o *outages) told(value string) bool {
	return o.hub.sum(func(f *follower) int {
		s := f.latest.Load()
		return count(s != nil && s.contents != nil && len(s.contents.Values) == 1 && string(s.contents.Values[0].Value) == value)
	}) == outageEnvironments
}

// TestOutages checks that all streams are open soon after the server's return, and that failures
// are reported meanwhile. LINTEL_ZOPP_OUTAGES is the number of outages of each kind.
func TestOutages(t *testing.T) {
	outagesEach, limit := 1, 30*time.Second
	if wanted, err := strconv.Atoi(os.Getenv("LINTEL_ZOPP_OUTAGES")); err == nil {
		outagesEach, limit = wanted, 2*time.Second
	}
	for name, kind := range map[string]struct {
		begin, end func(*outages)
		unnoticed  bool // whether streams may look open for a while
	}{
		"refused":             {begin: func(o *outages) { o.relay.refuse() }, end: func(o *outages) { require.NoError(o, o.relay.listen()) }},
		"accepted and closed": {begin: func(o *outages) { o.relay.set(true, false); o.relay.reset() }, end: func(o *outages) { o.relay.set(false, false) }},
		"black hole":          {begin: func(o *outages) { o.relay.set(false, true) }, end: func(o *outages) { o.relay.set(false, false) }, unnoticed: true},
		"GOAWAY": {begin: func(o *outages) { o.peer.Double.Drain() }, end: func(o *outages) {
			require.NoError(o, o.peer.Double.Start())
		}},
		"restart": {begin: func(o *outages) { o.peer.Double.Stop() }, end: func(o *outages) { require.NoError(o, o.peer.Double.Start()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutages(t)
			longest, within := time.Duration(0), 0
			for i := range outagesEach {
				kind.begin(o)
				if !kind.unnoticed {
					o.until("all failing", time.Minute, func() bool { return o.streams() == 0 && o.failing() == outageEnvironments })
				} else {
					o.until("the outage to be noticed", time.Minute, o.hub.outage.unreachable.Load)
				}
				wait(t.Context(), time.Duration(i%7)*time.Second/2) // so that outages end at any time of a retry
				kind.end(o)
				took := o.until("all streams", time.Minute, o.healthy)
				value := fmt.Sprint(i)
				for _, e := range o.environments {
					require.Eventually(t, func() bool { return e.Set(t.Context(), "KEY", value) == nil }, time.Minute, time.Millisecond)
				}
				// Streams that only look open bring no event, and the next poll is far.
				took += o.until("all changes", time.Minute, func() bool { return o.told(value) })
				longest = max(longest, took)
				if took <= limit {
					within++
				}
			}
			t.Logf("%s: changes of all environments arrive within %s in %d of %d outages, at most after %s", name, limit, within, outagesEach, longest.Round(time.Millisecond))
			require.Equal(t, outagesEach, within)
		})
	}
}
