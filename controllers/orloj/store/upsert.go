package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Result is the result of an Upsert.
type Result struct {
	// Created, Updated: the row was written. Neither: it had the desired content.
	Created, Updated bool
	// Adopted reports that the row existed and had no owner.
	Adopted bool
	// Hash changes with any change of Lintel's part of the row, and Version with every write.
	Hash, Version string
	// Lost are desired fields that were missing; NotKept those of them that are not written
	// again, because the store has lost them before.
	Lost, NotKept []string
	// OnlyLost reports that a row was written only for lost fields.
	OnlyLost bool
	// Phase and LastError are set by orlojd.
	Phase, LastError string
}

// Written reports whether the store was written.
func (r Result) Written() bool { return r.Created || r.Updated }

// stored is a row that was read and locked.
type stored struct {
	*payload
	namespace string
	columns   map[string]string
	hash      string
	// plain reports that a value which should be encrypted is not.
	plain bool
}

// errRaced reports a row created between reading and writing: a missing row cannot be locked.
var errRaced = errors.New("another client has just created the row")

// Upsert stores a row. Rows that are new or unchanged share a transaction with those of concurrent
// calls; any other row has one of its own. The error is a *Problem if the row belongs to another
// object or to orlojd.
func (s *Store) Upsert(ctx context.Context, table Table, row *Row) (Result, error) {
	want, err := s.wanted(table, row)
	if err != nil {
		return Result{}, &Problem{Reason: ReasonRefused, Message: err.Error(), cause: err}
	}
	if !table.encrypted { // values of Secrets are compared and encrypted under a lock
		if result, settled, err := s.upsertBatched(ctx, table, row, want); settled {
			return result, err
		}
	}
	for range 3 {
		var result Result
		err := s.inTransaction(ctx, table.Name, func(ctx context.Context, tx pgx.Tx) error {
			var err error
			result, err = s.upsert(ctx, tx, table, row, want)
			return err
		})
		if !errors.Is(err, errRaced) {
			return result, err
		}
	}
	return Result{}, &Problem{ReasonRowLocked, "the row comes and goes; it is tried again by itself", errRaced}
}

// wanted is the payload of a row, without the fields that only the store knows.
func (s *Store) wanted(table Table, row *Row) (*payload, error) {
	spec, err := normal(row.Spec)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{}
	maps.Copy(annotations, row.Annotations)
	annotations[ManagedByAnnotation] = ManagedBy
	annotations[OwnerAnnotation] = row.Owner
	if row.Cluster != "" {
		annotations[ClusterAnnotation] = row.Cluster
	}
	delete(annotations, SourceNamespaceAnnotation)
	if row.SourceNamespace != row.Namespace {
		annotations[SourceNamespaceAnnotation] = row.SourceNamespace
	}
	return &payload{
		APIVersion: "orloj.dev/v1", Kind: table.Kind, Spec: spec,
		Metadata: metadata{Name: row.Name, Namespace: row.Namespace, Labels: row.Labels, Annotations: annotations},
	}, nil
}

func (s *Store) upsert(ctx context.Context, tx pgx.Tx, table Table, row *Row, want *payload) (Result, error) {
	have, err := s.lock(ctx, tx, table, row.Key())
	if err != nil {
		return Result{}, err
	}
	if have == nil {
		if row.LeaveMissing {
			return Result{}, waiting(row)
		}
		if err := s.mayEncrypt(ctx, tx, table, want.Spec); err != nil {
			return Result{}, err
		}
		return s.insert(ctx, tx, table, row, want)
	}
	if problem := claim(have.payload, row); problem != nil {
		return Result{}, problem
	}
	result, differs := compareRow(table, row, have, want)
	if !differs.any() {
		return result, nil
	}
	if err := s.mayEncrypt(ctx, tx, table, want.Spec); err != nil {
		return Result{}, err
	}
	next := *want
	next.Status = have.Status
	next.Metadata.CreatedAt = have.Metadata.CreatedAt
	next.Metadata.ResourceVersion = nextVersion(have.Metadata.ResourceVersion)
	next.Metadata.Generation = max(have.Metadata.Generation, 1)
	if differs.spec {
		next.Metadata.Generation++
	}
	result.Updated, result.Version = true, next.Metadata.ResourceVersion
	result.Hash, err = s.write(ctx, tx, table, &next, updateStatement(table))
	return result, err
}

