package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

func TestWhatIsMissingIsNamed(t *testing.T) {
	s := open(t, database(t), "")
	found := writeProblem(t, s, "Agent", agent("u1"))
	require.Equal(t, ReasonSchemaMissing, found.Reason)
	require.False(t, found.Permanent())
	require.True(t, found.Unavailable())
	require.Equal(t, "table agents is missing; start orlojd with the same database once: its migrations 001 to 008 make the tables", found.Message)
}

func TestANameThatTheTableRefuses(t *testing.T) {
	s, _ := fresh(t, "")
	long := agent("u1")
	long.Name = strings.Repeat("n", 250)
	found := writeProblem(t, s, "Agent", long)
	require.Equal(t, ReasonRefused, found.Reason)
	require.True(t, found.Permanent())
	require.Contains(t, found.Message, "lintel_agents_key_length")

	strange := agent("u1")
	strange.Spec["prompt"] = "a\x00b"
	require.Equal(t, ReasonRefused, writeProblem(t, s, "Agent", strange).Reason, "jsonb holds no NUL")
}

func TestUnknownColumns(t *testing.T) {
	s, _ := fresh(t, "")
	run(t, s, "ALTER TABLE agents ADD COLUMN newer TEXT NOT NULL DEFAULT 'x', ADD COLUMN other JSONB")
	require.True(t, upsert(t, s, "Agent", agent("u1")).Created)
	run(t, s, "UPDATE agents SET newer = 'kept'")
	changed := agent("u1")
	changed.Spec["prompt"] = "q"
	require.True(t, upsert(t, s, "Agent", changed).Updated)
	require.Equal(t, "kept", query(t, s, "SELECT newer FROM agents"))

	run(t, s, "ALTER TABLE tools ADD COLUMN needed TEXT NOT NULL")
	found := writeProblem(t, s, "Tool", agent("u1"))
	require.Equal(t, ReasonRefused, found.Reason)
	require.Equal(t, "table tools wants a value for its column needed, which this version does not know; upgrade Lintel", found.Message)
}

func TestAPayloadThatCannotBeReadIsReplaced(t *testing.T) {
	s, _ := fresh(t, "")
	run(t, s, `INSERT INTO agents (name, namespace, payload) VALUES ('team-a/summarizer', 'team-a', '{"metadata":[1],"spec":"x"}'), ('n/a', 'n', '1'), ('n/b', 'n', '["status"]')`)
	count := 0
	require.NoError(t, s.Scan(t.Context(), tableOf(t, "Agent"), func(Summary) { count++ }))
	require.Equal(t, 3, count, "what one row holds keeps nobody from seeing the others")
	require.True(t, upsert(t, s, "Agent", agent("u1")).Updated)
	require.Equal(t, "p", query(t, s, "SELECT payload->'spec'->>'prompt' FROM agents WHERE name = 'team-a/summarizer'"))
}

func TestALockedRowIsTriedAgain(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn+"&lock_timeout=100ms", "")
	require.NoError(t, s.CreateTables(t.Context()))
	upsert(t, s, "Agent", agent("u1"))
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM agents FOR UPDATE")
	require.NoError(t, err)
	changed := agent("u1")
	changed.Spec["prompt"] = "q"
	found := writeProblem(t, s, "Agent", changed)
	require.Equal(t, ReasonRowLocked, found.Reason)
	require.False(t, found.Permanent())
	require.False(t, found.Unavailable(), "others can be written")
	require.False(t, upsert(t, s, "Agent", agent("u1")).Written(), "an unchanged row needs no lock")
	require.NoError(t, tx.Rollback(t.Context()))
	require.False(t, upsert(t, s, "Agent", agent("u1")).Written())
}

// cut is a connection to the server that breaks once, when a message with the text is sent. The
// server still receives a commit, but the client never learns its result.
type cut struct {
	listener net.Listener
	mu       sync.Mutex
	when     string
}

func newCut(t *testing.T, address, when string) *cut {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cut{listener: listener, when: when}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				_ = client.Close()
				return
			}
			go c.carry(client, server)
		}
	}()
	return c
}

