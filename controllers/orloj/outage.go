package orloj

import (
	"sync/atomic"
	"time"

	"github.com/lintel-policy/lintel/controllers/orloj/store"
)

// outage records whether the store is available. During an outage, only the keeper that waits
// for the store tries to use it.
type outage struct {
	problem atomic.Pointer[store.Problem]
	metrics *metrics
}

// now returns why the store cannot be used: nil if it can.
func (o *outage) now() *store.Problem { return o.problem.Load() }

// begin records a problem of the whole store.
func (o *outage) begin(problem *store.Problem) {
	if problem.Reason == store.ReasonUnavailable {
		o.problem.Store(problem)
		o.metrics.up.Set(0)
	}
}

func (o *outage) end() {
	o.problem.Store(nil)
	o.metrics.up.Set(1)
}

const (
	// probeInterval is the interval of pings of an unavailable store.
	probeInterval = time.Second
	// waitInterval is how often an object checks whether the store is available again.
	waitInterval = 2 * time.Second
	// schemaInterval is how often an object checks whether its table exists.
	schemaInterval = 10 * time.Second
)
