package orlojd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

var peer *Peer

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if peer, err = Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer peer.Stop()
		return m.Run()
	}())
}

// call sends a request, and fails unless its answer has the status.
func call(t *testing.T, status int, method, path, body string) (answer map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, peer.Address+path, strings.NewReader(body))
	require.NoError(t, err)
	if method == http.MethodPut {
		request.Header.Set("If-Match", "*")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, status, response.StatusCode, "%s %s: %s", method, path, text)
	_ = json.Unmarshal(text, &answer)
	return answer
}

func database(t *testing.T) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), peer.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

// insert writes a row past orlojd, as Lintel does.
func insert(t *testing.T, path, name, spec string) {
	t.Helper()
	c := collectionsByPath[path]
	connection := database(t)
	payload := fmt.Sprintf(`{"apiVersion":"orloj.dev/v1","kind":%q,"metadata":{"name":%q,"namespace":"contract","labels":{"l":"v"},
		"annotations":{"orloj.dev/managed-by":"crd-sync","lintel.dev/cluster":"c"},"resourceVersion":"1","generation":1,"createdAt":"2020-01-01T00:00:00Z"},
		"spec":%s,"status":{"phase":"Pending"}}`, c.kind, name, spec)
	_, err := connection.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s (name, namespace, status_phase, payload) VALUES ($1, 'contract', 'pending', $2)", c.table), "contract/"+name, payload)
	require.NoError(t, err)
	t.Cleanup(func() {
		own, err := pgx.Connect(context.Background(), peer.DSN)
		if err == nil {
			_, _ = own.Exec(context.Background(), fmt.Sprintf("DELETE FROM %s WHERE namespace = 'contract'", c.table))
			_ = own.Close(context.Background())
		}
	})
}

