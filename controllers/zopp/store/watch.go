package store

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// drainGrace is how long a stream may end by itself when its connection does.
const drainGrace = 50 * time.Millisecond

// drainCheck is the interval of stream checks, in addition to those after changes of the
// connection.
const drainCheck = time.Second

// Watch is a stream of changes. A server may silently drop changes: it buffers at most a hundred
// for a slow reader.
type Watch struct {
	store *Store
	asked question
	// ctx is the caller's; cancel ends the stream.
	ctx    context.Context
	cancel context.CancelFunc
	on     *pooledConnection
	stream grpc.ServerStreamingClient[wire.WatchSecretsResponse]
	// late reports that the server has not accepted the stream in time, and drained that it
	// accepts no more calls on this connection.
	late, drained atomic.Bool
}

// Watch subscribes to the changes of an environment. It returns once the server has
// accepted, so that a List after it misses nothing. The context ends the stream. Its error
// is an *Error, unless the context is done.
func (s *Store) Watch(ctx context.Context, environment Environment) (*Watch, error) {
	q, err := s.question(environment)
	if err != nil {
		return nil, err
	}
	request := &wire.WatchSecretsRequest{
		WorkspaceName: environment.Workspace, ProjectName: environment.Project, EnvironmentName: environment.Name,
	}
	signed, err := q.principal.sign(ctx, wire.ZoppService_WatchSecrets_FullMethodName, request, s.options.Now())
	if err != nil {
		return nil, s.problem(q, err)
	}
	timeout, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	on, err := s.lines.take(timeout)
	if err != nil {
		return nil, err
	}
	w := &Watch{store: s, asked: q, ctx: ctx, on: on}
	signed, w.cancel = context.WithCancel(signed)
	context.AfterFunc(signed, func() { s.lines.leave(on) })
	if err := w.open(signed, on, request); err != nil {
		w.cancel()
		return nil, err
	}
	if transport, ok := peer.FromContext(w.stream.Context()); ok && transport.LocalAddr != nil {
		go w.endWith(signed, on, transport.LocalAddr.String())
	}
	return w, nil
}

// endWith ends the stream when new calls would no longer be on its transport. A server that
// shuts down sends GOAWAY, and may leave its streams open without sending any change.
// Streams of a transport that breaks end by themselves, with a reason. local is the
// transport's address: the connection may have left Ready and be Ready again already.
func (w *Watch) endWith(ctx context.Context, on *pooledConnection, local string) {
	for on.carries(local) {
		// A transport that is replaced before the call below is noticed in the next round.
		round, cancel := context.WithTimeout(ctx, drainCheck)
		on.connection.WaitForStateChange(round, connectivity.Ready)
		cancel()
		if ctx.Err() != nil {
			return
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(drainGrace):
		w.drained.Store(true)
		w.cancel()
	}
}

// open waits for the headers, which a server sends once it has subscribed.
func (w *Watch) open(ctx context.Context, on *pooledConnection, request *wire.WatchSecretsRequest) (err error) {
	timer := time.AfterFunc(w.store.options.Timeout, func() {
		w.late.Store(true)
		w.cancel()
	})
	defer timer.Stop()
	if w.stream, err = wire.NewZoppServiceClient(on.connection).WatchSecrets(ctx, request); err != nil {
		return w.problem(err)
	}
	header, err := w.stream.Header()
	if err == nil && header == nil { // it was refused, and only a read returns the reason
		_, err = w.stream.Recv()
	}
	if err != nil {
		return w.problem(err)
	}
	return nil
}

// Next waits for the next change. Its error, after which there is no other, is an *Error,
// unless the context is done.
func (w *Watch) Next() (Event, error) {
	response, err := w.stream.Recv()
	if err != nil {
		defer w.cancel()
		return Event{}, w.problem(err)
	}
	return read(response), nil
}

// read converts a response to an event. An unknown type may be any change.
func read(response *wire.WatchSecretsResponse) Event {
	event := response.GetEvent()
	if event == nil {
		return Event{Type: Resync, Version: response.GetResync().GetCurrentVersion()}
	}
	known, there := eventTypes[event.GetEventType()]
	if !there {
		return Event{Type: Resync, Version: event.GetVersion()}
	}
	return Event{Type: known, Key: event.GetKey(), Version: event.GetVersion()}
}

var eventTypes = map[wire.SecretChangeEvent_EventType]EventType{
	wire.SecretChangeEvent_CREATED: Created,
	wire.SecretChangeEvent_UPDATED: Updated,
	wire.SecretChangeEvent_DELETED: Deleted,
}

// Close ends the stream.
func (w *Watch) Close() { w.cancel() }

func (w *Watch) problem(err error) error {
	switch {
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case w.late.Load():
		return w.store.problem(w.asked, context.DeadlineExceeded)
	case w.drained.Load() && status.Code(err) == codes.Canceled:
		return &Error{Reason: ReasonEnded, Message: "the zopp server accepts no more calls on this connection, as during a shutdown: the stream of changes of " + w.asked.environment.String() + " is opened again", Cause: err}
	case w.on.replaced.Load() && status.Code(err) == codes.Canceled:
		return &Error{Reason: ReasonEnded, Message: "the zopp server no longer answers on its connection, and answers on a new one: the stream of changes of " + w.asked.environment.String() + " is opened again", Cause: err}
	case errors.Is(err, io.EOF):
		return &Error{Reason: ReasonEnded, Message: "the zopp server has ended the stream of changes of " + w.asked.environment.String(), Cause: err}
	}
	if w.stream == nil { // there is no connection
		return w.store.problem(w.asked, err)
	}
	header, _ := w.stream.Header()
	return w.store.problem(w.asked, err, header, w.stream.Trailer())
}
