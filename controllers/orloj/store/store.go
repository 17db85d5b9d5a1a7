package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options configure the database.
type Options struct {
	// DSN is a connection string of PostgreSQL.
	DSN string
	// Key encrypts the values of Secrets; if empty, they are stored in plain text.
	Key string
	// RequireEncryption refuses Secrets without a key.
	RequireEncryption bool
	// MaxConnections limits the pool; 0 is the default for the number of CPUs.
	MaxConnections int32
}

const (
	// operationTimeout limits one transaction, including the wait for a connection.
	operationTimeout = 20 * time.Second
	connectTimeout   = 5 * time.Second
)

// Store is a database. It may be used concurrently.
type Store struct {
	pool     *pgxpool.Pool
	cipher   *Cipher
	required bool
	now      func() time.Time
	keys     atomic.Pointer[keyState]
	begun    atomic.Int64
	queues   map[string]*queue // by table
}

// New creates a pool without connecting.
func New(ctx context.Context, o Options) (*Store, error) {
	cipher, err := NewCipher(o.Key)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return nil, errors.New("the connection string of PostgreSQL cannot be read; it is such as postgres://user:password@host:5432/orloj") // the driver's words have the password
	}
	if o.MaxConnections > 0 {
		config.MaxConns = o.MaxConnections
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	settings := config.ConnConfig.RuntimeParams
	for name, value := range map[string]string{
		"application_name": "lintel-orloj", "lock_timeout": "5s", "statement_timeout": "30s",
		"idle_in_transaction_session_timeout": "30s",
	} {
		if _, set := settings[name]; !set {
			settings[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("setting up connections to PostgreSQL: %w", err)
	}
	queues := map[string]*queue{}
	for _, table := range allTables {
		queues[table.Name] = &queue{}
	}
	return &Store{pool: pool, cipher: cipher, required: o.RequireEncryption, now: time.Now, queues: queues}, nil
}

// Close ends all connections.
func (s *Store) Close() { s.pool.Close() }

// Ping checks whether the database answers. The error is a *Problem.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return problemOf("", s.pool.Ping(ctx))
}

// Transactions returns the number of transactions begun.
func (s *Store) Transactions() int64 { return s.begun.Load() }

// inTransaction runs one transaction. The error is a *Problem, or the error of ctx.
func (s *Store) inTransaction(ctx context.Context, table string, run func(context.Context, pgx.Tx) error) error {
	limited, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	s.begun.Add(1)
	err := pgx.BeginFunc(limited, s.pool, func(tx pgx.Tx) error { return run(limited, tx) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return problemOf(table, err)
}

// hashOf returns the SQL expression for the hash of Lintel's part of a row: all but its status,
// version and generation, which orlojd updates. PostgreSQL has one text form of a document, so
// equal rows have equal hashes. For a document that is not orlojd's, the hash covers all of it.
func hashOf(t Table) string {
	var b strings.Builder
	b.WriteString(`md5(CASE jsonb_typeof(payload->'metadata') WHEN 'object' THEN (payload - 'status') #- '{metadata,resourceVersion}' #- '{metadata,generation}' ELSE payload END::text || '|' || namespace`)
	for _, c := range t.columns {
		fmt.Fprintf(&b, " || '|' || COALESCE(%s, '')", c.name)
	}
	b.WriteString(")")
	return b.String()
}
