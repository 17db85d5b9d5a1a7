package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/lintel-policy/lintel/test/orlojd"
)

// start starts a double of orlojd, unless there is a real one: see its package.
var start = sync.OnceValues(func() (*orlojd.Peer, error) { return orlojd.Start(context.Background()) })

// started reports that there is something to stop.
var started bool

func TestMain(m *testing.M) {
	code := m.Run()
	if started {
		if peer, err := start(); err == nil {
			peer.Stop()
		}
	}
	os.Exit(code)
}

func peerOf(t *testing.T) *orlojd.Peer {
	t.Helper()
	started = true
	peer, err := start()
	require.NoError(t, err)
	return peer
}

// insert stores agent guarded/a, which an object of Kubernetes keeps.
func insert(t *testing.T) {
	t.Helper()
	peer := peerOf(t)
	connection, err := pgx.Connect(t.Context(), peer.DSN)
	require.NoError(t, err)
	defer connection.Close(context.Background())
	_, err = connection.Exec(t.Context(), `INSERT INTO agents (name, namespace, payload) VALUES ('guarded/a', 'guarded',
		'{"apiVersion":"orloj.dev/v1","kind":"Agent","metadata":{"name":"a","namespace":"guarded","annotations":{"orloj.dev/managed-by":"crd-sync"},"resourceVersion":"1","generation":1},
		"spec":{"model_ref":"m","prompt":"kept"},"status":{"phase":"Ready","observedGeneration":1}}')
		ON CONFLICT (name) DO UPDATE SET payload = EXCLUDED.payload`)
	require.NoError(t, err)
	t.Cleanup(func() {
		own, err := pgx.Connect(context.Background(), peer.DSN)
		if err == nil {
			_, _ = own.Exec(context.Background(), "DELETE FROM agents WHERE namespace = 'guarded'")
			_ = own.Close(context.Background())
		}
	})
}

// prompt is that of the stored agent: empty if there is none.
func prompt(t *testing.T) string {
	t.Helper()
	response, err := http.Get(peerOf(t).Address + "/v1/agents/a?namespace=guarded")
	require.NoError(t, err)
	defer response.Body.Close()
	var stored struct{ Spec struct{ Prompt string } }
	if response.StatusCode == http.StatusOK {
		require.NoError(t, json.NewDecoder(response.Body).Decode(&stored))
	}
	return stored.Spec.Prompt
}

func send(t *testing.T, address, method, path, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
	require.NoError(t, err)
	if method == http.MethodPut {
		request.Header.Set("If-Match", "*")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header.Get(ManagedHeader), strings.TrimSpace(string(text))}
}

func guardOf(t *testing.T, policy Policy) (*Guard, string) {
	t.Helper()
	upstream, err := url.Parse(peerOf(t).Address)
	require.NoError(t, err)
	guard := New(upstream, policy, time.Minute, slog.New(slog.DiscardHandler))
	server := httptest.NewServer(guard)
	t.Cleanup(server.Close)
	return guard, server.URL
}