// carry passes on question and answer in turns: pgx waits for each answer.
func (c *cut) carry(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	silent := make(chan struct{})
	answered := make(chan struct{}, 1)
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				_ = client.Close()
				return
			}
			select {
			case <-silent:
				answered <- struct{}{}
				return
			default:
				if _, err := client.Write(buffer[:n]); err != nil {
					return
				}
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if c.matches(buffer[:n]) {
			close(silent)
			if strings.Contains(string(buffer[:n]), "commit") {
				_, _ = server.Write(buffer[:n])
				<-answered
			}
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (c *cut) matches(sent []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.when == "" || !strings.Contains(strings.ToLower(string(sent)), c.when) {
		return false
	}
	c.when = ""
	return true
}

func TestAConnectionThatIsCut(t *testing.T) {
	for name, c := range map[string]struct{ when, rowsAfter string }{
		"reading": {"= any($1)", "0"}, "writing": {"insert into agents", "0"}, "the end": {"commit\x00", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			rowsAfter := c.rowsAfter
			s, dsn := fresh(t, "")
			way := newCut(t, server.Address(), c.when)
			through := open(t, strings.Replace(dsn, server.Address(), way.listener.Addr().String(), 1), "")
			found := writeProblem(t, through, "Agent", agent("u1"))
			require.Equal(t, ReasonUnavailable, found.Reason, found.Unwrap())
			require.Equal(t, rowsAfter, query(t, s, "SELECT count(*)::text FROM agents"))
			again := upsert(t, through, "Agent", agent("u1"))
			require.Equal(t, rowsAfter == "0", again.Created)
			require.False(t, again.Updated, "what was carried out is not done twice")
			require.Equal(t, "1", query(t, s, "SELECT payload->'metadata'->>'resourceVersion' FROM agents"))
		})
	}
}

func TestAStoreThatIsDown(t *testing.T) {
	own, err := installation.StartPostgres(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = own.Remove() })
	s := open(t, own.DSN, "")
	require.NoError(t, s.CreateTables(t.Context()))
	require.NoError(t, s.Ping(t.Context()))
	own.Stop()
	for range 2 { // with connections that break, and with none
		found := writeProblem(t, s, "Agent", agent("u1"))
		require.Equal(t, ReasonUnavailable, found.Reason)
		require.False(t, found.Permanent())
	}
	first, second := writeProblem(t, s, "Agent", agent("u1")).Message, writeProblem(t, s, "Agent", agent("u2")).Message
	require.Equal(t, first, second, "a status that tells it is written once")
	require.Error(t, s.Ping(t.Context()))
	_, err = s.Remove(t.Context(), tableOf(t, "Agent"), Removal{Owner: "u1", Key: "a/b"})
	require.Error(t, err)
	require.NoError(t, own.Start(t.Context()))
	require.NoError(t, s.Ping(t.Context()))
	require.True(t, upsert(t, s, "Agent", agent("u1")).Created)
}

func TestAContextThatEndsIsNoProblemOfTheStore(t *testing.T) {
	s, _ := fresh(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Upsert(ctx, tableOf(t, "Agent"), agent("u1"))
	require.ErrorIs(t, err, context.Canceled)
	var found *Problem
	require.NotErrorAs(t, err, &found)
}

// Defect O20: an operator that is newer than orlojd alters its tables.
func TestTablesOfOrlojdAreLeft(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn, "")
	run(t, s, "CREATE TABLE agents (name TEXT PRIMARY KEY, namespace TEXT NOT NULL, payload JSONB NOT NULL, status_phase TEXT NOT NULL DEFAULT '', updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW())")
	require.NoError(t, s.CreateTables(t.Context()))
	require.Equal(t, "5", query(t, s, "SELECT count(*)::text FROM information_schema.columns WHERE table_name = 'agents'"), "it is as it was")
	require.True(t, upsert(t, s, "Agent", agent("u1")).Created, "what later migrations add is not needed")

	run(t, s, "CREATE TABLE schema_migrations (version TEXT PRIMARY KEY); DROP TABLE tools")
	err := s.CreateTables(t.Context())
	require.ErrorIs(t, err, ErrMigrated)
	require.Equal(t, ReasonSchemaMissing, writeProblem(t, s, "Tool", agent("u1")).Reason, "nothing was made")
}

