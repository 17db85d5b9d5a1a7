package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Reason is one word for why something could not be read.
type Reason string

// The reasons of an Error.
const (
	// ReasonUnreachable: no server answers in time.
	ReasonUnreachable Reason = "Unreachable"
	// ReasonUnauthenticated: the server does not accept the principal, or the clock of this
	// machine.
	ReasonUnauthenticated Reason = "Unauthenticated"
	// ReasonNotFound: the workspace, project or environment is missing, or the principal has no
	// key of the workspace. Servers return the same error for both.
	ReasonNotFound Reason = "NotFound"
	// ReasonDenied: the principal may not read the environment.
	ReasonDenied Reason = "Denied"
	// ReasonUndecryptable: a key or a value is damaged, or encrypted for another principal.
	ReasonUndecryptable Reason = "Undecryptable"
	// ReasonInvalidCredentials: there are no credentials, or they are malformed.
	ReasonInvalidCredentials Reason = "InvalidCredentials"
	// ReasonServerFailed: the server returns an unexpected error.
	ReasonServerFailed Reason = "ServerFailed"
	// ReasonEnded: the server ended a stream without an error. Another one may be opened.
	ReasonEnded Reason = "Ended"
)

// Error is why something could not be read. It holds no value, key or credential.
type Error struct {
	Reason Reason
	// Message describes the problem, its location, and the next step.
	Message string
	// Cause is the error beneath it, or nil.
	Cause error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap is the error beneath it.
func (e *Error) Unwrap() error { return e.Cause }

// Permanent reports that a retry alone does not help: a user must change something.
func (e *Error) Permanent() bool {
	switch e.Reason {
	case ReasonUnreachable, ReasonServerFailed, ReasonEnded:
		return false
	}
	return true
}

// The range of request times that servers accept.
const (
	maxBehind = 60 * time.Second
	maxAhead  = 30 * time.Second
)

// problem classifies the error of a call. The answers are the metadata of the response, which
// contains the server's time if the server has a clock.
func (s *Store) problem(q question, err error, answers ...metadata.MD) *Error {
	response := status.Convert(err)
	problem := func(reason Reason, format string, arguments ...any) *Error {
		return &Error{Reason: reason, Message: fmt.Sprintf(format, arguments...), Cause: err}
	}
	server, quoted := s.options.Server, quote(response.Message())
	switch {
	// A server knows the deadline of a call. If it resets the call a moment before the
	// deadline has passed here, gRPC reports it as canceled.
	case errors.Is(err, context.DeadlineExceeded) || response.Code() == codes.DeadlineExceeded || response.Code() == codes.Canceled:
		return problem(ReasonUnreachable, "the zopp server %s did not answer within %s; check whether it is overloaded, and whether a proxy or firewall blocks calls", server, s.options.Timeout)
	case response.Code() == codes.Unavailable:
		return problem(ReasonUnreachable, "the zopp server %s cannot be reached: %s; check that it is running, its address, and whether it uses TLS", server, quoted)
	case response.Code() == codes.Unauthenticated:
		return problem(ReasonUnauthenticated, "the zopp server %s rejects the requests of principal %s: %s; %s", server, q.principal, quoted, s.suspicion(answers))
	case response.Code() == codes.NotFound:
		return problem(ReasonNotFound, "%s does not exist, or principal %s has no access to its workspace: the zopp server returned %s; compare the names with `zopp environment list`, or grant the principal access with `zopp workspace grant-principal-access -w %s -p %s`",
			q.environment, q.principal, quoted, q.environment.Workspace, q.principal.ID)
	case response.Code() == codes.PermissionDenied:
		return problem(ReasonDenied, "principal %s may not read %s: the zopp server returned %s; an administrator of the workspace can permit it with `zopp permission set -w %s --principal %s --role read`",
			q.principal, q.environment, quoted, q.environment.Workspace, q.principal.ID)
	case response.Code() == codes.Unimplemented:
		return problem(ReasonServerFailed, "the server at %s is not a zopp server that Lintel supports: %s; check that the address is that of its gRPC port", server, quoted)
	}
	return problem(ReasonServerFailed, "the zopp server %s failed to read %s: %s (%s); check its log", server, q.environment, quoted, response.Code())
}

// suspicion lists possible reasons why a server rejects the principal. Its clock is one: a
// request is accepted for a minute.
func (s *Store) suspicion(answers []metadata.MD) string {
	here := s.options.Now().Truncate(time.Second)
	for _, answer := range answers {
		for _, date := range answer.Get("date") {
			there, err := http.ParseTime(date)
			if err != nil {
				continue
			}
			if ahead := here.Sub(there); ahead >= maxAhead || -ahead >= maxBehind {
				return fmt.Sprintf("the clocks differ by %s: Lintel's shows %s, and the server's %s; correct the wrong one", ahead.Abs(), clockTime(here), clockTime(there))
			}
			return "check that the credentials are for this server, and current"
		}
	}
	return fmt.Sprintf("check that the credentials are for this server, and current, and that both clocks are correct: Lintel's shows %s, and servers accept requests that are at most %s behind or %s ahead", clockTime(here), maxBehind, maxAhead)
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// maxQuotedBytes limits the quotation of a server's message.
const maxQuotedBytes = 200

// quote returns a server's message in one line.
func quote(text string) string {
	if len(text) > maxQuotedBytes {
		text = strings.ToValidUTF8(text[:maxQuotedBytes], "") + "…"
	}
	return strconv.Quote(text)
}
