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
	// ReasonServerFailed: the server returns an error of its own.
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
	told := status.Convert(err)
	made := func(reason Reason, format string, arguments ...any) *Error {
		return &Error{Reason: reason, Message: fmt.Sprintf(format, arguments...), Cause: err}
	}
	server, said := s.options.Server, quote(told.Message())
	switch {
	// A server knows the deadline of a call. If it resets the call a moment before the
	// deadline has passed here, gRPC reports it as canceled.
	case errors.Is(err, context.DeadlineExceeded) || told.Code() == codes.DeadlineExceeded || told.Code() == codes.Canceled:
		return made(ReasonUnreachable, "the zopp server %s has not answered within %s; look whether it is overloaded, or something between keeps calls back", server, s.options.Timeout)
	case told.Code() == codes.Unavailable:
		return made(ReasonUnreachable, "the zopp server %s cannot be reached: %s; look whether it runs, at this address, with TLS or without", server, said)
	case told.Code() == codes.Unauthenticated:
		return made(ReasonUnauthenticated, "the zopp server %s does not accept a request of principal %s: %s; %s", server, q.principal, said, s.suspicion(answers))
	case told.Code() == codes.NotFound:
		return made(ReasonNotFound, "%s is not there, or principal %s has no access to its workspace: the zopp server says %s; compare the names with `zopp environment list`, or give the principal access by `zopp workspace grant-principal-access -w %s -p %s`",
			q.environment, q.principal, said, q.environment.Workspace, q.principal.ID)
	case told.Code() == codes.PermissionDenied:
		return made(ReasonDenied, "principal %s may not read %s: the zopp server says %s; who administers the workspace permits it by `zopp permission set -w %s --principal %s --role read`",
			q.principal, q.environment, said, q.environment.Workspace, q.principal.ID)
	case told.Code() == codes.Unimplemented:
		return made(ReasonServerFailed, "what answers at %s is no zopp server that Lintel knows: %s; look whether the address is that of its gRPC port", server, said)
	}
	return made(ReasonServerFailed, "the zopp server %s has failed to read %s: %s (%s); look into its log", server, q.environment, said, told.Code())
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
				return fmt.Sprintf("the clocks differ by %s: it is %s here, and %s there; set the one that is wrong", ahead.Abs(), clockTime(here), clockTime(there))
			}
			return "look whether the credentials are of this server, and current"
		}
	}
	return fmt.Sprintf("look whether the credentials are of this server, and current, and whether both clocks are right: it is %s here, and servers accept what is at most %s behind or %s ahead", clockTime(here), maxBehind, maxAhead)
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// maxSaidBytes is how much of a server's words is repeated.
const maxSaidBytes = 200

// quote returns a server's message in one line.
func quote(text string) string {
	if len(text) > maxSaidBytes {
		text = strings.ToValidUTF8(text[:maxSaidBytes], "") + "…"
	}
	return strconv.Quote(text)
}
