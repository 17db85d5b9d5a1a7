package zopp

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// Faults are the double's alone: no rule of a real server is behind these tests.

func makeFaulty(t *testing.T) *site {
	t.Helper()
	if shared.Double == nil {
		before := shared
		peer, err := StartDouble(t.Context(), NewDouble())
		require.NoError(t, err)
		shared = peer
		t.Cleanup(func() { peer.Stop(); shared = before })
	}
	return makeSite(t)
}

// TestDroppedEvents: as many as are said, and the version goes on.
func TestDroppedEvents(t *testing.T) {
	s := makeFaulty(t)
	w := s.watch(s.reader, s.watchRequest())
	shared.Double.Drop(2)
	s.set("A", "1")
	s.set("B", "1")
	s.set("C", "1")
	require.EqualValues(t, 3, w.next().GetVersion())
}

// TestALaggingSubscriber checks that a slow subscriber receives only the latest events, without
// a notice.
func TestALaggingSubscriber(t *testing.T) {
	s := makeFaulty(t)
	w := s.watch(s.reader, s.watchRequest())
	resume := shared.Double.Lag()
	for range Capacity + 10 {
		require.NoError(t, s.SetSealed(t.Context(), "A", nil, nil))
	}
	w.quiet()
	resume()
	for version := range Capacity {
		require.EqualValues(t, 11+version, w.next().GetVersion())
	}
	w.quiet()
}

// TestCallsThatFail: those that are named, until it is over.
func TestCallsThatFail(t *testing.T) {
	s := makeFaulty(t)
	opened := s.store(s.reader)
	list := func() error {
		_, err := opened.List(t.Context(), s.Environment.Environment)
		return err
	}
	remove := shared.Double.Inject(Fault{Method: "ListSecrets", Err: status.Error(codes.PermissionDenied, "x")})
	require.Error(t, list())
	remove()
	remove()
	require.NoError(t, list())

	remove = shared.Double.Inject(Fault{Method: "GetEnvironment", Delay: 50 * time.Millisecond})
	start := time.Now()
	require.NoError(t, list())
	require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
	remove()

	remove = shared.Double.Inject(Fault{Method: "GetEnvironment", Hang: true})
	done := make(chan error, 1)
	go func() { done <- list() }()
	select {
	case <-done:
		require.Fail(t, "it does not hang")
	case <-time.After(silence):
	}
	remove()
	require.NoError(t, <-done)

	remove = shared.Double.Inject(Fault{Method: "ListSecrets", Alter: func(m proto.Message) { m.(*wire.SecretList).Version = 77 }})
	contents, err := opened.List(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	require.EqualValues(t, 77, contents.Version)
	remove()
}

// TestADoubleThatComesBack checks a restart at the same address, with the former contents.
func TestADoubleThatComesBack(t *testing.T) {
	peer, err := StartDouble(t.Context(), NewDouble())
	require.NoError(t, err)
	defer peer.Stop()
	w, err := peer.MakeWorkspace(t.Context(), "acme")
	require.NoError(t, err)
	url := peer.Double.URL()
	remove := peer.Double.Inject(Fault{Method: "CreateProject", Hang: true})
	hanging := make(chan error, 1)
	go func() {
		_, err := w.MakeEnvironment(context.Background(), "backend", "production")
		hanging <- err
	}()
	require.Eventually(t, func() bool { return peer.Double.Calls("CreateProject") == 1 }, patience, time.Millisecond)
	peer.Double.Stop()
	require.Error(t, <-hanging, "who hangs is let go")
	remove()
	require.NoError(t, peer.Double.Start())
	require.Equal(t, url, peer.Double.URL())
	var e *Environment
	require.Eventually(t, func() bool { // the client may still use the connection that ended
		e, err = w.MakeEnvironment(t.Context(), "backend", "staging")
		return status.Code(err) != codes.Unavailable
	}, patience, time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, store.Environment{Workspace: "acme", Project: "backend", Name: "staging"}, e.Environment)
}
