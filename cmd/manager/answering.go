package main

import (
	"context"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/webhooks"
)

// answering is the webhook server under a context of its own: it outlives the manager, which
// ends immediately if it loses its Lease.
type answering struct {
	server *webhooks.Server
	ctx    context.Context
	end    context.CancelFunc
	ended  chan error // gets one value, where the server was started
	// leave is for a manager that has ended by itself: callers get their time to notice.
	leave func()
}

func newAnswering(ctx context.Context, server *webhooks.Server, pause time.Duration) *answering {
	a := &answering{server: server, ended: make(chan error, 1)}
	a.ctx, a.end = context.WithCancel(context.WithoutCancel(ctx))
	a.leave = sync.OnceFunc(func() {
		drain(a.ctx, pause, server.Drain)
		a.end()
	})
	return a
}

// Start serves until end is called, or a while after the manager's own end, which waits
// for this one unless it has lost its Lease. It is a Runnable on every replica.
func (a *answering) Start(ctx context.Context) error {
	defer context.AfterFunc(ctx, a.leave)()
	err := a.server.Start(a.ctx)
	a.ended <- err
	return err
}

// wait returns when the running requests are answered. It comes after end.
func (a *answering) wait() error {
	if a.server.Address() == "" {
		return nil // it was never started
	}
	return <-a.ended
}

// drain announces the end, and returns after a pause, or when ctx ends. Meanwhile requests are
// answered and controllers continue where possible, so that a replica that still receives calls
// is never outdated; only /readyz fails, and deleted objects are not created again.
func drain(ctx context.Context, pause time.Duration, announce ...func()) {
	for _, tell := range announce {
		tell()
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}