// differences are the parts in which a stored row differs from the desired one.
type differences struct{ spec, rest bool }

func (d differences) any() bool { return d.spec || d.rest }

// compareRow compares a stored row of the same owner with the desired one.
func compareRow(table Table, row *Row, have *stored, want *payload) (Result, differences) {
	result := Result{Adopted: have.owner() == "", Hash: have.hash, Version: have.Metadata.ResourceVersion}
	result.Phase, result.LastError = have.status().Phase, have.status().LastError
	difference := compare(table, have.Spec, want.Spec)
	result.Lost = difference.lost
	for _, field := range difference.lost {
		if slices.Contains(row.Lost, field) {
			result.NotKept = append(result.NotKept, field)
		}
	}
	differs := differences{
		spec: difference.differs || len(result.NotKept) != len(result.Lost),
		rest: !have.sameMetadata(want) || have.namespace != row.Namespace || have.plain || !sameColumns(table, have, want),
	}
	result.OnlyLost = differs.spec && !differs.rest && !difference.differs
	return result, differs
}

// claim returns a problem if the row belongs to another owner.
func claim(have *payload, row *Row) *Problem {
	owner, cluster := have.owner(), have.cluster()
	switch {
	case owner == row.Owner:
		return nil
	case have.isGenerated():
		return &Problem{Reason: ReasonGenerated, Message: fmt.Sprintf(
			"row %s: generated by orlojd from an McpServer; give this object another name", row.Key())}
	case owner == "" && row.LeaveUnowned:
		return waiting(row)
	case owner == "":
		return nil
	case cluster != "" && cluster != row.Cluster:
		return &Problem{Reason: ReasonCluster, Message: fmt.Sprintf(
			"the row %s belongs to %s %s/%s of another cluster (%s; this one is %s), which had it first; delete that one, or give this one another name or target namespace. Of a cluster that is gone, give this one the identity: --orloj-cluster-id",
			row.Key(), have.Kind, have.sourceNamespace(), have.Metadata.Name, cluster, row.Cluster)}
	case have.sourceNamespace() == row.SourceNamespace:
		return nil // it was an earlier object of this very name, of which there is one at a time
	}
	return &Problem{Reason: ReasonTaken, Message: fmt.Sprintf(
		"the row %s belongs to %s %s/%s (uid %s); delete that one, or give this one another name or target namespace",
		row.Key(), have.Kind, have.sourceNamespace(), have.Metadata.Name, owner)}
}

// waiting is the problem of an object that must still wait for a released row.
func waiting(row *Row) *Problem {
	return &Problem{Reason: ReasonReleased, Message: fmt.Sprintf(
		"row %s: its previous owner, another object, has lost it; this object adopts the row unless the previous owner takes it back", row.Key())}
}

