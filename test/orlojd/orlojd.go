// Package orlojd is a double of orlojd 0.3 for tests: as much of its API, and of what its
// controllers do to rows, as matters to clients that write rows and to proxies.
//
// Its tests are a contract: with LINTEL_ORLOJD and LINTEL_ORLOJ_DSN, the address and the
// database of a real orlojd, they run against that one.
package orlojd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Double is an orlojd on a database whose tables are there already. It may be used
// concurrently.
type Double struct {
	// AddsZeros adds values that the client did not set, as newer versions do: every Tool then has
	// wasm.enable_wasi false.
	AddsZeros bool

	pool *pgxpool.Pool
	mu   sync.Mutex
}

// Open is a Double on the database of a connection string.
func Open(ctx context.Context, dsn string) (*Double, error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return &Double{pool: pool}, nil
}

// Close ends its connections.
func (d *Double) Close() { d.pool.Close() }

// object is one as orlojd reads it. encoding/json takes keys without regard to their
// case, and the last of several: so does orlojd.
type object struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   metadata       `json:"metadata"`
	Spec       map[string]any `json:"spec"`
	Status     map[string]any `json:"status"`
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Generation      int64             `json:"generation,omitempty"`
	CreatedAt       string            `json:"createdAt,omitempty"`
}

func (m metadata) key() string { return m.Namespace + "/" + m.Name }

// Reconcile is one round of its controllers: every row that is not Ready, or has another
// generation than its status, is written again.
func (d *Double) Reconcile(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range collectionsByPath {
		if c.unwritten {
			continue
		}
		rows, err := d.pool.Query(ctx, "SELECT payload::text FROM "+c.table)
		if err != nil {
			return err
		}
		payloads, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, payload := range payloads {
			if err := d.reconcile(ctx, c, payload); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Double) reconcile(ctx context.Context, c collection, payload string) error {
	var o object
	if err := json.Unmarshal([]byte(payload), &o); err != nil {
		return nil // it cannot do anything about it
	}
	observed, _ := o.Status["observedGeneration"].(float64)
	if o.Status["phase"] == "Ready" && int64(observed) == o.Metadata.Generation {
		return nil
	}
	o.Status = map[string]any{"phase": "Ready", "observedGeneration": o.Metadata.Generation}
	_, err := d.upsert(ctx, c, o)
	if errors.Is(err, errConflict) {
		return nil // the next round is for it
	}
	return err
}

var errConflict = errors.New("resourceVersion conflict")

// upsert writes a row as a whole, in its own form.
func (d *Double) upsert(ctx context.Context, c collection, o object) (object, error) {
	o.Spec = c.spec.kept(o.Spec)
	if c.kind == "Tool" && d.AddsZeros {
		o.Spec["wasm"] = map[string]any{"enable_wasi": false}
	}
	return o, pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		current, found, err := readRow(ctx, tx, c, o.Metadata.key(), "FOR UPDATE")
		if err != nil {
			return err
		}
		if given := o.Metadata.ResourceVersion; given != "" && given != current.Metadata.ResourceVersion {
			return errConflict
		}
		version, _ := strconv.Atoi(current.Metadata.ResourceVersion)
		o.Metadata.ResourceVersion = strconv.Itoa(version + 1)
		o.Metadata.Generation, o.Metadata.CreatedAt = max(current.Metadata.Generation, 1), current.Metadata.CreatedAt
		if found && (c.isRestless(o.Spec) || !reflect.DeepEqual(c.spec.kept(current.Spec), c.spec.kept(o.Spec))) {
			o.Metadata.Generation++
		}
		payload, err := json.Marshal(o)
		if err != nil {
			return err
		}
		phase, _ := o.Status["phase"].(string)
		_, err = tx.Exec(ctx, fmt.Sprintf(`INSERT INTO %s (name, namespace, status_phase, payload, updated_at) VALUES ($1, $2, $3, $4, NOW())
			ON CONFLICT (name) DO UPDATE SET namespace = $2, status_phase = $3, payload = $4, updated_at = NOW()`, c.table),
			o.Metadata.key(), o.Metadata.Namespace, strings.ToLower(phase), payload)
		return err
	})
}

type querier interface {
	QueryRow(ctx context.Context, statement string, values ...any) pgx.Row
}

func readRow(ctx context.Context, q querier, c collection, key, locking string) (o object, found bool, err error) {
	var text []byte
	err = q.QueryRow(ctx, fmt.Sprintf("SELECT payload FROM %s WHERE name = $1 %s", c.table, locking), key).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return o, false, nil
	}
	if err != nil {
		return o, false, err
	}
	return o, true, json.Unmarshal(text, &o)
}

// ServeHTTP is its API: GET, PUT and DELETE of an object, and POST to a collection.
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path, name, _ := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, "/v1/"), "/"), "/")
	c, known := collectionsByPath[path]
	if !known {
		http.NotFound(w, r)
		return
	}
	key := orDefault(r.URL.Query().Get("namespace")) + "/" + strings.TrimSpace(name)
	current, found, err := readRow(r.Context(), d.pool, c, key, "")
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case r.Method == http.MethodPost:
		d.write(w, r, c, object{}, http.StatusCreated)
	case !found:
		http.NotFound(w, r)
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(current)
	case r.Method == http.MethodPut:
		d.write(w, r, c, current, http.StatusOK)
	case r.Method == http.MethodDelete:
		if _, err := d.pool.Exec(r.Context(), fmt.Sprintf("DELETE FROM %s WHERE name = $1", c.table), key); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func orDefault(namespace string) string {
	if namespace = strings.TrimSpace(namespace); namespace == "" {
		return "default"
	}
	return namespace
}

// write stores the object in a body: over current, where a PUT names that.
func (d *Double) write(w http.ResponseWriter, r *http.Request, c collection, current object, status int) {
	o, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.APIVersion, o.Kind, o.Status = "orloj.dev/v1", c.kind, current.Status
	if r.Method == http.MethodPut {
		o.Metadata.Name = current.Metadata.Name
		if r.Header.Get("If-Match") == "*" {
			o.Metadata.ResourceVersion = current.Metadata.ResourceVersion
		}
		if o.Metadata.ResourceVersion == "" {
			http.Error(w, "no version is given", http.StatusConflict)
			return
		}
	} else if before, found, _ := readRow(r.Context(), d.pool, c, o.Metadata.key(), ""); found {
		o.Status = before.Status
	}
	if o.Status == nil {
		o.Status = map[string]any{"phase": "Pending"}
	}
	if o, err = d.upsert(r.Context(), c, o); errors.Is(err, errConflict) {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o)
}

// readBody reads an object in JSON. No caller here relies on YAML.
func readBody(r *http.Request) (o object, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return o, err
	}
	o.Metadata.Namespace, o.Metadata.Name = orDefault(o.Metadata.Namespace), strings.TrimSpace(o.Metadata.Name)
	asked := strings.TrimSpace(r.URL.Query().Get("namespace"))
	if asked != "" && !strings.EqualFold(asked, o.Metadata.Namespace) {
		return o, fmt.Errorf("the namespace is %q in the body and %q in the address", o.Metadata.Namespace, asked)
	}
	return o, nil
}