// TestEvasions are writes to a managed resource that another reader takes for writes to
// another. Without the guard each of those that orlojd reads arrives.
func TestEvasions(t *testing.T) {
	const spec = `"spec":{"model_ref":"m","prompt":"mine"}`
	_, guard := guardOf(t, Reject)
	peer := peerOf(t)
	for name, c := range map[string]struct {
		path, body string
		status     int
		says       string
		// unread is what orlojd 0.3 does not read as a write to the resource.
		unread bool
	}{
		"plainly":                {body: `{"metadata":{"name":"a","namespace":"guarded"},` + spec + `}`, status: 409, says: "agents guarded/a is managed by an object of Kubernetes"},
		"a second metadata":      {body: `{"metadata":{"name":"b","namespace":"guarded"},"Metadata":{"name":"a"},` + spec + `}`, status: 400, says: `Metadata: orlojd takes "Metadata" for "metadata"`},
		"metadata in upper case": {body: `{"METADATA":{"name":"a","namespace":"guarded"},` + spec + `}`, status: 400, says: `METADATA: orlojd takes`},
		"the same key twice":     {body: `{"metadata":{"name":"b","namespace":"guarded"},"metadata":{"name":"a","namespace":"guarded"},` + spec + `}`, status: 400, says: "metadata: duplicate key"},
		"the same name twice":    {body: `{"metadata":{"name":"b","name":"a","namespace":"guarded"},` + spec + `}`, status: 400, says: "metadata.name: duplicate key"},
		"a name and a Name":      {body: `{"metadata":{"name":"b","Name":"a","namespace":"guarded"},` + spec + `}`, status: 400, says: `metadata.Name: orlojd takes "Name" for "name"`},
		"NAMESPACE":              {body: `{"metadata":{"name":"a","namespace":"x","NAMESPACE":"guarded"},` + spec + `}`, status: 400, says: "metadata.NAMESPACE: orlojd takes"},
		"a long s":               {body: `{"metadata":{"name":"a","namespace":"x","name\u017fpace":"guarded"},` + spec + `}`, status: 400, says: `orlojd takes "nameſpace" for "namespace"`},
		"a name in escapes":      {body: `{"metadata":{"n\u0061me":"\u0061","namespace":"guarded"},` + spec + `}`, status: 409, says: "is managed"},
		"spaces around":          {body: `{"metadata":{"name":" a ","namespace":" guarded"},` + spec + `}`, status: 409, says: "is managed"},
		"another namespace":      {path: "?namespace=GUARDED", body: `{"metadata":{"name":"a","namespace":"guarded"},` + spec + `}`, status: 409, says: "is managed"},
		"several namespaces":     {path: "?namespace=guarded&namespace=x", body: `{"metadata":{"name":"a","namespace":"guarded"},` + spec + `}`, status: 400, says: "the address names several namespaces"},
		"a prompt twice":         {body: `{"metadata":{"name":"a","namespace":"guarded"},"spec":{"model_ref":"m","prompt":"theirs","prompt":"mine"}}`, status: 400, says: "spec.prompt: duplicate key"},
		"a Prompt":               {body: `{"metadata":{"name":"a","namespace":"guarded"},"spec":{"model_ref":"m","prompt":"theirs","Prompt":"mine"}}`, status: 400, says: `spec.Prompt: orlojd takes`, unread: peer.Double != nil},
		"plain YAML":             {body: "metadata:\n  name: a\n  namespace: guarded\nspec:\n  model_ref: m\n  prompt: mine\n", status: 400, says: "request body: must be one JSON document", unread: peer.Double != nil},
		"a second document":      {body: "metadata:\n  name: b\n  namespace: guarded\n---\nmetadata:\n  name: a\nspec:\n  model_ref: m\n  prompt: mine\n", status: 400, says: "request body: must be one JSON document", unread: peer.Double != nil},
		"a nested name":          {body: "metadata:\n  name: b\n  namespace: guarded\n  annotations:\n    name: a\nspec:\n  model_ref: m\n  prompt: mine\n", status: 400, says: "request body: must be one JSON document", unread: peer.Double != nil},
		"anchors":                {body: "x: &x {name: a, namespace: guarded}\nmetadata:\n  <<: *x\nspec: {model_ref: m, prompt: mine}\n", status: 400, says: "request body: must be one JSON document", unread: true},
		"two JSON documents":     {body: `{"metadata":{"name":"b"}}{"metadata":{"name":"a","namespace":"guarded"},` + spec + `}`, status: 400, says: "request body: must be one JSON document", unread: true},
		"no UTF-8":               {body: "{\"metadata\":{\"name\":\"a\",\"namespace\":\"guarded\"},\"spec\":{\"model_ref\":\"m\xff\",\"prompt\":\"mine\"}}", status: 400, says: "request body: must be one JSON document"},
		"a number for a name":    {body: `{"metadata":{"name":1,"namespace":"guarded"},` + spec + `}`, status: 400, says: "metadata.name: must be a string", unread: true},
		"a list":                 {body: `[{"metadata":{"name":"a","namespace":"guarded"},` + spec + `}]`, status: 400, says: "request body: must be a resource", unread: true},
		"very deep":              {body: `{"metadata":{"name":"a","namespace":"guarded"},"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,` + spec + `}`, status: 400, says: "nested more than 1000 levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			insert(t)
			got := send(t, guard, http.MethodPost, "/v1/agents"+c.path, c.body)
			require.Equal(t, c.status, got.status, got.body)
			require.Contains(t, got.body, c.says)
			require.Equal(t, "kept", prompt(t))
			send(t, peer.Address, http.MethodPost, "/v1/agents"+strings.Replace(c.path, "GUARDED", "guarded", 1), c.body)
			if !c.unread {
				require.Equal(t, "mine", prompt(t), "it would have arrived")
			}
		})
	}
}

