package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// pageSize is the number of rows per page.
const pageSize = 1000

// Summary is the result of a scan for one row.
type Summary struct {
	// Key, Hash, Version, Phase and LastError are as in Result; Owner is empty if the row has no
	// owner.
	Key, Hash, Version, Owner, Phase, LastError string
}

// Scan reads a summary of every row, page by page, in the order of the keys.
func (s *Store) Scan(ctx context.Context, table Table, visit func(Summary)) error {
	statement := fmt.Sprintf(`SELECT %s FROM %s WHERE name > $1 ORDER BY name LIMIT %d`, summaryColumns(table), table.Name, pageSize)
	after := ""
	for {
		count := 0
		err := s.summaries(ctx, table, statement, func(row Summary) {
			count++
			after = row.Key
			visit(row)
		}, after)
		if err != nil || count < pageSize {
			return err
		}
	}
}

func summaryColumns(table Table) string {
	return fmt.Sprintf(`name, %s, COALESCE(payload->'metadata'->>'resourceVersion', ''), COALESCE(payload->'metadata'->'annotations'->>'%s', ''),
		COALESCE(payload->'status'->>'phase', ''), COALESCE(payload->'status'->>'lastError', '')`, hashOf(table), OwnerAnnotation)
}

// overlap is how far back changes are read again: the time of a row is the start of its
// transaction, and a later transaction may commit first.
const overlap = 10 * time.Second

// Changes follows writes of the rows of a table.
type Changes struct {
	store *Store
	table Table
	since time.Time
}

// Changes starts with the rows written from now on.
func (s *Store) Changes(table Table) *Changes { return &Changes{store: s, table: table} }

// Next visits the rows written since the last call; some rows twice.
func (c *Changes) Next(ctx context.Context, visit func(Summary)) error {
	var now time.Time
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	if err := problemOf(c.table.Name, c.store.pool.QueryRow(ctx, "SELECT NOW()").Scan(&now)); err != nil {
		return err
	}
	if c.since.IsZero() {
		c.since = now
	}
	statement := fmt.Sprintf("SELECT %s FROM %s WHERE updated_at >= $1", summaryColumns(c.table), c.table.Name)
	if err := c.store.summaries(ctx, c.table, statement, visit, c.since.Add(-overlap)); err != nil {
		return err
	}
	c.since = now
	return nil
}

func (s *Store) summaries(ctx context.Context, table Table, statement string, visit func(Summary), values ...any) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	rows, err := s.pool.Query(ctx, statement, values...)
	if err != nil {
		return problemOf(table.Name, err)
	}
	var row Summary
	_, err = pgx.ForEachRow(rows, []any{&row.Key, &row.Hash, &row.Version, &row.Owner, &row.Phase, &row.LastError}, func() error {
		visit(row)
		return nil
	})
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return problemOf(table.Name, err)
}
