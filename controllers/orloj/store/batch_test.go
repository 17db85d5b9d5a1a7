package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// enqueue puts rows into the queue of a table while a batch is being written, so that all of
// them are in the next batch. It returns functions that wait for their results.
func (s *Store) enqueue(t *testing.T, table Table, rows []*Row) (results []func() (Result, error)) {
	t.Helper()
	q := s.queues[table.Name]
	q.mu.Lock()
	require.False(t, q.busy)
	q.busy = true
	q.mu.Unlock()
	for i, row := range rows {
		var result Result
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			result, err = s.Upsert(context.WithoutCancel(t.Context()), table, row)
		}()
		require.Eventually(t, func() bool {
			q.mu.Lock()
			defer q.mu.Unlock()
			return len(q.waiting) == i+1
		}, time.Minute, time.Millisecond)
		results = append(results, func() (Result, error) {
			<-done
			return result, err
		})
	}
	q.pass()
	return results
}

func named(name, owner string) *Row {
	row := agent(owner)
	row.Name = name
	return row
}

func TestConcurrentRowsShareATransaction(t *testing.T) {
	s, _ := fresh(t, "")
	table := tableOf(t, "Agent")
	rows := make([]*Row, maxBatch)
	for i := range rows {
		rows[i] = named(fmt.Sprint("n", i), fmt.Sprint("u", i))
	}
	for _, created := range []bool{true, false} {
		before := s.Transactions()
		for i, result := range s.enqueue(t, table, rows) {
			got, err := result()
			require.NoError(t, err)
			require.Equal(t, created, got.Created, i)
			require.False(t, got.Updated)
			require.Equal(t, "1", got.Version)
			require.Equal(t, query(t, s, "SELECT "+hashOf(table)+" FROM agents WHERE name = $1", rows[i].Key()), got.Hash)
		}
		require.EqualValues(t, 1, s.Transactions()-before)
	}
	alone, _ := s.Upsert(t.Context(), table, named("alone", "u"))
	require.Equal(t, alone.Hash, query(t, s, "SELECT "+hashOf(table)+" FROM agents WHERE name = 'team-a/alone'"))
}

// TestARowDoesNotFailItsNeighbors: each row of a batch has its own result and its own error.
func TestARowDoesNotFailItsNeighbors(t *testing.T) {
	s, _ := fresh(t, "")
	upsert(t, s, "Agent", named("taken", "another"))
	run(t, s, "UPDATE agents SET payload = jsonb_set(payload, '{metadata,annotations,"+SourceNamespaceAnnotation+"}', '\"team-b\"')")
	upsert(t, s, "Agent", named("changed", "u1"))
	run(t, s, `INSERT INTO agents (name, namespace, payload) VALUES ('team-a/unreadable', 'team-a', '{"metadata":[1]}')`)
	changed, long, nul, released := named("changed", "u1"), named(strings.Repeat("n", 250), "u2"), named("nul", "u3"), named("released", "u4")
	changed.Spec["prompt"], nul.Spec["prompt"], released.LeaveMissing = "q", "a\x00b", true
	rows := []*Row{
		named("new", "u0"), changed, long, nul, released, named("taken", "u5"),
		named("unreadable", "u8"), named("also-new", "u9"),
	}
	reasons := []string{"", "", ReasonRefused, ReasonRefused, ReasonReleased, ReasonTaken, "", ""}
	for i, result := range s.enqueue(t, tableOf(t, "Agent"), rows) {
		got, err := result()
		if reasons[i] == "" {
			require.NoError(t, err, rows[i].Name)
			require.True(t, got.Written(), rows[i].Name)
			continue
		}
		var problem *Problem
		require.ErrorAs(t, err, &problem, rows[i].Name)
		require.Equal(t, reasons[i], problem.Reason, rows[i].Name)
	}
	require.Equal(t, "4", query(t, s, "SELECT count(*)::text FROM agents WHERE name <> 'team-a/taken'"))
}

// TestLargeRows: a batch has a limited size, and all rows are stored.
func TestLargeRows(t *testing.T) {
	s, _ := fresh(t, "")
	rows := make([]*Row, 3)
	for i := range rows {
		rows[i] = named(fmt.Sprint("n", i), fmt.Sprint("u", i))
		rows[i].Spec["prompt"] = strings.Repeat("p", maxBatchBytes/2)
	}
	before := s.Transactions()
	for _, result := range s.enqueue(t, tableOf(t, "Agent"), rows) {
		got, err := result()
		require.NoError(t, err)
		require.True(t, got.Created)
	}
	require.EqualValues(t, 3, s.Transactions()-before, "the batch, and those that have no room in it")
}

