package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// migrationLock is the advisory lock under which orlojd migrates.
const migrationLock = 7301947

// ErrMigrated reports a database whose tables orlojd manages.
var ErrMigrated = errors.New("the database has a table schema_migrations, so orlojd makes its tables; leave --orloj-create-tables out and start orlojd")

// CreateTables creates the missing tables, for development and tests. It never changes an
// existing table, and its names of constraints and indexes differ from orlojd's, so that
// orlojd's migrations succeed on these tables later.
func (s *Store) CreateTables(ctx context.Context) error {
	return s.inTransaction(ctx, "", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
		var migrated bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass('schema_migrations') IS NOT NULL").Scan(&migrated); err != nil {
			return err
		}
		if migrated {
			return &Problem{Reason: ReasonRefused, Message: ErrMigrated.Error(), cause: ErrMigrated}
		}
		for _, table := range allTables {
			var exists bool
			if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table.Name).Scan(&exists); err != nil {
				return err
			}
			if exists {
				continue
			}
			if _, err := tx.Exec(ctx, createStatement(table)); err != nil {
				return err
			}
		}
		return nil
	})
}

func createStatement(table Table) string {
	columns := []string{
		"name TEXT PRIMARY KEY",
		"namespace TEXT NOT NULL DEFAULT 'default'",
		"status_phase TEXT NOT NULL DEFAULT ''",
	}
	for _, c := range table.columns {
		columns = append(columns, fmt.Sprintf("%s TEXT NOT NULL DEFAULT '%s'", c.name, c.fallback))
	}
	columns = append(columns,
		"payload JSONB NOT NULL",
		"updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW()",
		"created_at TIMESTAMPTZ NOT NULL DEFAULT NOW()",
		"spec_hash TEXT NOT NULL DEFAULT ''",
		fmt.Sprintf("CONSTRAINT lintel_%s_key_length CHECK (length(name) <= 253)", table.Name),
	)
	return fmt.Sprintf("CREATE TABLE %[1]s (%[2]s); CREATE INDEX lintel_%[1]s_namespace ON %[1]s (namespace)",
		table.Name, strings.Join(columns, ", "))
}