// TestWhatWasEvaluatedIsSentOn: labels and values may differ by case, and numbers stay.
func TestWhatWasEvaluatedIsSentOn(t *testing.T) {
	arrived := make(chan string, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		text, _ := io.ReadAll(r.Body)
		arrived <- fmt.Sprint(r.ContentLength == int64(len(text)), " ", r.Header.Get("Content-Type"), " ", string(text))
	}))
	t.Cleanup(upstream.Close)
	address, err := url.Parse(upstream.URL)
	require.NoError(t, err)
	guard := httptest.NewServer(New(address, Reject, time.Minute, slog.New(slog.DiscardHandler)))
	t.Cleanup(guard.Close)
	const body = `{"metadata":{"annotations":{"A":"<1>","a":"2"},"labels":{"Name":"x","name":"y"},"name":"n"},"spec":{"data":{"K":"v","k":"w"},"n":12345678901234567890.10}}`
	require.Equal(t, 200, send(t, guard.URL, http.MethodPost, "/v1/secrets", "\n "+strings.Replace(body, `"spec"`, "\t\"spec\"", 1)).status)
	require.Equal(t, "true application/json "+body+"\n", <-arrived)
	require.Equal(t, 200, send(t, guard.URL, http.MethodPatch, "/v1/secrets/n", `[{"op":"remove","path":"/spec/k"}]`).status)
	require.Equal(t, "true application/json "+`[{"op":"remove","path":"/spec/k"}]`+"\n", <-arrived)
	require.Equal(t, 413, send(t, guard.URL, http.MethodPost, "/v1/secrets", `{"x":"`+strings.Repeat("x", maxBody)+`"}`).status)
}

// TestEveryWriteIsWarnedOf: the first takes the mark out by which the resource is known.
func TestEveryWriteIsWarnedOf(t *testing.T) {
	insert(t)
	g, guard := guardOf(t, Warn)
	clock := clocktesting.NewFakeClock(time.Now())
	g.written = cache.NewExpiringWithClock(clock)
	body := func(prompt string) string {
		return `{"metadata":{"name":"a","namespace":"guarded"},"spec":{"model_ref":"m","prompt":"` + prompt + `"}}`
	}
	for _, write := range [][3]string{
		{"PUT", "/v1/agents/a?namespace=guarded", body("one")}, {"PUT", "/v1/agents/a?namespace=guarded", body("two")},
		{"DELETE", "/v1/agents/a?namespace=guarded", ""}, {"POST", "/v1/agents", body("three")},
		{"POST", "/v1/agents", `{"metadata":{"name":"a","name":"a","namespace":"guarded"},"spec":{"model_ref":"m","prompt":"three"}}`},
		{"PUT", "/v1/agents/a?namespace=guarded", `{"metadata":{"name":"a","Name":"a","namespace":"guarded"},"spec":{"model_ref":"m","prompt":"three"}}`},
	} {
		got := send(t, guard, write[0], write[1], write[2])
		require.Less(t, got.status, 300, got.body)
		want := "true"
		if strings.Contains(write[2], `"name":"a","name"`) {
			want = "" // its target is unknown, so the request passes
		}
		require.Equal(t, want, got.managed, write)
	}
	require.Equal(t, "three", prompt(t))
	clock.Step(3 * time.Minute)
	require.Empty(t, send(t, guard, "PUT", "/v1/agents/a?namespace=guarded", body("four")).managed, "the manager has looked, and left it")
}

func FuzzReadDocument(f *testing.F) {
	for _, seed := range []string{`{"metadata":{"name":"a"}}`, `{"a":1,"a":2}`, `[[]]`, `{"Metadata":{}}`, "a: b", `"x"`, `{"a":{"b":[1e400]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		document, err := readDocument(text)
		if err != nil {
			return
		}
		// The forwarded body has the same meaning to encoding/json, which orlojd uses.
		again, err := json.Marshal(document)
		require.NoError(t, err)
		var before, after struct {
			Metadata struct{ Name, Namespace json.RawMessage }
		}
		errBefore, errAfter := json.Unmarshal(text, &before), json.Unmarshal(again, &after)
		require.Equal(t, errBefore == nil, errAfter == nil)
		if errBefore == nil {
			var a, b any
			require.Equal(t, json.Unmarshal(before.Metadata.Name, &a) == nil, json.Unmarshal(after.Metadata.Name, &b) == nil)
			require.Equal(t, a, b)
		}
	})
}