// TestTwoObjectsWithOneKey: the first in a batch owns the row, and the other one is refused.
func TestTwoObjectsWithOneKey(t *testing.T) {
	s, _ := fresh(t, "")
	rows := []*Row{named("twice", "u1"), named("other", "u2"), named("twice", "u3")}
	rows[2].SourceNamespace = "team-c"
	results := s.enqueue(t, tableOf(t, "Agent"), rows)
	for _, result := range results[:2] {
		got, err := result()
		require.NoError(t, err)
		require.True(t, got.Created)
	}
	_, err := results[2]()
	var problem *Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, ReasonTaken, problem.Reason)
	require.Equal(t, "u1", query(t, s, "SELECT payload->'metadata'->'annotations'->>'"+OwnerAnnotation+"' FROM agents WHERE name = 'team-a/twice'"))
}

// TestARowThatAnotherSessionCreates: it waits by itself, and its neighbors do not.
func TestARowThatAnotherSessionCreates(t *testing.T) {
	s, _ := fresh(t, "")
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), `INSERT INTO agents (name, namespace, payload) VALUES ('team-a/theirs', 'team-a', '{}')`)
	require.NoError(t, err)
	results := s.enqueue(t, tableOf(t, "Agent"), []*Row{named("theirs", "u1"), named("ours", "u2")})
	ours, err := results[1]()
	require.NoError(t, err)
	require.True(t, ours.Created)
	require.NoError(t, tx.Rollback(t.Context()))
	theirs, err := results[0]()
	require.NoError(t, err)
	require.True(t, theirs.Created)
}

func TestABatchWithoutATable(t *testing.T) {
	s := open(t, database(t), "")
	before := s.Transactions()
	for _, result := range s.enqueue(t, tableOf(t, "Agent"), []*Row{named("a", "u1"), named("b", "u2"), named("c", "u3")}) {
		_, err := result()
		var problem *Problem
		require.ErrorAs(t, err, &problem)
		require.Equal(t, ReasonSchemaMissing, problem.Reason)
	}
	require.EqualValues(t, 1, s.Transactions()-before, "each row would fail for the same reason")
}

// TestACanceledCaller: a caller that waits leaves the queue, and the others are stored.
func TestACanceledCaller(t *testing.T) {
	s, _ := fresh(t, "")
	table := tableOf(t, "Agent")
	q := s.queues[table.Name]
	q.busy = true
	ctx, cancel := context.WithCancel(t.Context())
	var callers errgroup.Group
	waiting := func(n int) {
		require.Eventually(t, func() bool {
			q.mu.Lock()
			defer q.mu.Unlock()
			return len(q.waiting) == n
		}, time.Minute, time.Millisecond)
	}
	callers.Go(func() error {
		_, err := s.Upsert(t.Context(), table, named("first", "u1"))
		return err
	})
	waiting(1)
	canceled := make(chan error)
	go func() {
		_, err := s.Upsert(ctx, table, named("second", "u2"))
		canceled <- err
	}()
	waiting(2)
	cancel()
	require.ErrorIs(t, <-canceled, context.Canceled)
	waiting(1)
	q.pass()
	require.NoError(t, callers.Wait())
	require.Equal(t, "team-a/first", query(t, s, "SELECT string_agg(name, ',') FROM agents"))

	// A leader that is canceled ends its own wait only.
	q.mu.Lock()
	q.busy = true
	q.mu.Unlock()
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, err := s.Upsert(ctx, table, named("third", "u3"))
		canceled <- err
	}()
	waiting(1)
	callers.Go(func() error {
		_, err := s.Upsert(t.Context(), table, named("fourth", "u4"))
		return err
	})
	waiting(2)
	cancel()
	q.pass()
	require.ErrorIs(t, <-canceled, context.Canceled)
	require.NoError(t, callers.Wait())
	require.Equal(t, "team-a/first,team-a/fourth", query(t, s, "SELECT string_agg(name, ',' ORDER BY name) FROM agents"))
}
