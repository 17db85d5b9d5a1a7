package guard

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// upstreamAPI speaks as much of orlojd's REST API as matters here: bearer tokens, POST that
// creates or replaces, PUT with a version, DELETE, and a stream.
type upstreamAPI struct {
	mu     sync.Mutex
	stored map[string]map[string]any
	lines  chan string
	broken bool
}

func (o *upstreamAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/v1/events" {
		w.Header().Set("Content-Length", "8") // a stream that does not look like one
		for line := range o.lines {
			fmt.Fprintln(w, line)
			w.(http.Flusher).Flush()
		}
		return
	}
	if o.broken && r.Method == http.MethodGet {
		http.Error(w, "the database is down", http.StatusServiceUnavailable)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	namespace := r.URL.Query().Get("namespace")
	if namespace == "" {
		namespace = "default"
	}
	var body map[string]any
	if text, _ := io.ReadAll(r.Body); len(text) > 0 {
		if err := json.Unmarshal(text, &body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	if len(parts) == 2 && r.Method == http.MethodPost {
		metadata := body["metadata"].(map[string]any)
		if own, _ := metadata["namespace"].(string); own != "" {
			namespace = own
		}
		o.stored[parts[1]+" "+namespace+"/"+metadata["name"].(string)] = body
		w.WriteHeader(http.StatusCreated)
		return
	}
	key := parts[1] + " " + namespace + "/" + parts[2]
	switch {
	case o.stored[key] == nil:
		http.NotFound(w, r)
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(o.stored[key])
	case r.Method == http.MethodPut && r.Header.Get("If-Match") == "":
		http.Error(w, "no version", http.StatusConflict)
	case r.Method == http.MethodPut:
		o.stored[key] = body
	case r.Method == http.MethodDelete:
		delete(o.stored, key)
		w.WriteHeader(http.StatusNoContent)
	}
}

type answer struct {
	status  int
	managed string
	body    string
}

// setup is a guard in front of an orlojd with agents a, which is managed, and b.
func setup(t *testing.T, policy Policy) (*upstreamAPI, func(method, path, body string) answer, *strings.Builder) {
	t.Helper()
	upstream := &upstreamAPI{stored: map[string]map[string]any{}, lines: make(chan string)}
	for name, annotations := range map[string]any{"a": map[string]any{"orloj.dev/managed-by": "crd-sync"}, "b": map[string]any{}} {
		for _, collection := range []string{"agents", "secrets"} {
			upstream.stored[collection+" team/"+name] = map[string]any{"metadata": map[string]any{"name": name, "namespace": "team", "annotations": annotations}}
		}
	}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	logged := &strings.Builder{}
	guard := httptest.NewServer(New(address, policy, time.Minute, slog.New(slog.NewTextHandler(logged, nil))))
	t.Cleanup(guard.Close)
	return upstream, func(method, path, body string) answer {
		request, err := http.NewRequestWithContext(t.Context(), method, guard.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer secret")
		request.Header.Set("If-Match", "1")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return answer{response.StatusCode, response.Header.Get(ManagedHeader), strings.TrimSpace(string(text))}
	}, logged
}

func resourceNamed(namespace, name string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"annotations":{}},"spec":{"prompt":"mine"}}`, name, namespace)
}

// TestWritesToManagedResources: PUT, POST and DELETE in each of the modes.
func TestWritesToManagedResources(t *testing.T) {
	for policy, c := range map[Policy]struct {
		status  map[string]int
		managed string
		logged  string
	}{
		Off:    {status: map[string]int{"PUT": 200, "POST": 201, "DELETE": 204}},
		Warn:   {status: map[string]int{"PUT": 200, "POST": 201, "DELETE": 204}, managed: "true", logged: "will be overwritten"},
		Reject: {status: map[string]int{"PUT": 409, "POST": 409, "DELETE": 409}, managed: "true", logged: "refused a write"},
	} {
		for method, path := range map[string]string{"PUT": "/v1/agents/a?namespace=team", "POST": "/v1/agents", "DELETE": "/v1/agents/a?namespace=team"} {
			t.Run(string(policy)+" "+method, func(t *testing.T) {
				upstream, call, logged := setup(t, policy)
				body := resourceNamed("team", "a")
				if method == "DELETE" {
					body = ""
				}
				got := call(method, path, body)
				require.Equal(t, c.status[method], got.status, got.body)
				require.Equal(t, c.managed, got.managed)
				require.Contains(t, logged.String(), c.logged)
				stored := upstream.stored["agents team/a"]
				switch {
				case policy == Reject:
					require.Nil(t, stored["spec"], "it is as it was")
					require.Equal(t, "agents team/a is managed by an object of Kubernetes; change it there", got.body)
				case method == "DELETE":
					require.Nil(t, stored)
				default:
					require.NotNil(t, stored["spec"], "the body has arrived")
				}
			})
		}
	}
}

func TestWhatIsNotManagedPasses(t *testing.T) {
	upstream, call, logged := setup(t, Reject)
	require.Equal(t, answer{200, "", ""}, call("PUT", "/v1/agents/b?namespace=team", resourceNamed("team", "b")))
	require.Equal(t, answer{201, "", ""}, call("POST", "/v1/agents", resourceNamed("team", "new")))
	require.Equal(t, 204, call("DELETE", "/v1/secrets/b?namespace=team", "").status)
	require.Equal(t, 200, call("GET", "/v1/agents/a?namespace=team", "").status, "reading is free")
	require.Equal(t, 201, call("POST", "/v1/tasks", resourceNamed("team", "a")).status, "tasks are no kinds of Kubernetes")
	require.NotNil(t, upstream.stored["tasks team/a"])
	require.Empty(t, logged.String())
}

// TestDisguises are writes whose URL and body name different resources.
func TestDisguises(t *testing.T) {
	_, call, _ := setup(t, Reject)
	for _, c := range [][3]string{
		{"POST", "/v1/agents?namespace=other", resourceNamed("team", "a")},
		{"POST", "/v1/agents?namespace=team", resourceNamed("other", "a")},
		{"PUT", "/v1/agents/a?namespace=team", resourceNamed("other", "b")},
		{"PUT", "/v1//agents/./a?namespace=team", resourceNamed("team", "a")},
		{"DELETE", "/v1/agents/a/?namespace=team", ""},
		{"DELETE", "/v1/agents/%61?namespace=team", ""},
	} {
		require.Equal(t, http.StatusConflict, call(c[0], c[1], c[2]).status, c)
	}
}

// TestWhereItIsNotKnown: reject refuses, the others let pass.
func TestWhereItIsNotKnown(t *testing.T) {
	for policy, want := range map[Policy]int{Off: 200, Warn: 200, Reject: 503} {
		upstream, call, _ := setup(t, policy)
		upstream.broken = true
		got := call("PUT", "/v1/agents/b?namespace=team", resourceNamed("team", "b"))
		require.Equal(t, want, got.status, policy)
		require.Empty(t, got.managed)
	}
	_, call, _ := setup(t, Reject)
	require.Equal(t, http.StatusBadRequest, call("POST", "/v1/agents", "{").status, "the body cannot be read")
	_, call, _ = setup(t, Warn)
	require.Equal(t, http.StatusBadRequest, call("POST", "/v1/agents", "{").status, "it is orlojd's to say so")
}

func TestTheCallersOwnCredentialsAreUsed(t *testing.T) {
	upstream := httptest.NewServer(&upstreamAPI{stored: map[string]map[string]any{}})
	t.Cleanup(upstream.Close)
	address, err := url.Parse(upstream.URL)
	require.NoError(t, err)
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest("DELETE", "/v1/agents/a", nil)
	New(address, Warn, time.Minute, slog.New(slog.DiscardHandler)).ServeHTTP(recorder, request)
	require.Equal(t, http.StatusUnauthorized, recorder.Code)
}

// TestStreamsPass: each line arrives when it was sent, and not at the end.
func TestStreamsPass(t *testing.T) {
	lines := make(chan string)
	upstream := httptest.NewServer(&upstreamAPI{lines: lines})
	t.Cleanup(upstream.Close)
	address, err := url.Parse(upstream.URL)
	require.NoError(t, err)
	guard := httptest.NewServer(New(address, Reject, time.Minute, slog.New(slog.DiscardHandler)))
	t.Cleanup(guard.Close)
	request, err := http.NewRequestWithContext(t.Context(), "GET", guard.URL+"/v1/events", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer secret")
	go func() { lines <- "one" }()
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	read := bufio.NewReader(response.Body)
	line, err := read.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "one\n", line)
	lines <- "two" // only after the first has arrived
	close(lines)
	line, err = read.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "two\n", line)
}

func TestAnUpstreamThatIsDown(t *testing.T) {
	address, err := url.Parse("http://127.0.0.1:1")
	require.NoError(t, err)
	for policy, want := range map[Policy]int{Warn: http.StatusBadGateway, Reject: http.StatusServiceUnavailable} {
		recorder := httptest.NewRecorder()
		New(address, policy, time.Minute, slog.New(slog.DiscardHandler)).ServeHTTP(recorder, httptest.NewRequest("DELETE", "/v1/agents/a", nil))
		require.Equal(t, want, recorder.Code)
	}
}

func TestParsePolicy(t *testing.T) {
	for text, want := range map[string]Policy{"": Warn, "off": Off, " Reject ": Reject, "warn": Warn, "strict": Warn} {
		require.Equal(t, want, ParsePolicy(text), text)
	}
}
