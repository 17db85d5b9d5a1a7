package orlojd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lintel-policy/lintel/controllers/orloj/store"
	"github.com/lintel-policy/lintel/test/installation"
)

// Peer is an orlojd to test against: the real one that LINTEL_ORLOJD and LINTEL_ORLOJ_DSN
// name, or a Double.
type Peer struct {
	// Address is that of its API, and DSN names its database. What a real one has in it
	// before stays there.
	Address, DSN string
	// Double is nil where a real one is tested against.
	Double *Double

	postgres *installation.Postgres
	server   *httptest.Server
}

// Start starts a Double with a PostgreSQL of its own, unless there is a real orlojd.
func Start(ctx context.Context) (*Peer, error) {
	p := &Peer{Address: os.Getenv("LINTEL_ORLOJD"), DSN: os.Getenv("LINTEL_ORLOJ_DSN")}
	if (p.Address == "") != (p.DSN == "") {
		return nil, errors.New("LINTEL_ORLOJD and LINTEL_ORLOJ_DSN are the address and the database of one orlojd: set both, or none")
	}
	if p.Address != "" {
		return p, nil
	}
	var err error
	if p.postgres, err = installation.StartPostgres(ctx); err != nil {
		return nil, err
	}
	p.DSN = p.postgres.DSN
	if err := p.serve(ctx); err != nil {
		return nil, errors.Join(err, p.postgres.Remove())
	}
	return p, nil
}

func (p *Peer) serve(ctx context.Context) error {
	tables, err := store.New(ctx, store.Options{DSN: p.DSN})
	if err != nil {
		return err
	}
	defer tables.Close()
	if err := tables.CreateTables(ctx); err != nil {
		return err
	}
	if p.Double, err = Open(ctx, p.DSN); err != nil {
		return err
	}
	p.server = httptest.NewServer(p.Double)
	p.Address = p.server.URL
	return nil
}

// Stop ends a Double and its database.
func (p *Peer) Stop() {
	if p.Double == nil {
		return
	}
	p.server.Close()
	p.Double.Close()
	_ = p.postgres.Remove()
}

// settleTimeout is how long a real orlojd may take; its controllers look every 2 to 5 s.
const settleTimeout = time.Minute

// Settle lets its controllers see every row of a namespace as it is now.
func (p *Peer) Settle(ctx context.Context, namespace string) error {
	if p.Double != nil {
		return p.Double.Reconcile(ctx)
	}
	d, err := Open(ctx, p.DSN)
	if err != nil {
		return err
	}
	defer d.Close()
	before, err := d.rows(ctx, namespace)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(settleTimeout)
	for {
		now, err := d.rows(ctx, namespace)
		if err != nil {
			return err
		}
		unseen := ""
		for key, row := range now {
			if !row.seen(before[key]) {
				unseen = key
			}
		}
		if unseen == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("orlojd has not looked at %s within %s", unseen, settleTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// row is how far the controllers are with one.
type row struct {
	version, phase       string
	generation, observed int64
	restless             bool
}

// seen says whether the controllers have seen a row as it is. The generation of some
// rises with the very write that notes it, and what fails is tried for ever.
func (r row) seen(before row) bool {
	switch {
	case r.phase == "Pending":
		return false
	case r.phase == "Error" || r.phase == "Connecting":
		return r.version != before.version
	case r.restless:
		return r.observed >= r.generation-1
	}
	return r.observed == r.generation
}

func (d *Double) rows(ctx context.Context, namespace string) (map[string]row, error) {
	all := map[string]row{}
	for _, c := range collectionsByPath {
		if c.unwritten {
			continue
		}
		rows, err := d.pool.Query(ctx, "SELECT payload::text FROM "+c.table+" WHERE namespace = $1", namespace)
		if err != nil {
			return nil, err
		}
		payloads, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, err
		}
		for _, payload := range payloads {
			var o object
			if err := json.Unmarshal([]byte(payload), &o); err != nil {
				return nil, err
			}
			phase, _ := o.Status["phase"].(string)
			observed, _ := o.Status["observedGeneration"].(float64)
			all[c.table+" "+o.Metadata.key()] = row{o.Metadata.ResourceVersion, phase, o.Metadata.Generation, int64(observed), c.isRestless(o.Spec)}
		}
	}
	return all, nil
}