// lock reads a row and locks it; nil if there is none.
func (s *Store) lock(ctx context.Context, tx pgx.Tx, table Table, key string) (*stored, error) {
	have, err := s.readStored(table, tx.QueryRow(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE name = $1 FOR UPDATE", storedColumns(table), table.Name), key))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return have, err
}

// storedColumns are the expressions that readStored reads.
func storedColumns(table Table) string {
	names := []string{"payload", "namespace", hashOf(table)}
	for _, c := range table.columns {
		names = append(names, fmt.Sprintf("COALESCE(%s, '')", c.name))
	}
	return strings.Join(names, ", ")
}

// readStored reads storedColumns, after those that the caller reads.
func (s *Store) readStored(table Table, from pgx.Row, before ...any) (*stored, error) {
	have := &stored{columns: map[string]string{}}
	var text []byte
	values := make([]string, len(table.columns))
	into := append(before, &text, &have.namespace, &have.hash)
	for i := range values {
		into = append(into, &values[i])
	}
	if err := from.Scan(into...); err != nil {
		return nil, err
	}
	for i, c := range table.columns {
		have.columns[c.name] = values[i]
	}
	var err error
	if have.payload, err = readPayload(text); err != nil {
		// The row was changed to something that orlojd cannot read either: replace all of it.
		have.payload = &payload{}
		return have, nil
	}
	if table.encrypted {
		return have, s.decryptSpec(have)
	}
	return have, nil
}

func sameColumns(table Table, have *stored, want *payload) bool {
	return !slices.ContainsFunc(table.columns, func(c column) bool { return have.columns[c.name] != columnValue(c, want.Spec) })
}

func columnValue(c column, spec map[string]any) string {
	return cmp.Or(field(spec, columnFields[c.name]), c.fallback)
}

func nextVersion(current string) string {
	n, err := strconv.ParseInt(current, 10, 64)
	if err != nil || n < 0 {
		n = 0
	}
	return strconv.FormatInt(n+1, 10)
}

func (s *Store) insert(ctx context.Context, tx pgx.Tx, table Table, row *Row, want *payload) (Result, error) {
	first := s.first(table, want)
	hash, err := s.write(ctx, tx, table, &first, insertStatement(table), strings.ToLower(table.Phase))
	if errors.Is(err, pgx.ErrNoRows) {
		return Result{}, errRaced
	}
	return created(table, hash), err
}

// first is the payload of a new row.
func (s *Store) first(table Table, want *payload) payload {
	first := *want
	first.Status, _ = json.Marshal(map[string]string{"phase": table.Phase})
	first.Metadata.ResourceVersion, first.Metadata.Generation = "1", 1
	first.Metadata.CreatedAt = s.now().UTC().Format(time.RFC3339)
	return first
}

// created is the result for a new row.
func created(table Table, hash string) Result {
	return Result{Created: true, Hash: hash, Version: "1", Phase: table.Phase}
}

// insertStatement takes name, namespace, payload, the columns, and the phase.
func insertStatement(table Table) string {
	names, places := []string{"name", "namespace", "payload"}, []string{"$1", "$2", "$3"}
	for _, c := range table.columns {
		names, places = append(names, c.name), append(places, fmt.Sprintf("$%d", len(places)+1))
	}
	names, places = append(names, "status_phase"), append(places, fmt.Sprintf("$%d", len(places)+1))
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (name) DO NOTHING RETURNING %s",
		table.Name, strings.Join(names, ", "), strings.Join(places, ", "), hashOf(table))
}

// updateStatement takes name, namespace, payload and the columns. orlojd owns the phase.
func updateStatement(table Table) string {
	set := []string{"namespace = $2", "payload = $3", "updated_at = NOW()"}
	for i, c := range table.columns {
		set = append(set, fmt.Sprintf("%s = $%d", c.name, i+4))
	}
	return fmt.Sprintf("UPDATE %s SET %s WHERE name = $1 RETURNING %s", table.Name, strings.Join(set, ", "), hashOf(table))
}

func (s *Store) write(ctx context.Context, tx pgx.Tx, table Table, p *payload, statement string, more ...any) (hash string, err error) {
	values, err := s.values(table, p)
	if err != nil {
		return "", err
	}
	arguments := make([]any, 0, len(values)+len(more))
	for _, value := range values {
		arguments = append(arguments, value)
	}
	err = tx.QueryRow(ctx, statement, append(arguments, more...)...).Scan(&hash)
	return hash, err
}

// values are the name, the namespace, the payload and the columns of a row.
func (s *Store) values(table Table, p *payload) ([]string, error) {
	values := []string{p.Metadata.Namespace + "/" + p.Metadata.Name, p.Metadata.Namespace, ""}
	for _, c := range table.columns {
		values = append(values, columnValue(c, p.Spec))
	}
	if table.encrypted {
		p.Spec = s.encryptSpec(p.Spec)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p); err != nil {
		return nil, fmt.Errorf("writing the payload: %w", err)
	}
	values[2] = text.String()
	return values, nil
}
