package openvox

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestForwardThroughASilentServer: Ctrl-C ends a command whose port-forward is never answered.
func TestForwardThroughASilentServer(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		interrupt()
		<-answer
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(answer) })
	ended := make(chan error, 1)
	go func() {
		find := func(context.Context) (client.ObjectKey, error) {
			return client.ObjectKey{Namespace: "puppet", Name: "ca-0"}, nil
		}
		_, err := newForward(&rest.Config{Host: server.URL}, find, 8140).dial(ctx)
		ended <- err
	}()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "forwarding a port to Pod ca-0")
	case <-time.After(time.Minute):
		t.Fatal("the command goes on")
	}
}

// TestAwaited gives up a call after a time, and discards a later result.
func TestAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var discarded []int
		call := func(pause time.Duration) (int, error) {
			return awaited(t.Context(), func() (int, error) {
				time.Sleep(pause)
				return 7, nil
			}, func(late int) { discarded = append(discarded, late) })
		}
		value, err := call(forwardTimeout - time.Second)
		require.NoError(t, err)
		require.Equal(t, 7, value)
		value, err = call(forwardTimeout + time.Second)
		require.EqualError(t, err, "the API server has not answered in 30s")
		require.Zero(t, value)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []int{7}, discarded)
	})
}