func stored(t *testing.T, path, name string) (o object) {
	t.Helper()
	var text []byte
	require.NoError(t, database(t).QueryRow(t.Context(), fmt.Sprintf("SELECT payload FROM %s WHERE name = $1", collectionsByPath[path].table), "contract/"+name).Scan(&text))
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

// TestAStatusWriteDropsWhatOrlojdDoesNotKnow: each kind with every field that it has, and
// those that only newer versions know.
func TestAStatusWriteDropsWhatOrlojdDoesNotKnow(t *testing.T) {
	for path, specs := range map[string][2]string{
		"agents": {
			`{"model_ref":"m","prompt":"p","tools":["t"],"allowed_tools":["t"],"roles":["r"],"memory":{"ref":"n","type":"t","provider":"p","allow":["read"]},
				"execution":{"profile":"contract","tool_sequence":["t"],"required_output_markers":["m"],"duplicate_tool_call_policy":"deny","on_contract_violation":"observe","tool_use_behavior":"stop_on_first_tool"},
				"limits":{"max_steps":3,"timeout":"1m"}}`,
			`{"fallback_model_refs":["f"],"execution":{"output_schema":{"type":"object"}}}`},
		"agent-policies": {
			`{"max_tokens_per_run":5,"allowed_models":["m"],"blocked_tools":["t"],"apply_mode":"scoped","target_systems":["s"],"target_tasks":["t"]}`,
			`{"target_agents":["a"],"max_child_depth":1,"max_child_tasks":2}`},
		"agent-systems": {
			`{"agents":["a","b"],"graph":{"a":{"next":"b","edges":[{"to":"b","labels":{"l":"v"},"policy":{"p":"v"}}],"join":{}},"b":{"join":{"mode":"quorum","quorum_count":1,"quorum_percent":50,"on_failure":"skip"}}}}`,
			`{"context_adapter":"x","a2a":{"enabled":true},"completion_review":{"checkpoint_id":"c"},
				"graph":{"b":{"review":{"checkpoint_id":"d"},"delegates":[{"to":"a"}],"delegate_join":{"mode":"quorum"}}}}`},
		"mcp-servers": {
			`{"transport":"http","endpoint":"http://127.0.0.1:1","args":["a"],"env":[{"name":"n","value":"v","secretRef":"s"}],"auth":{"profile":"bearer","secretRef":"s"},"tool_filter":{"include":["t"]},"reconnect":{"max_attempts":1,"backoff":"1s"}}`,
			`{"image":"i","image_pull_secret":"s","idle_timeout":"5m","resources":{"memory":"1Mi"},"default_tool_runtime":{"timeout":"1s"},"allowPrivate":true}`},
		"memories": {
			`{"type":"in-memory","provider":"in-memory","embedding_model":"e","auth":{"secretRef":"s"}}`, `{"endpoint_secret_ref":"s"}`},
		"model-endpoints": {
			`{"provider":"ollama","base_url":"http://127.0.0.1:1","default_model":"m","options":{"o":"v"},"auth":{"secretRef":"s"}}`, `{"allowPrivate":true}`},
		"tools": {
			`{"type":"http","endpoint":"http://127.0.0.1:1","description":"d","input_schema":{"type":"object"},"mcp_server_ref":"s","mcp_tool_name":"n","capabilities":["c"],"operation_classes":["read"],"risk_level":"low",
				"runtime":{"timeout":"1s","isolation_mode":"none","retry":{"max_attempts":1,"backoff":"1s","max_backoff":"2s","jitter":"full"}},"auth":{"profile":"oauth2_client_credentials","secretRef":"s","headerName":"h","tokenURL":"u","scopes":["x"]}}`,
			`{"cli":{"command":"c"},"wasm":{"module":"m","enable_wasi":true},"a2a":{"agent_url":"u"}}`},
		"secrets": {`{"data":{"k":"aGVsbG8="}}`, `{}`},
	} {
		t.Run(path, func(t *testing.T) {
			var known, newer map[string]any
			require.NoError(t, json.Unmarshal([]byte(specs[0]), &known))
			require.NoError(t, json.Unmarshal([]byte(specs[1]), &newer))
			both, err := json.Marshal(merged(known, newer))
			require.NoError(t, err)
			insert(t, path, "a", string(both))
			require.NoError(t, peer.Settle(t.Context(), "contract"))
			after := stored(t, path, "a")
			if path == "secrets" {
				after.Spec = known // its values are encrypted
			}
			if collectionsByPath[path].unwritten {
				known = merged(known, newer)
			}
			require.Equal(t, known, after.Spec)
			require.Equal(t, "crd-sync", after.Metadata.Annotations["orloj.dev/managed-by"], "labels and annotations stay")
			require.Equal(t, "c", after.Metadata.Annotations["lintel.dev/cluster"])
			require.Equal(t, "v", after.Metadata.Labels["l"])
			require.Equal(t, "2020-01-01T00:00:00Z", after.Metadata.CreatedAt)
			require.Equal(t, collectionsByPath[path].unwritten, after.Metadata.ResourceVersion == "1")
		})
	}
}

func merged(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range a {
		out[key] = value
	}
	for key, value := range b {
		inner, isMap := value.(map[string]any)
		if before, both := out[key].(map[string]any); isMap && both {
			value = merged(before, inner)
		}
		out[key] = value
	}
	return out
}

// TestGenerations: where a list or map is empty, they rise with every write.
func TestGenerations(t *testing.T) {
	specs := map[string]string{
		"tools":         `{"type":"http","risk_level":"low","operation_classes":["read"],"runtime":{"timeout":"1s","isolation_mode":"none","retry":{"max_attempts":1,"backoff":"0s","max_backoff":"2s","jitter":"none"}},"auth":{}}`,
		"agent-systems": `{"agents":["a"]}`,
		"mcp-servers":   `{"transport":"http","endpoint":"http://127.0.0.1:1","auth":{},"tool_filter":{},"reconnect":{"max_attempts":1,"backoff":"1s"}}`,
	}
	for path, spec := range specs {
		insert(t, path, "a", spec)
		require.NoError(t, peer.Settle(t.Context(), "contract"))
		require.Greater(t, stored(t, path, "a").Metadata.Generation, int64(1), path)
	}
	insert(t, "model-endpoints", "a", `{"provider":"openai","base_url":"u","default_model":"m","auth":{}}`)
	require.NoError(t, peer.Settle(t.Context(), "contract"))
	require.Equal(t, int64(1), stored(t, "model-endpoints", "a").Metadata.Generation)
}

// TestKeysAreReadWithoutTheirCase is why a body must be read as orlojd reads it.
func TestKeysAreReadWithoutTheirCase(t *testing.T) {
	for name, body := range map[string]string{
		"a second metadata":  `{"metadata":{"name":"other","namespace":"contract"},"Metadata":{"name":"meant"},"spec":{"model_ref":"m","prompt":"p"}}`,
		"the same key twice": `{"metadata":{"name":"other","name":"meant","namespace":"contract"},"spec":{"model_ref":"m","prompt":"p"}}`,
		"upper case":         `{"METADATA":{"NAME":"meant","NAMESPACE":"contract"},"spec":{"model_ref":"m","prompt":"p"}}`,
		"a long s":           `{"metadata":{"name":"meant","namespace":"x","name\u017fpace":"y","name\u017fpace":"z","name\u017fPace":"contract"},"spec":{"model_ref":"m","prompt":"p"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			insert(t, "agents", "meant", `{"model_ref":"m","prompt":"before"}`)
			call(t, http.StatusCreated, http.MethodPost, "/v1/agents", body)
			require.Equal(t, "p", stored(t, "agents", "meant").Spec["prompt"])
		})
	}
}

// TestAPutDropsMarks: what a body does not say is gone, the marks of who keeps a row, too.
func TestAPutDropsMarks(t *testing.T) {
	insert(t, "agents", "a", `{"model_ref":"m","prompt":"before"}`)
	call(t, http.StatusOK, http.MethodPut, "/v1/agents/a?namespace=contract", `{"metadata":{"name":"b","namespace":"contract"},"spec":{"model_ref":"m","prompt":"p"}}`)
	after := stored(t, "agents", "a")
	require.Equal(t, "p", after.Spec["prompt"], "the name is that of the address")
	require.Empty(t, after.Metadata.Annotations)
	require.Empty(t, after.Metadata.Labels)
	require.Equal(t, "2020-01-01T00:00:00Z", after.Metadata.CreatedAt)
	answer := call(t, http.StatusOK, http.MethodGet, "/v1/agents/%20a%20?namespace=%20contract", "")
	require.Equal(t, "a", answer["metadata"].(map[string]any)["name"], "spaces are no part of names")
	call(t, http.StatusBadRequest, http.MethodPut, "/v1/agents/a?namespace=contract", `{"metadata":{"namespace":"elsewhere"},"spec":{"model_ref":"m","prompt":"p"}}`)
	call(t, http.StatusNoContent, http.MethodDelete, "/v1/agents/a?namespace=contract", "")
	call(t, http.StatusNotFound, http.MethodGet, "/v1/agents/a?namespace=contract", "")
}
