package zopp

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
	"github.com/lintel-policy/lintel/test/zopp"
)

// following is a hub that reads a double of zopp through a real store.
type following struct {
	*hub
	*testing.T
	peer        *zopp.Peer
	reader      *zopp.Principal
	workspace   *zopp.Workspace
	environment *zopp.Environment
}

func newFollowing(t *testing.T) *following {
	t.Helper()
	f := &following{T: t}
	var err error
	f.peer, err = zopp.StartDouble(t.Context(), zopp.NewDouble())
	require.NoError(t, err)
	t.Cleanup(f.peer.Stop)
	f.workspace, err = f.peer.MakeWorkspace(t.Context(), "acme")
	require.NoError(t, err)
	f.reader, err = f.workspace.MakeReader(t.Context(), "lintel")
	require.NoError(t, err)
	f.environment, err = f.workspace.MakeEnvironment(t.Context(), "backend", "production")
	require.NoError(t, err)
	f.set("one")

	file := filepath.Join(t.TempDir(), "credentials.json")
	require.NoError(t, os.WriteFile(file, f.reader.Credentials(), 0o600))
	credentials, err := store.FindCredentials(file, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	values, err := store.New(store.Options{Server: f.peer.URL, Credentials: credentials, Timeout: time.Second})
	require.NoError(t, err)
	t.Cleanup(values.Close)
	f.hub = newHub(reader{values}, time.Second, newMetrics(prometheus.NewRegistry()), func(context.Context, user) {})
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.hub.Start(ctx) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-ended)
	})
	f.has("one")
	f.until("a stream", func() bool { return f.peer.Double.Streams() == 1 })
	return f
}

// set gives the key a value, over a connection that a restart may have broken.
func (f *following) set(value string) {
	f.Helper()
	f.until("the server to take "+value, func() bool { return f.environment.Set(f.Context(), "KEY", value) == nil })
}

func (f *following) until(what string, is func() bool) {
	f.Helper()
	require.Eventually(f, is, 2*time.Minute, 5*time.Millisecond, what)
}

func (f *following) known() *snapshot {
	f.Helper()
	snapshots, err := f.hub.Use(f.Context(), appSecrets, 0, backend)
	require.NoError(f, err)
	return snapshots[0]
}

// has waits until a value is known, and nothing is wrong.
func (f *following) has(value string) {
	f.Helper()
	f.until("the value "+value, func() bool {
		s := f.known()
		return s != nil && s.failure == nil && len(s.contents.Values) == 1 && string(s.contents.Values[0].Value) == value
	})
}

// fails waits until reads of an environment fail for a reason, and returns the current snapshot.
func (f *following) fails(reason store.Reason) *snapshot {
	f.Helper()
	f.until("failure "+string(reason), func() bool {
		s := f.known()
		return s != nil && s.failure != nil && s.failure.reason == string(reason)
	})
	return f.known()
}

func TestHubWithADouble(t *testing.T) {
	for name, test := range map[string]func(*following){
		"events": func(f *following) {
			calls := f.peer.Double.Calls("ListSecrets")
			f.set("two")
			f.has("two")
			require.Less(t, f.peer.Double.Calls("ListSecrets"), calls+5)
		},
		"a burst": func(f *following) {
			for range 100 {
				f.set("another")
			}
			f.set("last")
			f.has("last")
		},
		"an event that is dropped": func(f *following) {
			f.peer.Double.Drop(1)
			f.set("two")
			f.has("two")
		},
		"a server that lags": func(f *following) {
			resume := f.peer.Double.Lag()
			for range 150 {
				f.set("another")
			}
			f.set("last")
			resume()
			f.has("last")
		},
		"the server wants a list": func(f *following) {
			f.peer.Double.RequireResync(f.environment.Environment)
			f.set("two")
			f.has("two")
		},
		"streams that end": func(f *following) {
			for _, err := range []error{nil, status.Error(codes.Internal, "no"), status.Error(codes.Unavailable, "no")} {
				f.peer.Double.EndStreams(err)
				f.until("a stream", func() bool { return f.peer.Double.Streams() == 1 })
			}
			f.set("two")
			f.has("two")
		},
		"D6: an environment that is made anew": func(f *following) {
			before := f.known().contents.ID
			require.NoError(f, f.environment.Remake(f.Context()))
			f.set("of another")
			f.has("of another")
			require.NotEqual(f, before, f.known().contents.ID)
			f.until("a stream of the new one", func() bool { return f.peer.Double.Watching(f.environment.Environment) })
		},
		"D6: another key": func(f *following) {
			require.NoError(f, f.environment.Rotate(f.Context(), values{"KEY": "rotated"}))
			f.has("rotated")
		},
		"a permission that is withdrawn": func(f *following) {
			require.NoError(f, f.workspace.Withdraw(f.Context(), f.reader))
			f.set("not for us")
			s := f.fails(store.ReasonDenied)
			require.Equal(f, "one", string(s.contents.Values[0].Value))
			require.NoError(f, f.workspace.Permit(f.Context(), f.reader, wire.Role_READ))
			f.has("not for us")
		},
		"an environment that is deleted": func(f *following) {
			require.NoError(f, f.environment.Remove(f.Context()))
			s := f.fails(store.ReasonNotFound)
			require.Equal(f, "one", string(s.contents.Values[0].Value))
		},
		"D7: a value that cannot be decrypted": func(f *following) {
			require.NoError(f, f.environment.SetSealed(f.Context(), "KEY", make([]byte, 24), make([]byte, 40)))
			f.until("it is counted", func() bool { return f.known().unreadable() == 1 })
			f.set("mended")
			f.has("mended")
		},
		"a server that is restarted": func(f *following) {
			f.peer.Double.Stop()
			require.NoError(f, f.peer.Double.Start())
			f.set("two")
			f.has("two")
			f.until("a stream", func() bool { return f.peer.Double.Streams() == 1 })
		},
		"a server that shuts down": func(f *following) {
			f.peer.Double.Drain()
			require.NoError(f, f.peer.Double.Start())
			f.until("a stream", func() bool { return f.peer.Double.Streams() == 1 })
			f.set("two")
			f.has("two")
			f.peer.Double.Drained()
		},
		"a list that hangs": func(f *following) {
			remove := f.peer.Double.Inject(zopp.Fault{Method: "ListSecrets", Hang: true})
			f.set("two")
			f.until("a call", func() bool { return f.known() != nil })
			remove()
			f.has("two")
		},
		"nobody uses it": func(f *following) {
			f.hub.Forget(appSecrets)
			f.until("no stream", func() bool { return f.peer.Double.Streams() == 0 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newFollowing(t))
		})
	}
}
