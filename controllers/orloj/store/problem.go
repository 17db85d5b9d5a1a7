package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Reasons of problems.
const (
	ReasonUnavailable   = "StoreUnavailable"
	ReasonSchemaMissing = "SchemaMissing"
	ReasonDenied        = "StorePermissionDenied"
	ReasonRowLocked     = "RowLocked"
	ReasonTaken         = "StoreKeyTaken"
	ReasonCluster       = "OtherCluster"
	ReasonReleased      = "StoreKeyReleased"
	ReasonGenerated     = "StoreKeyGenerated"
	ReasonKeyMissing    = "EncryptionKeyMissing"
	ReasonKeyWrong      = "EncryptionKeyWrong"
	ReasonRefused       = "StoreRefused"
)

// Problem is the reason why a row could not be written. Its message is shown to users and
// depends only on the cause, so that a status with the message does not change between tries.
type Problem struct {
	Reason, Message string
	cause           error
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Unwrap returns the driver's error.
func (p *Problem) Unwrap() error { return p.cause }

// Permanent reports that a retry cannot succeed until the object, the row or the configuration
// changes.
func (p *Problem) Permanent() bool {
	switch p.Reason {
	case ReasonUnavailable, ReasonSchemaMissing, ReasonDenied, ReasonRowLocked, ReasonReleased:
		return false
	}
	return true
}

// Unavailable reports that the whole store, not only this row, cannot be used.
func (p *Problem) Unavailable() bool {
	switch p.Reason {
	case ReasonUnavailable, ReasonSchemaMissing, ReasonDenied:
		return true
	}
	return false
}

// problemOf converts an error of the driver; nil stays nil.
func problemOf(table string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Problem](err); ok {
		return known
	}
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return serverProblem(table, server, err)
	}
	if isConnection(err) {
		return unavailable(err)
	}
	return &Problem{ReasonRefused, fmt.Sprintf("table %s: %s", table, err), err}
}

func unavailable(err error) *Problem {
	return &Problem{ReasonUnavailable, "PostgreSQL cannot be reached; it is tried again by itself. Is --orloj-postgres-dsn right, and does the server run?", err}
}

// isConnection reports an error of the connection to the server, in or outside of a transaction.
func isConnection(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, pgx.ErrTxCommitRollback) ||
		strings.Contains(err.Error(), "conn closed")
}

// serverProblem evaluates the SQLSTATE; see appendix A of PostgreSQL's documentation.
func serverProblem(table string, server *pgconn.PgError, err error) *Problem {
	switch server.Code {
	case "42P01", "3F000", "42703":
		what := fmt.Sprintf("table %s is missing", table)
		if server.Code == "42703" {
			what = fmt.Sprintf("table %s is not as orlojd makes it (%s)", table, server.Message)
		}
		return &Problem{ReasonSchemaMissing, what + "; start orlojd with the same database once: its migrations 001 to 008 make the tables", err}
	case "42501":
		return &Problem{ReasonDenied, fmt.Sprintf("the database user may not write table %s; grant SELECT, INSERT, UPDATE and DELETE on it", table), err}
	case "55P03", "57014", "40001", "40P01":
		return &Problem{ReasonRowLocked, "another session holds the row; it is tried again by itself", err}
	case "23514":
		return &Problem{ReasonRefused, fmt.Sprintf("table %s refuses the row by its constraint %s", table, server.ConstraintName), err}
	case "23502":
		return &Problem{ReasonRefused, fmt.Sprintf("table %s wants a value for its column %s, which this version does not know; upgrade Lintel", table, server.ColumnName), err}
	}
	switch server.Code[:min(2, len(server.Code))] {
	case "08", "53", "57", "58", "28", "3D", "25", "XX":
		return unavailable(err)
	}
	return &Problem{ReasonRefused, fmt.Sprintf("table %s refuses the row: %s (SQLSTATE %s)", table, server.Message, server.Code), err}
}
