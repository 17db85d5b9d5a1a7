package webhooks

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// paceAfter is how long the policies of a tenant run for one review before they need a
	// turn, which most never do.
	paceAfter = 2 * time.Millisecond
	// turnLength is how long a review keeps a turn while others wait for one.
	turnLength = 5 * time.Millisecond
)

// pacing bounds how many CPUs the slow policies of all tenants use together: half of them, so
// that the policies of all others, and the enterprise, run as if these were fast. Reviews take
// turns of a few milliseconds, and tenants have the same number of turns.
type pacing struct {
	mutex   sync.Mutex
	free    int
	waiting []*paced          // in the order in which they came
	served  map[string]uint64 // by tenant: the number of its latest turn
	turns   uint64            // that were given
}

func newPacing(turns int) *pacing {
	return &pacing{free: turns, served: map[string]uint64{}}
}

// pacedCPUs is half of the CPUs, and at least one.
func pacedCPUs() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// paced is one review of a tenant. Its methods are called by one goroutine.
type paced struct {
	pacing *pacing
	tenant string
	since  time.Time // when its policies, or its turn, began
	holds  bool
	turn   chan struct{} // closed when it is its turn
}

func (p *pacing) review(tenant string) *paced { return &paced{pacing: p, tenant: tenant} }

// wait waits for a turn if the policies of the review have run for paceAfter, and for the next
// turn if others wait and this one is over. It returns how long it waited; it stops waiting when
// the context is done.
func (r *paced) wait(ctx context.Context, now time.Time) (waited time.Duration) {
	switch {
	case r.since.IsZero():
		r.since = now
		return 0
	case !r.holds && now.Sub(r.since) < paceAfter, r.holds && now.Sub(r.since) < turnLength:
		return 0
	}
	if r.next() {
		r.since = now
		return 0
	}
	select {
	case <-r.turn:
		r.holds = true
	case <-ctx.Done():
		r.leave()
	}
	r.since = time.Now()
	return r.since.Sub(now)
}

// next reports whether the review has a turn. Otherwise, it is in the queue for one.
func (r *paced) next() bool {
	p := r.pacing
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if r.holds {
		if len(p.waiting) == 0 {
			return true
		}
		p.free++
	}
	r.holds, r.turn = false, make(chan struct{})
	p.waiting = append(p.waiting, r)
	p.give()
	select {
	case <-r.turn:
		r.holds = true
	default:
	}
	return r.holds
}

// give gives the free turns to those who wait: first to the tenant whose latest turn is the
// longest ago. The caller holds the mutex.
func (p *pacing) give() {
	for p.free > 0 && len(p.waiting) > 0 {
		first := 0
		for i, r := range p.waiting {
			if p.served[r.tenant] < p.served[p.waiting[first].tenant] {
				first = i
			}
		}
		r := p.waiting[first]
		p.waiting = slices.Delete(p.waiting, first, first+1)
		p.free--
		p.turns++
		p.served[r.tenant] = p.turns
		close(r.turn)
	}
}

// leave takes the review out of the queue, or gives its turn back.
func (r *paced) leave() {
	p := r.pacing
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if i := slices.Index(p.waiting, r); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return
	}
	p.free++
	p.give()
	if len(p.waiting) == 0 {
		clear(p.served)
	}
	r.holds = false
}

// end is called when the review is answered.
func (r *paced) end() {
	if r.holds {
		r.leave()
	}
}

type pacedKey struct{}

// withPace is a context for the evaluation of a review.
func withPace(ctx context.Context, r *paced) context.Context {
	return context.WithValue(ctx, pacedKey{}, r)
}

// paceOf is the function of withPace; nil without one.
func paceOf(ctx context.Context) func(context.Context, time.Time) time.Duration {
	if r, ok := ctx.Value(pacedKey{}).(*paced); ok {
		return r.wait
	}
	return nil
}
