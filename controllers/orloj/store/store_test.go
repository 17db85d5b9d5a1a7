package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// server is a real PostgreSQL, for all tests of this package.
var server *installation.Postgres

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if server, err = installation.StartPostgres(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = server.Remove() }()
		return m.Run()
	}())
}

const (
	keyHex   = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	otherKey = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"
)

var started = time.Date(2026, 5, 17, 10, 0, 0, 123, time.UTC)

// database is an empty database of the test's own, with tables unless options say no.
func database(t *testing.T) string {
	t.Helper()
	name := strings.ToLower("t" + strings.NewReplacer("/", "_", "-", "_", " ", "_", ",", "_").Replace(t.Name()))
	name = name[:min(60, len(name))]
	sql(t, "CREATE DATABASE "+name)
	dsn := strings.Replace(server.DSN, "/postgres?", "/"+name+"?", 1)
	t.Cleanup(func() {
		_, _ = server.Psql(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
	})
	return dsn
}

func sql(t *testing.T, statements string) string {
	t.Helper()
	output, err := server.Psql(t.Context(), statements)
	require.NoError(t, err)
	return strings.TrimSpace(output)
}

func open(t *testing.T, dsn, key string) *Store {
	t.Helper()
	s, err := New(t.Context(), Options{DSN: dsn, Key: key})
	require.NoError(t, err)
	s.now = func() time.Time { return started }
	t.Cleanup(s.Close)
	return s
}

// fresh is a store with tables.
func fresh(t *testing.T, key string) (*Store, string) {
	t.Helper()
	dsn := database(t)
	s := open(t, dsn, key)
	require.NoError(t, s.CreateTables(t.Context()))
	return s, dsn
}

func tableOf(t *testing.T, kind string) Table {
	t.Helper()
	table, known := TableOf(kind)
	require.True(t, known, kind)
	return table
}

func agent(owner string) *Row {
	return &Row{
		Namespace: "team-a", Name: "summarizer", SourceNamespace: "team-a", Owner: owner,
		Labels: map[string]string{"l": "v"}, Annotations: map[string]string{"a": "v"},
		Spec: map[string]any{"prompt": "p", "model_ref": "gpt-4o", "memory": map[string]any{}, "limits": map[string]any{"max_steps": 5}},
	}
}

func secret(owner string, data map[string]any) *Row {
	return &Row{Namespace: "team-a", Name: "s", SourceNamespace: "team-a", Owner: owner, Spec: map[string]any{"data": data}}
}

func query(t *testing.T, s *Store, statement string, values ...any) string {
	t.Helper()
	var text string
	require.NoError(t, s.pool.QueryRow(t.Context(), statement, values...).Scan(&text))
	return text
}

func run(t *testing.T, s *Store, statement string, values ...any) {
	t.Helper()
	_, err := s.pool.Exec(t.Context(), statement, values...)
	require.NoError(t, err)
}

func upsert(t *testing.T, s *Store, kind string, row *Row) Result {
	t.Helper()
	result, err := s.Upsert(t.Context(), tableOf(t, kind), row)
	require.NoError(t, err)
	return result
}

func writeProblem(t *testing.T, s *Store, kind string, row *Row) *Problem {
	t.Helper()
	_, err := s.Upsert(t.Context(), tableOf(t, kind), row)
	var found *Problem
	require.ErrorAs(t, err, &found)
	return found
}

func payloadOf(t *testing.T, s *Store, table, key string) map[string]any {
	t.Helper()
	var p map[string]any
	require.NoError(t, json.Unmarshal([]byte(query(t, s, "SELECT payload::text FROM "+table+" WHERE name = $1", key)), &p))
	return p
}

func TestARowIsWhatOrlojdWrites(t *testing.T) {
	s, _ := fresh(t, "")
	result := upsert(t, s, "Agent", agent("u1"))
	require.True(t, result.Created)
	require.False(t, result.Adopted)
	require.JSONEq(t, `{"apiVersion":"orloj.dev/v1","kind":"Agent",
		"metadata":{"name":"summarizer","namespace":"team-a","labels":{"l":"v"},
			"annotations":{"a":"v","orloj.dev/managed-by":"crd-sync","lintel.dev/owner-uid":"u1"},
			"resourceVersion":"1","generation":1,"createdAt":"2026-05-17T10:00:00Z"},
		"spec":{"prompt":"p","model_ref":"gpt-4o","memory":{},"limits":{"max_steps":5}},
		"status":{"phase":"Pending"}}`, query(t, s, "SELECT payload::text FROM agents WHERE name = 'team-a/summarizer'"))
	require.Equal(t, "team-a pending", query(t, s, "SELECT namespace || ' ' || status_phase FROM agents"))

	moved := agent("u2")
	moved.Namespace, moved.SourceNamespace, moved.Name = "production", "gitops", "b"
	upsert(t, s, "Agent", moved)
	require.Equal(t, "gitops", query(t, s, "SELECT payload->'metadata'->'annotations'->>'orloj.dev/source-namespace' FROM agents WHERE name = 'production/b'"))

	upsert(t, s, "ModelEndpoint", &Row{Namespace: "n", Name: "m", SourceNamespace: "n", Owner: "u", Spec: map[string]any{"provider": "ollama"}})
	upsert(t, s, "Tool", &Row{Namespace: "n", Name: "m", SourceNamespace: "n", Owner: "u", Spec: map[string]any{"risk_level": "high", "runtime": map[string]any{"isolation_mode": "sandboxed"}}})
	upsert(t, s, "AgentPolicy", &Row{Namespace: "n", Name: "m", SourceNamespace: "n", Owner: "u", Spec: map[string]any{"apply_mode": "global"}})
	require.Equal(t, "ollama", query(t, s, "SELECT provider FROM model_endpoints"))
	require.Equal(t, "high sandboxed", query(t, s, "SELECT risk_level || ' ' || isolation_mode FROM tools"))
	require.Equal(t, "global ready", query(t, s, "SELECT apply_mode || ' ' || status_phase FROM agent_policies"))
}

// Defects O1 and O19: an upsert that resets the status that orlojd keeps, and one that
// takes nothing, null and an empty list for a change of the spec.
func TestStatusAndVersionsAreKept(t *testing.T) {
	s, _ := fresh(t, "")
	first := upsert(t, s, "McpServer", agent("u1"))
	run(t, s, `UPDATE mcp_servers SET status_phase = 'ready', payload = jsonb_set(jsonb_set(payload, '{status}',
		'{"phase":"Ready","observedGeneration":1,"discoveredTools":["x"],"generatedTools":["s--x"]}'), '{metadata,resourceVersion}', '"4"')`)

	again := upsert(t, s, "McpServer", agent("u1"))
	require.False(t, again.Written(), "nothing to do")
	require.Equal(t, "Ready", again.Phase)
	require.Equal(t, first.Hash, again.Hash, "the status is not ours")

	same := agent("u1")
	same.Spec["tools"], same.Spec["execution"], same.Spec["limits"] = []string{}, nil, map[string]any{"max_steps": json.Number("5.0")}
	require.False(t, upsert(t, s, "McpServer", same).Written(), "the spec is the same")

	same.Labels = map[string]string{"l": "w"}
	require.True(t, upsert(t, s, "McpServer", same).Updated)
	p := payloadOf(t, s, "mcp_servers", "team-a/summarizer")
	require.Equal(t, "5", p["metadata"].(map[string]any)["resourceVersion"])
	require.EqualValues(t, 1, p["metadata"].(map[string]any)["generation"], "labels are no spec")

	same.Spec["prompt"] = "q"
	require.True(t, upsert(t, s, "McpServer", same).Updated)
	p = payloadOf(t, s, "mcp_servers", "team-a/summarizer")
	require.Equal(t, "6", p["metadata"].(map[string]any)["resourceVersion"])
	require.EqualValues(t, 2, p["metadata"].(map[string]any)["generation"])
	require.Equal(t, "2026-05-17T10:00:00Z", p["metadata"].(map[string]any)["createdAt"])
	require.Equal(t, map[string]any{"phase": "Ready", "observedGeneration": 1.0, "discoveredTools": []any{"x"}, "generatedTools": []any{"s--x"}}, p["status"])
	require.Equal(t, "ready", query(t, s, "SELECT status_phase FROM mcp_servers"))
}

// Defect O6: two objects on one key, of which the last one wins, and either deletes.
func TestARowHasOneOwner(t *testing.T) {
	s, _ := fresh(t, "")
	upsert(t, s, "Agent", agent("u1"))
	other := agent("u2")
	other.SourceNamespace, other.Spec["prompt"] = "gitops", "mine"
	taken := writeProblem(t, s, "Agent", other)
	require.Equal(t, ReasonTaken, taken.Reason)
	require.True(t, taken.Permanent())
	require.Equal(t, "the row team-a/summarizer belongs to Agent team-a/summarizer (uid u1); delete that one, or give this one another name or target namespace", taken.Message)
	rows, err := s.Remove(t.Context(), tableOf(t, "Agent"), Removal{Owner: "u2", Key: other.Key(), Unmarked: true})
	require.NoError(t, err)
	require.Zero(t, rows)
	require.Equal(t, "p", query(t, s, "SELECT payload->'spec'->>'prompt' FROM agents"))

	// An object that was deleted past us, and is there again under another UID.
	again := agent("u3")
	require.True(t, upsert(t, s, "Agent", again).Updated)
}

func TestOfConcurrentCreatesOneOwns(t *testing.T) {
	s, _ := fresh(t, "")
	for i := range 20 {
		var wait sync.WaitGroup
		errs := make([]error, 4)
		for j := range errs {
			wait.Go(func() {
				row := agent(fmt.Sprint("u", j))
				row.Name, row.SourceNamespace = fmt.Sprint("a", i), fmt.Sprint("source", j)
				_, errs[j] = s.Upsert(t.Context(), tableOf(t, "Agent"), row)
			})
		}
		wait.Wait()
		owners := 0
		for _, err := range errs {
			if err == nil {
				owners++
				continue
			}
			var found *Problem
			require.ErrorAs(t, err, &found)
			require.Equal(t, ReasonTaken, found.Reason)
		}
		require.Equal(t, 1, owners)
	}
	require.Equal(t, "20", query(t, s, "SELECT count(*)::text FROM agents WHERE payload->'metadata'->>'resourceVersion' = '1'"))
}

// Defect O7: an existing row was adopted without any report.
func TestAdoptionIsTold(t *testing.T) {
	s, _ := fresh(t, "")
	run(t, s, `INSERT INTO agents (name, namespace, payload, status_phase) VALUES ('team-a/summarizer', 'team-a',
		'{"apiVersion":"orloj.dev/v1","kind":"Agent","metadata":{"name":"summarizer","namespace":"team-a","resourceVersion":"7","generation":3,"createdAt":"2020-01-01T00:00:00Z"},"spec":{"prompt":"old"},"status":{"phase":"Ready"}}', 'ready')`)
	result := upsert(t, s, "Agent", agent("u1"))
	require.True(t, result.Adopted)
	require.True(t, result.Updated)
	p := payloadOf(t, s, "agents", "team-a/summarizer")["metadata"].(map[string]any)
	require.Equal(t, "8", p["resourceVersion"])
	require.EqualValues(t, 4, p["generation"])
	require.Equal(t, "2020-01-01T00:00:00Z", p["createdAt"])
	require.False(t, upsert(t, s, "Agent", agent("u1")).Adopted)
}

// Rows that orlojd makes from an McpServer are its own.
func TestGeneratedRowsAreLeft(t *testing.T) {
	s, _ := fresh(t, "")
	run(t, s, `INSERT INTO tools (name, namespace, payload) VALUES ('team-a/summarizer', 'team-a',
		'{"kind":"Tool","metadata":{"name":"summarizer","namespace":"team-a","labels":{"orloj.dev/mcp-generated":"true"}},"spec":{}}')`)
	require.Equal(t, ReasonGenerated, writeProblem(t, s, "Tool", agent("u1")).Reason)
	rows, err := s.Remove(t.Context(), tableOf(t, "Tool"), Removal{Owner: "u1", Key: "team-a/summarizer", Unmarked: true})
	require.NoError(t, err)
	require.Zero(t, rows)
}

// Defect O4: the deletion of a row that is gone fails for ever.
func TestRemove(t *testing.T) {
	s, _ := fresh(t, "")
	remove := func(r Removal) int64 {
		rows, err := s.Remove(t.Context(), tableOf(t, "Agent"), r)
		require.NoError(t, err)
		return rows
	}
	require.Zero(t, remove(Removal{Owner: "u1", Key: "team-a/summarizer"}), "it is gone already, which is no error")

	upsert(t, s, "Agent", agent("u1"))
	elsewhere := agent("u1")
	elsewhere.Namespace = "production"
	upsert(t, s, "Agent", elsewhere)
	require.EqualValues(t, 1, remove(Removal{Owner: "u1", Except: "production/summarizer"}), "rows of this owner wherever they are")
	require.Equal(t, "production/summarizer", query(t, s, "SELECT name FROM agents"))

	run(t, s, "UPDATE agents SET payload = payload #- '{metadata,annotations}'")
	require.Zero(t, remove(Removal{Owner: "u1", Key: "production/summarizer"}))
	require.EqualValues(t, 1, remove(Removal{Owner: "u1", Key: "production/summarizer", Unmarked: true}), "somebody has taken the owner out")

	upsert(t, s, "Agent", agent("u1"))
	require.EqualValues(t, 1, remove(Removal{Owner: "u1", Key: "team-a/summarizer", Retain: true}))
	p := payloadOf(t, s, "agents", "team-a/summarizer")["metadata"].(map[string]any)
	require.Equal(t, map[string]any{"a": "v"}, p["annotations"])
	require.Equal(t, "2", p["resourceVersion"])
	require.Zero(t, remove(Removal{Owner: "u1", Key: "team-a/summarizer", Unmarked: true, Retain: true}), "a removal that is repeated changes nothing")
}
