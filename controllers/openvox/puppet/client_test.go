package puppet

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostile returns a client of a server with the given handler.
func hostile(t *testing.T, answer http.HandlerFunc, patience time.Duration) *Client {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or it would not notice that the client has gone
		answer(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client, err := NewClient(Server{URL: server.URL, CA: bundle, Timeout: patience})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// everything that is asked of a CA.
func everything(c *Client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"certificate": func(ctx context.Context) error { _, err := c.Certificate(ctx, "web"); return err },
		"request":     func(ctx context.Context) error { _, err := c.Request(ctx, "web"); return err },
		"submit":      func(ctx context.Context) error { return c.Submit(ctx, "web", []byte("x")) },
		"sign":        func(ctx context.Context) error { return c.Sign(ctx, "web") },
		"revoke":      func(ctx context.Context) error { return c.Revoke(ctx, "web") },
		"clean":       func(ctx context.Context) error { return c.Clean(ctx, "web") },
		"renew":       func(ctx context.Context) error { _, err := c.Renew(ctx, []byte("x")); return err },
		"CRL":         func(ctx context.Context) error { _, _, err := c.CRL(ctx, Version{}); return err },
	}
}

// TestHostileServers: no answer of another kind of server is mistaken for a CA's, and none
// blocks the caller.
func TestHostileServers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		// hangs says that the client has to give up. Where it has not, how fast the machine
		// is must not matter.
		hangs bool
	}{
		"5xx": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down\xff", http.StatusBadGateway) }, "the CA answers 502 Bad Gateway", false},
		"HTML": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<!DOCTYPE html><p>log in")) },
			"the answer is a web page: the server is not a Puppet CA", false},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "the CA answers 307", false},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			for range 11 {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
			}
		}, "the answer is longer than 10485760 bytes", false},
		"too much of a header": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, "server response headers exceeded", false},
		"reset half way": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("-----BEGIN CERTIFICATE-----\n"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "reading the answer: unexpected EOF", false},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, "Client.Timeout exceeded", true},
		"a drop at a time": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("x"))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
			panic(http.ErrAbortHandler)
		}, "Client.Timeout", true},
	} {
		patience := 10 * time.Minute
		if c.hangs {
			patience = time.Second
		}
		client := hostile(t, c.answer, patience)
		for what, ask := range everything(client) {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				err := ask(t.Context())
				require.ErrorContains(t, err, c.want)
				require.True(t, Unanswered(err))
			})
		}
	}
}

// TestAnswered: what a CA says about a request is its answer, also where it is no.
func TestAnswered(t *testing.T) {
	for _, code := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict} {
		client := hostile(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }, 10*time.Minute)
		err := client.Sign(t.Context(), "web")
		require.Error(t, err)
		require.False(t, Unanswered(err), code)
	}
}

// TestTheSameWords: a repeated error has the same text, so nothing is written.
func TestTheSameWords(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.(*net.TCPConn).SetLinger(0)
			_, _ = connection.Read(make([]byte, 1))
			connection.Close()
		}
	}()
	client, err := NewClient(Server{URL: "https://" + listener.Addr().String(), Timeout: 10 * time.Minute})
	require.NoError(t, err)
	_, _, first := client.CRL(t.Context(), Version{})
	require.ErrorContains(t, first, "connection reset by peer")
	_, _, second := client.CRL(t.Context(), Version{})
	require.EqualError(t, second, first.Error())
}

// TestVersion: a CA that does not say when its CRL has changed is asked by when it has
// answered, a moment before.
func TestVersion(t *testing.T) {
	header := http.Header{"Date": {"Sat, 21 Nov 2026 05:42:49 GMT"}}
	require.Equal(t, Version{"", "Sat, 21 Nov 2026 05:41:49 GMT"}, versionOf(header))
	header.Set("Last-Modified", "Fri, 20 Nov 2026 05:42:49 GMT")
	require.Equal(t, Version{"", "Fri, 20 Nov 2026 05:42:49 GMT"}, versionOf(header))
	header.Set("ETag", `"a"`)
	require.Equal(t, `"a"`, versionOf(header).tag)
	require.Zero(t, versionOf(http.Header{}))
}
