package zopp

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// heartbeat is the time between two checks of the server, while environments are in use.
	heartbeat = time.Second
	// probeInterval is the time between two attempts to reach a server that does not answer.
	// An attempt can hang, so several run at the same time.
	probeInterval = 500 * time.Millisecond
	probesAtOnce  = 10
	// recoverySpacing is the least time between two recoveries, so that one environment that
	// cannot be read does not hurry the others all the time.
	recoverySpacing = time.Second
)

// outage tracks whether the server answers. Its recovery ends the backoff of all followers,
// which would otherwise each wait for their own next attempt.
type outage struct {
	server server
	// recovered is called when a server answers again that did not.
	recovered func()

	unreachable atomic.Bool
	noticed     chan struct{} // has an element after away was set
	recoveries  atomic.Uint64

	mutex sync.Mutex
	last  time.Time // of the last recovery
}

func newOutage(server server, recovered func()) *outage {
	return &outage{server: server, recovered: recovered, noticed: make(chan struct{}, 1)}
}

// begin records that the server has not answered a call. recoveries is their number before the
// call: a failure on a connection that was replaced says nothing about the new one.
func (o *outage) begin(recoveries uint64) {
	if o.recoveries.Load() != recoveries {
		return
	}
	o.unreachable.Store(true)
	select {
	case o.noticed <- struct{}{}:
	default:
	}
}

// end notes that the server has answered.
func (o *outage) end() {
	if !o.unreachable.Load() {
		return
	}
	o.mutex.Lock()
	due := time.Since(o.last) >= recoverySpacing && o.unreachable.Swap(false)
	if due {
		o.last = time.Now()
		o.recoveries.Add(1)
	}
	o.mutex.Unlock()
	if due {
		o.recovered()
	}
}

// watch checks the server until the context is done.
func (o *outage) watch(ctx context.Context, inUse func() bool) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.noticed:
		case <-ticker.C:
		}
		if !inUse() {
			continue
		}
		if !o.unreachable.Load() {
			recoveries := o.recoveries.Load()
			err := o.server.Check(ctx)
			if err == nil || ctx.Err() != nil {
				continue
			}
			log.FromContext(ctx).Info("the zopp server does not answer", "reason", err.Error())
			o.begin(recoveries)
		}
		o.probe(ctx)
	}
}

// probe returns when the server answers.
func (o *outage) probe(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	slots := make(chan struct{}, probesAtOnce)
	for o.unreachable.Load() && ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
			running.Go(func() {
				defer func() { <-slots }()
				if o.server.Reconnect(ctx) == nil {
					o.end()
				}
			})
		default:
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
