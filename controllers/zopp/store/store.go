package store

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// Options are the settings of a Store.
type Options struct {
	// Server is the URL of the server, as http://127.0.0.1:50051. https:// is with TLS.
	Server string
	// CAFile holds the certificates, in PEM, that a server's is checked against. Those of
	// the system are when it is empty. It is read again for each connection.
	CAFile string
	// Credentials sign the requests.
	Credentials Credentials
	// Now is the clock that requests are signed by; time.Now when nil.
	Now func() time.Time
	// Timeout is how long one call may take, and a stream to be accepted; 10 s when zero.
	Timeout time.Duration
}

const defaultTimeout = 10 * time.Second

// Store reads a server. It shares one connection among all Secrets, and opens others when the
// watched environments exceed the number of streams that the server, or this package, allows on
// one. It is safe for concurrent use.
type Store struct {
	options Options
	lines   connectionPool
	client  wire.ZoppServiceClient

	mutex sync.Mutex
	keys  map[Environment]*environmentKey
}

// New checks the settings. It does not connect; the first call does.
func New(options Options) (*Store, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	s := &Store{options: options, keys: map[Environment]*environmentKey{}}
	s.lines.connect = func(on *pooledConnection) (*grpc.ClientConn, error) {
		return connect(options.Server, options.CAFile, on)
	}
	if err := s.lines.add(); err != nil {
		return nil, err
	}
	s.client = wire.NewZoppServiceClient(&s.lines)
	return s, nil
}

// CheckCredentials returns the current problem with the credentials, without calling the server.
// The caller logs it at startup; the user may fix the credentials later.
func (s *Store) CheckCredentials() error {
	_, err := s.options.Credentials.Principal()
	return err
}

// Close ends all streams and connections, and forgets the keys.
func (s *Store) Close() {
	s.lines.close()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for environment := range s.keys {
		s.forget(environment)
	}
}

// question names the environment of a request, and the principal that signs it.
type question struct {
	environment Environment
	principal   *Principal
}

func (s *Store) question(environment Environment) (question, error) {
	principal, err := s.options.Credentials.Principal()
	return question{environment, principal}, err
}

// call sends one signed request and waits for its response, until its timeout.
func call[Request proto.Message, Answer any](ctx context.Context, s *Store, q question, method string, request Request,
	send func(context.Context, Request, ...grpc.CallOption) (Answer, error),
) (answer Answer, err error) {
	signed, err := q.principal.sign(ctx, method, request, s.options.Now())
	if err != nil {
		return answer, s.problem(q, err)
	}
	limited, cancel := context.WithTimeout(signed, s.options.Timeout)
	defer cancel()
	var header, trailer metadata.MD
	answer, err = send(limited, request, grpc.Header(&header), grpc.Trailer(&trailer))
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, ctx.Err()
	}
	return answer, s.problem(q, err, header, trailer)
}