// TestOrlojdCanMigrateLater does what its migrations do to tables that are there.
func TestOrlojdCanMigrateLater(t *testing.T) {
	s, _ := fresh(t, "")
	upsert(t, s, "Agent", agent("u1"))
	for _, one := range allTables {
		run(t, s, fmt.Sprintf("ALTER TABLE %[1]s ADD CONSTRAINT chk_%[1]s_name_len CHECK (length(name) <= 253)", one.Name))
		run(t, s, fmt.Sprintf("ALTER TABLE %s ADD COLUMN IF NOT EXISTS created_at TIMESTAMPTZ", one.Name))
		run(t, s, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN created_at SET NOT NULL, ALTER COLUMN created_at SET DEFAULT NOW()", one.Name))
		run(t, s, fmt.Sprintf("CREATE INDEX IF NOT EXISTS idx_%[1]s_namespace ON %[1]s (namespace)", one.Name))
	}
	require.False(t, upsert(t, s, "Agent", agent("u1")).Written())
}

// Defect O11: what lies beyond the first thousand rows is not seen.
func TestScanSeesEveryRow(t *testing.T) {
	s, _ := fresh(t, "")
	first := upsert(t, s, "Agent", agent("u1"))
	run(t, s, `INSERT INTO agents (name, namespace, payload) SELECT 'n/a' || i, 'n', jsonb_build_object('metadata', '{}'::jsonb, 'status', jsonb_build_object('phase', 'Ready')) FROM generate_series(1, 2500) AS i`)
	seen := map[string]Summary{}
	require.NoError(t, s.Scan(t.Context(), tableOf(t, "Agent"), func(row Summary) { seen[row.Key] = row }))
	require.Len(t, seen, 2501)
	require.Equal(t, Summary{Key: "team-a/summarizer", Hash: first.Hash, Version: "1", Owner: "u1", Phase: "Pending"}, seen["team-a/summarizer"])
	require.Equal(t, "Ready", seen["n/a2500"].Phase)

	// The hash covers Lintel's fields of a row, not orlojd's.
	hash := func() (hash string) {
		require.NoError(t, s.Scan(t.Context(), tableOf(t, "Agent"), func(row Summary) {
			if row.Owner == "u1" {
				hash = row.Hash
			}
		}))
		return hash
	}
	run(t, s, `UPDATE agents SET payload = jsonb_set(jsonb_set(payload, '{status,phase}', '"Ready"'), '{metadata,resourceVersion}', '"9"') WHERE name = 'team-a/summarizer'`)
	require.Equal(t, first.Hash, hash())
	for _, change := range []string{`jsonb_set(payload, '{spec,prompt}', '"x"')`, `jsonb_set(payload, '{metadata,labels}', '{}')`, `jsonb_set(payload, '{metadata,annotations,a}', '"x"')`} {
		before := hash()
		run(t, s, "UPDATE agents SET payload = "+change+" WHERE name = 'team-a/summarizer'")
		require.NotEqual(t, before, hash(), change)
	}
}

func TestChangesFollowsWhatIsWritten(t *testing.T) {
	s, _ := fresh(t, "")
	run(t, s, `INSERT INTO agents (name, namespace, payload, updated_at) VALUES ('n/old', 'n', '{}', NOW() - INTERVAL '1 hour')`)
	changes := s.Changes(tableOf(t, "Agent"))
	next := func() (keys []string) {
		require.NoError(t, changes.Next(t.Context(), func(row Summary) { keys = append(keys, row.Key+" "+row.Phase) }))
		return keys
	}
	require.Empty(t, next(), "what is older is the scan's")
	upsert(t, s, "Agent", agent("u1"))
	require.Equal(t, []string{"team-a/summarizer Pending"}, next())
	run(t, s, `UPDATE agents SET updated_at = NOW(), payload = jsonb_set(payload, '{status,phase}', '"Ready"') WHERE name = 'team-a/summarizer'`)
	require.Equal(t, []string{"team-a/summarizer Ready"}, next())
}

func TestProblemsOfTheDriver(t *testing.T) {
	require.NoError(t, problemOf("agents", nil))
	for _, err := range []error{io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: errors.New("reset")}, context.DeadlineExceeded, pgx.ErrTxClosed} {
		var found *Problem
		require.ErrorAs(t, problemOf("agents", fmt.Errorf("reading: %w", err)), &found)
		require.Equal(t, ReasonUnavailable, found.Reason, err)
	}
	_, err := New(t.Context(), Options{DSN: "postgres://u:secret@[bad"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

func TestSessionsAreBounded(t *testing.T) {
	s := open(t, database(t), "")
	require.Equal(t, "5s", query(t, s, "SHOW lock_timeout"))
	require.Equal(t, "lintel-orloj", query(t, s, "SHOW application_name"))
	require.Greater(t, operationTimeout, 5*time.Second)
}
