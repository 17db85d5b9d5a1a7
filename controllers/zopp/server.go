package zopp

import (
	"context"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
)

// server is the interface of the hub to a zopp server: a *store.Store.
type server interface {
	List(context.Context, store.Environment) (*store.Contents, error)
	Watch(context.Context, store.Environment) (stream, error)
	// Identify returns the ID of an environment.
	Identify(context.Context, store.Environment) (string, error)
	// Check returns an error if the server does not answer.
	Check(context.Context) error
	// Reconnect returns nil once the server answers, and replaces connections on which it does not.
	Reconnect(context.Context) error
	// Forget drops the keys of an environment that is no longer in use.
	Forget(store.Environment)
}

// stream is a *store.Watch.
type stream interface {
	Next() (store.Event, error)
	Close()
}

// reader adapts a store to the hub.
type reader struct{ *store.Store }

// Watch implements server.
func (r reader) Watch(ctx context.Context, environment store.Environment) (stream, error) {
	return r.Store.Watch(ctx, environment)
}
