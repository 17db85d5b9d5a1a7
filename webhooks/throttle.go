package webhooks

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
)

const (
	// paceAfter is how long the policies of a tenant run for one review before they need a
	// turn, which most never do.
	paceAfter = 2 * time.Millisecond
	// turnLength is how long a review keeps a turn while others wait for one.
	turnLength = 5 * time.Millisecond
	// paceBurst is the time without a turn that can be used in one burst: see allowance.
	paceBurst = 50 * time.Millisecond
	// tenantsAllowance and tenantAllowance are the time without turns that all tenants
	// together and one tenant may use, as parts of that with turns.
	tenantsAllowance, tenantAllowance = 1.0 / 4, 1.0 / 16
)

// pacing bounds how many CPUs the policies of all tenants use together, so that the policies
// of all others, and the enterprise, run as if these were fast: half of the CPUs in turns of
// a few milliseconds, and an eighth without, for reviews that take less than a turn. Tenants
// have the same time: the next turn is for the tenant that has used the least, with and
// without turns, calls of functions that outlast a turn included.
type pacing struct {
	mutex   sync.Mutex
	turns   int // at once
	free    int // of turns
	waiting []*paced
	tenants map[string]*paceOf
	active  map[*paceOf]bool // those with reviews: at most as many as reviews are evaluated in parallel
	unpaced allowance        // of all tenants
}

// paceOf is the state of a tenant while others have reviews.
type paceOf struct {
	reviews int           // in progress
	used    time.Duration // by its policies, counted from the tenant that had used the least
	unpaced allowance
}

// allowance is time that is used without turns. It is earned again at a rate.
type allowance struct {
	used time.Duration
	at   time.Time
}

// now is the used part of the allowance at a time.
func (a *allowance) now(at time.Time, rate float64) time.Duration {
	if earned := time.Duration(float64(at.Sub(a.at)) * rate); earned > 0 {
		a.used, a.at = max(0, a.used-earned), at
	}
	return a.used
}

func newPacing(turns int) *pacing {
	return &pacing{turns: turns, free: turns, tenants: map[string]*paceOf{}, active: map[*paceOf]bool{}}
}

// pacedCPUs is half of the CPUs, and at least one.
func pacedCPUs() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// paced is one review of a tenant. Its methods are called by one goroutine.
type paced struct {
	pacing *pacing
	tenant string
	of     *paceOf // nil until a policy of a tenant is evaluated
	// since is when the time began that is not counted yet; zero between policies.
	since time.Time
	// left is how much of its turn, or of the time without one, the review has from then on.
	left   time.Duration
	holds  bool
	turn   chan struct{} // closed when it is its turn
	waited time.Duration
	gaveUp bool // the request's deadline passed while the review waited
}

func (p *pacing) review(tenant string) *paced { return &paced{pacing: p, tenant: tenant} }

// Wait implements engine.Pacer.
func (r *paced) Wait(ctx context.Context, now time.Time) (waited time.Duration) {
	switch {
	case r.of == nil:
		r.begin(now)
	case r.since.IsZero():
		r.since = now
	}
	if now.Sub(r.since) < r.left {
		return 0
	}
	if !r.next(now) {
		select {
		case <-r.turn:
			r.holds = true
		case <-ctx.Done():
			r.leave()
			r.gaveUp = true
		}
		waited = time.Since(now)
		r.waited += waited
	}
	r.since, r.left = now.Add(waited), turnLength
	return waited
}

// Pause implements engine.Pacer.
func (r *paced) Pause(now time.Time) {
	if r.of == nil || r.since.IsZero() {
		return
	}
	r.pacing.mutex.Lock()
	defer r.pacing.mutex.Unlock()
	r.left = max(0, r.left-now.Sub(r.since))
	r.count(now)
	r.since = time.Time{}
}

// err is why the review cannot be decided: its policies have waited, and so lacked the time
// that they need. It is nil for all others.
func (r *paced) err(ctx context.Context) error {
	if r != nil && (r.gaveUp || r.waited > 0 && ctx.Err() != nil) {
		return &busyError{}
	}
	return nil
}

// busyError is admission.ErrBusy for policies that waited for other reviews.
type busyError struct{}

func (*busyError) Error() string {
	return "the policies of this namespace wait for those of other reviews; retry"
}

func (*busyError) Unwrap() error { return admission.ErrBusy }

// begin is called for the first policy.
func (r *paced) begin(now time.Time) {
	p := r.pacing
	p.mutex.Lock()
	defer p.mutex.Unlock()
	r.since = now
	if r.of = p.tenants[r.tenant]; r.of == nil {
		r.of = &paceOf{}
		p.tenants[r.tenant] = r.of
	}
	if r.of.reviews == 0 { // it saves no time while it has no reviews
		r.of.used = max(r.of.used, p.least())
		p.active[r.of] = true
	}
	r.of.reviews++
	rate := float64(p.turns)
	if p.unpaced.now(now, rate*tenantsAllowance) < paceBurst && r.of.unpaced.now(now, rate*tenantAllowance) < paceBurst {
		r.left = paceAfter
	}
}

// least is the least time that a tenant with reviews has used. The caller holds the mutex.
func (p *pacing) least() (used time.Duration) {
	first := true
	for of := range p.active {
		if first || of.used < used {
			used, first = of.used, false
		}
	}
	return used
}

// count adds the time since the last call. The caller holds the mutex.
func (r *paced) count(now time.Time) {
	used := now.Sub(r.since)
	r.since = now
	r.of.used += used
	if !r.holds {
		rate := float64(r.pacing.turns)
		r.pacing.unpaced.now(now, rate*tenantsAllowance)
		r.of.unpaced.now(now, rate*tenantAllowance)
		r.pacing.unpaced.used += used
		r.of.unpaced.used += used
	}
}

// next reports whether the review has a turn. Otherwise, it is in the queue for one.
func (r *paced) next(now time.Time) bool {
	p := r.pacing
	p.mutex.Lock()
	defer p.mutex.Unlock()
	r.count(now)
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

// give gives the free turns to those who wait: first to the tenant that has used the least.
// The caller holds the mutex.
func (p *pacing) give() {
	for p.free > 0 && len(p.waiting) > 0 {
		first := 0
		for i, r := range p.waiting {
			if r.of.used < p.waiting[first].of.used {
				first = i
			}
		}
		r := p.waiting[first]
		p.waiting = slices.Delete(p.waiting, first, first+1)
		p.free--
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
	r.holds = false
}

// end is called when the review is answered.
func (r *paced) end() {
	if r.of == nil {
		return
	}
	r.Pause(time.Now())
	if r.holds {
		r.leave()
	}
	p := r.pacing
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if r.of.reviews--; r.of.reviews > 0 {
		return
	}
	delete(p.active, r.of)
	if len(p.active) == 0 {
		p.forget(time.Now())
	}
}

// forget drops the state of all tenants when none has reviews: there is nothing to share then.
// The caller holds the mutex.
func (p *pacing) forget(now time.Time) {
	for name, of := range p.tenants {
		of.used = 0
		if of.unpaced.now(now, float64(p.turns)*tenantAllowance) == 0 {
			delete(p.tenants, name)
		}
	}
}

type pacedKey struct{}

// withPace is a context for the evaluation of a review.
func withPace(ctx context.Context, r *paced) context.Context {
	return context.WithValue(ctx, pacedKey{}, r)
}

// pacedBy is the review of withPace; nil without one.
func pacedBy(ctx context.Context) *paced {
	r, _ := ctx.Value(pacedKey{}).(*paced)
	return r
}
