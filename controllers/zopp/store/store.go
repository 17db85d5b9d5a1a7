package store

import (
	"context"
	"time"
)

// Options are the settings of a Store.
type Options struct {
	// Server is the URL of the server, as http://127.0.0.1:50051. https:// is with TLS.
	Server string
	// CAFile holds the certificates, in PEM, that a server's is checked against. Those of
	// the system are when it is empty.
	CAFile string
	// Credentials say who asks.
	Credentials Credentials
	// Now is the clock that requests are signed by; time.Now when nil.
	Now func() time.Time
	// Timeout is how long one call may take, and a stream to be accepted; 10 s when zero.
	Timeout time.Duration
}

// Credentials give the principal that requests are signed as. They are asked for each
// request, so a principal that changes meanwhile is used at once.
type Credentials interface {
	// Principal is the one that is current. Its error is an *Error of
	// ReasonInvalidCredentials.
	Principal() (*Principal, error)
}

// FindCredentials are those of the environment where it has ZOPP_PRINCIPAL_ID, and of a
// file otherwise: the one that is named, or else the first that there is of
// ~/.zopp/credentials.json and ~/.zopp/config.json. A file is read again when it changes,
// and need not be there yet: only what is wrong with the environment is an error here.
func FindCredentials(file string, lookup func(name string) (string, bool)) (Credentials, error) {
	panic("not yet")
}

// Store reads a server. It has one connection, however many environments are read and
// watched, and may be used by many goroutines.
type Store struct{}

// New checks the settings. It does not connect; the first call does.
func New(options Options) (*Store, error) { panic("not yet") }

// Check says what is wrong with the credentials as they are now, without asking the
// server. It is for the log at the start: what is wrong may be mended later.
func (s *Store) Check() error { panic("not yet") }

// List reads all that an environment has. Its error is an *Error, unless the context is
// done.
func (s *Store) List(ctx context.Context, environment Environment) (*Contents, error) {
	panic("not yet")
}

// Watch subscribes to the changes of an environment. It returns once the server has
// accepted, so that a List after it misses nothing. The context ends the stream. Its error
// is an *Error, unless the context is done.
func (s *Store) Watch(ctx context.Context, environment Environment) (*Watch, error) {
	panic("not yet")
}

// Watch is a stream of changes. A server may lose some without a word.
type Watch struct{}

// Next waits for the next change. Its error, after which there is no other, is an *Error,
// unless the context is done.
func (w *Watch) Next() (Event, error) { panic("not yet") }

// Close ends the stream.
func (w *Watch) Close() { panic("not yet") }

// Close ends the connection, and forgets the keys.
func (s *Store) Close() { panic("not yet") }
