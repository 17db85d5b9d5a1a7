package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

const (
	// maxBatch limits the rows of a batch, and so the size of its statements.
	maxBatch = 64
	// maxBatchBytes limits the payloads that a batch inserts. Larger rows have transactions of their
	// own.
	maxBatchBytes = 1 << 20
	// batchLockTimeout limits how long a batch waits for another session that creates one of its
	// rows. Later, each row waits by itself.
	batchLockTimeout = "200ms"
)

// queue collects the rows of one table that callers of Upsert want to store at the same time.
// While a batch is written, other rows wait and become the next batch, so no row waits for a
// timer. A caller leads the batch that contains its own row; there is no goroutine.
type queue struct {
	mu      sync.Mutex
	busy    bool
	waiting []*batched
}

// batched is a row in a batch.
type batched struct {
	row  *Row
	want *payload
	// lead receives true if the caller must lead the next batch, and false if its row was in
	// another caller's batch.
	lead chan bool
	// settled reports that result or err is final. Otherwise, the row is stored in a transaction of
	// its own.
	settled bool
	result  Result
	err     error
}

// enter adds a row, and reports whether its caller leads a batch immediately.
func (q *queue) enter(b *batched) (lead bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, b)
	lead, q.busy = !q.busy, true
	return lead
}

// leave removes a row that is not in a batch yet, and reports whether that was possible.
func (q *queue) leave(b *batched) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, b)
	if i <= 0 { // the first row may already have the lead
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take returns the rows of the next batch.
func (q *queue) take() []*batched {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxBatch)
	batch := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch
}

// pass gives the lead to the first waiting row.
func (q *queue) pass() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy = false
		return
	}
	q.waiting[0].lead <- true
}

// upsertBatched stores a row together with those that other callers store at the same time. It
// settles rows that exist as desired and rows that it inserts. All other rows, and every row of a
// batch that fails, are left to a transaction of their own, which finds their own error.
func (s *Store) upsertBatched(ctx context.Context, table Table, row *Row, want *payload) (Result, bool, error) {
	q, b := s.queues[table.Name], &batched{row: row, want: want, lead: make(chan bool, 1)}
	lead := q.enter(b)
	if !lead {
		select {
		case lead = <-b.lead:
		case <-ctx.Done():
			if q.leave(b) {
				return Result{}, true, ctx.Err()
			}
			lead = <-b.lead // its batch ends in time
		}
	}
	if lead {
		s.runBatch(ctx, table, q)
	}
	return b.result, b.settled, b.err
}

// runBatch stores the waiting rows, of which the first is the caller's.
func (s *Store) runBatch(ctx context.Context, table Table, q *queue) {
	batch := q.take()
	defer func() {
		for _, b := range batch[1:] {
			b.lead <- false
		}
		q.pass()
	}()
	err := s.inTransaction(ctx, table.Name, func(ctx context.Context, tx pgx.Tx) error { return s.storeBatch(ctx, tx, table, batch) })
	if err == nil {
		return
	}
	problem, isProblem := errors.AsType[*Problem](err)
	for _, b := range batch {
		b.settled, b.result = false, Result{}
		if isProblem && problem.Unavailable() { // each row would wait for the same
			b.settled, b.err = true, err
		}
	}
}

func (s *Store) storeBatch(ctx context.Context, tx pgx.Tx, table Table, batch []*batched) error {
	byKey, keys := map[string]*batched{}, []string{}
	for _, b := range batch {
		// Of two objects with one key, the second learns later who owns the row.
		if key := b.row.Key(); byKey[key] == nil {
			byKey[key], keys = b, append(keys, key)
		}
	}
	missing, err := s.settleUnchanged(ctx, tx, table, byKey, keys)
	if err != nil || len(missing) == 0 {
		return err
	}
	return s.insertBatch(ctx, tx, table, missing)
}

// settleUnchanged settles the rows that exist as desired, and returns those that do not exist. It
// locks no row: an unchanged row is not written.
func (s *Store) settleUnchanged(ctx context.Context, tx pgx.Tx, table Table, byKey map[string]*batched, keys []string) (missing []*batched, err error) {
	requests := &pgx.Batch{}
	requests.Queue("SET LOCAL lock_timeout = '" + batchLockTimeout + "'")
	requests.Queue(fmt.Sprintf("SELECT name, %s FROM %s WHERE name = ANY($1)", storedColumns(table), table.Name), keys)
	answers := tx.SendBatch(ctx, requests)
	defer func() { err = errors.Join(err, answers.Close()) }()
	if _, err := answers.Exec(); err != nil {
		return nil, err
	}
	rows, err := answers.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	exists := map[string]bool{}
	for rows.Next() {
		var key string
		have, err := s.readStored(table, rows, &key)
		if err != nil {
			return nil, err
		}
		exists[key] = true
		b := byKey[key]
		if have.owner() != b.row.Owner {
			continue
		}
		if result, differences := compareRow(table, b.row, have, b.want); !differences.any() {
			b.settled, b.result = true, result
		}
	}
	for _, key := range keys {
		if b := byKey[key]; !exists[key] && !b.row.LeaveMissing {
			missing = append(missing, b)
		}
	}
	return missing, rows.Err()
}

// insertBatch inserts rows in one statement. It does not settle rows that another client has
// created since.
func (s *Store) insertBatch(ctx context.Context, tx pgx.Tx, table Table, missing []*batched) error {
	arguments := make([][]string, 4+len(table.columns)) // name, namespace, payload, the columns, and the phase
	byKey, bytes := map[string]*batched{}, 0
	for _, b := range missing {
		first := s.first(table, b.want)
		values, err := s.values(table, &first)
		if err != nil {
			return err
		}
		if bytes += len(values[2]); bytes > maxBatchBytes && len(byKey) > 0 {
			break
		}
		byKey[b.row.Key()] = b
		for i, value := range append(values, strings.ToLower(table.Phase)) {
			arguments[i] = append(arguments[i], value)
		}
	}
	given := make([]any, len(arguments))
	for i := range arguments {
		given[i] = arguments[i]
	}
	rows, err := tx.Query(ctx, insertManyStatement(table), given...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key, hash string
		if err := rows.Scan(&key, &hash); err != nil {
			return err
		}
		b := byKey[key]
		b.settled, b.result = true, created(table, hash)
	}
	return rows.Err()
}

// insertManyStatement takes a list for each argument of insertStatement.
func insertManyStatement(table Table) string {
	names, lists, fields := []string{"name", "namespace", "payload"}, []string{}, []string{"r.a1", "r.a2", "r.a3::jsonb"}
	for _, c := range table.columns {
		names, fields = append(names, c.name), append(fields, fmt.Sprintf("r.a%d", len(fields)+1))
	}
	names, fields = append(names, "status_phase"), append(fields, fmt.Sprintf("r.a%d", len(fields)+1))
	aliases := []string{}
	for i := range fields {
		lists, aliases = append(lists, fmt.Sprintf("$%d::text[]", i+1)), append(aliases, fmt.Sprintf("a%d", i+1))
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS r(%s) ON CONFLICT (name) DO NOTHING RETURNING name, %s",
		table.Name, strings.Join(names, ", "), strings.Join(fields, ", "), strings.Join(lists, ", "), strings.Join(aliases, ", "), hashOf(table))
}
