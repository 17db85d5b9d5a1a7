package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Removal selects the rows to remove for an object.
type Removal struct {
	// Owner is the object's UID.
	Owner string
	// Key is the row to remove; empty removes all rows of the owner.
	Key string
	// Except is a row to keep.
	Except string
	// Unmarked also removes the row of Key if it names no owner because it was edited.
	Unmarked bool
	// Retain keeps the rows, without an owner.
	Retain bool
}

// Remove deletes or releases rows. Missing rows are not an error.
func (s *Store) Remove(ctx context.Context, table Table, r Removal) (rows int64, err error) {
	owned := fmt.Sprintf("payload->'metadata'->'annotations'->>'%s' = $1", OwnerAnnotation)
	values := []any{r.Owner, r.Except}
	where := owned + " AND name <> $2"
	if r.Key != "" {
		if r.Unmarked {
			where = fmt.Sprintf("(%s OR NOT COALESCE(payload->'metadata'->'annotations' ? '%s', false) AND $1 <> '')", owned, OwnerAnnotation)
			where += fmt.Sprintf(" AND COALESCE(payload->'metadata'->'labels'->>'%s', '') <> 'true'", generatedLabel)
		}
		where = fmt.Sprintf("name = $3 AND (%s) AND name <> $2", where)
		values = append(values, r.Key)
	}
	statement := fmt.Sprintf("DELETE FROM %s WHERE %s", table.Name, where)
	if r.Retain {
		// A row released before is not changed: a removal may be repeated.
		where = fmt.Sprintf("(%s) AND COALESCE(payload->'metadata'->'annotations' ?| array['%s', '%s', '%s', '%s'], false)",
			where, OwnerAnnotation, ClusterAnnotation, ManagedByAnnotation, SourceNamespaceAnnotation)
		statement = fmt.Sprintf(`UPDATE %s SET updated_at = NOW(), payload = jsonb_set(
			payload #- '{metadata,annotations,%s}' #- '{metadata,annotations,%s}' #- '{metadata,annotations,%s}' #- '{metadata,annotations,%s}',
			'{metadata,resourceVersion}', to_jsonb((COALESCE(NULLIF(payload->'metadata'->>'resourceVersion', ''), '0')::bigint + 1)::text))
			WHERE %s`, table.Name, OwnerAnnotation, ClusterAnnotation, ManagedByAnnotation, SourceNamespaceAnnotation, where)
	}
	err = s.inTransaction(ctx, table.Name, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, statement, values...)
		rows = tag.RowsAffected()
		return err
	})
	return rows, err
}
