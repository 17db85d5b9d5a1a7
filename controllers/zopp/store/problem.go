package store

// Reason is one word for why something could not be read.
type Reason string

// The reasons of an Error.
const (
	// ReasonUnreachable: no server answers, or not in time.
	ReasonUnreachable Reason = "Unreachable"
	// ReasonUnauthenticated: the server does not accept who asks, or this machine's clock.
	ReasonUnauthenticated Reason = "Unauthenticated"
	// ReasonNotFound: the workspace, project or environment is missing, or the principal
	// has no key of the workspace, which servers do not tell apart.
	ReasonNotFound Reason = "NotFound"
	// ReasonDenied: the principal may not read the environment.
	ReasonDenied Reason = "Denied"
	// ReasonUndecryptable: a key or a value is damaged, or encrypted for somebody else.
	ReasonUndecryptable Reason = "Undecryptable"
	// ReasonInvalidCredentials: there are no credentials, or they are malformed.
	ReasonInvalidCredentials Reason = "InvalidCredentials"
	// ReasonServerFailed: the server answers with an error of its own.
	ReasonServerFailed Reason = "ServerFailed"
	// ReasonEnded: a server has ended a stream without an error; another may be opened.
	ReasonEnded Reason = "Ended"
)

// Error is why something could not be read. It holds no value, key or credential.
type Error struct {
	Reason Reason
	// Message says what is wrong, where, and what to do next.
	Message string
	// Cause is the error beneath it, or nil.
	Cause error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap is the error beneath it.
func (e *Error) Unwrap() error { return e.Cause }

// Permanent says that trying again alone does not help: somebody must change something.
func (e *Error) Permanent() bool {
	switch e.Reason {
	case ReasonUnreachable, ReasonServerFailed, ReasonEnded:
		return false
	}
	return true
}
