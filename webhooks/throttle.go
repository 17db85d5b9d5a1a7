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
	// unthrottledTime is how long the policies of a tenant run for one review before they need a
	// turn, which most never do.
	unthrottledTime = 2 * time.Millisecond
	// slotLength is how long a review keeps a slot while others wait for one.
	slotLength = 5 * time.Millisecond
	// unthrottledBurst is the time without a slot that can be used in one burst: see allowance.
	unthrottledBurst = 50 * time.Millisecond
	// overrunPenalty is how many times the time beyond unthrottledTime counts for a tenant, if a
	// long call of a function exceeds it: otherwise, such calls would often run next to the slots.
	overrunPenalty = 8
	// tenantsAllowance and tenantAllowance are the time without slots that all tenants
	// together and one tenant may use, as parts of that with slots.
	tenantsAllowance, tenantAllowance = 1.0 / 4, 1.0 / 16
)

// throttle bounds how many CPUs the policies of all tenants use together, so that the policies
// of all others, and the enterprise, run as if these were fast: half of the CPUs in slots of
// a few milliseconds, and an eighth without, for reviews that take less than a slot. Tenants
// have the same time: the next slot is for the tenant that has used the least, with and
// without slots, calls of functions that outlast a slot included.
type throttle struct {
	mutex       sync.Mutex
	slots       int // in parallel
	free        int // of slots
	waiting     []*throttledReview
	tenants     map[string]*tenantUse
	active      map[*tenantUse]bool // those with reviews: at most as many as reviews are evaluated in parallel
	unthrottled allowance           // of all tenants
}

// tenantUse is the state of a tenant while others have reviews.
type tenantUse struct {
	reviews     int           // in progress
	used        time.Duration // by its policies, counted from the tenant that had used the least
	unthrottled allowance
}

// allowance is time that is used without slots. It is earned again at a rate.
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

func newThrottle(slots int) *throttle {
	return &throttle{slots: slots, free: slots, tenants: map[string]*tenantUse{}, active: map[*tenantUse]bool{}}
}

// throttledCPUs is half of the CPUs, and at least one.
func throttledCPUs() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// throttledReview is one review of a tenant. Its methods are called by one goroutine.
type throttledReview struct {
	throttle *throttle
	tenant   string
	of       *tenantUse // nil until a policy of a tenant is evaluated
	// since is when the time began that is not counted yet; zero between policies.
	since time.Time
	// left is how much of its slot, or of the time without one, the review has from then on.
	left   time.Duration
	holds  bool
	slot   chan struct{} // closed when it is its turn
	waited time.Duration
	gaveUp bool // the request's deadline passed while the review waited
	// slow is called before the review waits for its first slot. If it is false, the evaluation
	// ends, and the review is evaluated again later. nil is for none.
	slow    func() bool
	refused bool // slow was false
}

func (p *throttle) review(tenant string) *throttledReview {
	return &throttledReview{throttle: p, tenant: tenant}
}

// Wait implements engine.Pacer.
func (r *throttledReview) Wait(ctx context.Context, now time.Time) {
	switch {
	case r.of == nil:
		r.begin(now)
	case r.since.IsZero():
		r.since = now
	}
	if now.Sub(r.since) < r.left || r.refused {
		return
	}
	if r.slow != nil {
		if r.refused = !r.slow(); r.refused {
			return
		}
		r.slow = nil
	}
	waited := time.Duration(0)
	if !r.next(now) {
		select {
		case <-r.slot:
			r.holds = true
		case <-ctx.Done():
			r.leave()
			r.gaveUp = true
		}
		waited = time.Since(now)
		r.waited += waited
	}
	r.since, r.left = now.Add(waited), slotLength
}

// Pause implements engine.Pacer.
func (r *throttledReview) Pause(now time.Time) {
	if r.of == nil || r.since.IsZero() {
		return
	}
	r.throttle.mutex.Lock()
	defer r.throttle.mutex.Unlock()
	r.left = max(0, r.left-now.Sub(r.since))
	r.count(now)
	r.since = time.Time{}
}

// slowError is the error of an evaluation that ended because there are too many slow reviews. The
// review is evaluated again.
type slowError struct{}

func (slowError) Error() string { return "too many slow reviews are in progress" }

var errSlow error = slowError{}

// err is why the review cannot be decided: its policies have waited, and so lacked the time
// that they need. It is nil for all others.
func (r *throttledReview) err(ctx context.Context) error {
	if r != nil && r.refused {
		return errSlow
	}
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
func (r *throttledReview) begin(now time.Time) {
	p := r.throttle
	p.mutex.Lock()
	defer p.mutex.Unlock()
	r.since = now
	if r.of = p.tenants[r.tenant]; r.of == nil {
		r.of = &tenantUse{}
		p.tenants[r.tenant] = r.of
	}
	if r.of.reviews == 0 { // it saves no time while it has no reviews
		r.of.used = max(r.of.used, p.least())
		p.active[r.of] = true
	}
	r.of.reviews++
	rate := float64(p.slots)
	if p.unthrottled.now(now, rate*tenantsAllowance) < unthrottledBurst && r.of.unthrottled.now(now, rate*tenantAllowance) < unthrottledBurst {
		r.left = unthrottledTime
	}
}

// least is the least time that a tenant with reviews has used. The caller holds the mutex.
func (p *throttle) least() (used time.Duration) {
	first := true
	for of := range p.active {
		if first || of.used < used {
			used, first = of.used, false
		}
	}
	return used
}

// count adds the time since the last call. The caller holds the mutex.
func (r *throttledReview) count(now time.Time) {
	used := now.Sub(r.since)
	r.since = now
	r.of.used += used
	if !r.holds {
		rate := float64(r.throttle.slots)
		r.throttle.unthrottled.now(now, rate*tenantsAllowance)
		r.of.unthrottled.now(now, rate*tenantAllowance)
		r.throttle.unthrottled.used += used
		r.of.unthrottled.used += used + overrunPenalty*max(0, used-2*unthrottledTime)
	}
}

// next reports whether the review has a slot. Otherwise, it is in the queue for one.
func (r *throttledReview) next(now time.Time) bool {
	p := r.throttle
	p.mutex.Lock()
	defer p.mutex.Unlock()
	r.count(now)
	if r.holds {
		if len(p.waiting) == 0 {
			return true
		}
		p.free++
	}
	r.holds, r.slot = false, make(chan struct{})
	p.waiting = append(p.waiting, r)
	p.give()
	select {
	case <-r.slot:
		r.holds = true
	default:
	}
	return r.holds
}

// give gives the free slots to those who wait: first to the tenant with the least use.
// The caller holds the mutex.
func (p *throttle) give() {
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
		close(r.slot)
	}
}

// leave takes the review out of the queue, or gives its slot back.
func (r *throttledReview) leave() {
	p := r.throttle
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
func (r *throttledReview) end() {
	if r.of == nil {
		return
	}
	r.Pause(time.Now())
	if r.holds {
		r.leave()
	}
	p := r.throttle
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
func (p *throttle) forget(now time.Time) {
	for name, of := range p.tenants {
		of.used = 0
		if of.unthrottled.now(now, float64(p.slots)*tenantAllowance) == 0 {
			delete(p.tenants, name)
		}
	}
}

type throttleKey struct{}

// withThrottle is a context for the evaluation of a review.
func withThrottle(ctx context.Context, r *throttledReview) context.Context {
	return context.WithValue(ctx, throttleKey{}, r)
}

// throttleOf is the review of withThrottle; nil without one.
func throttleOf(ctx context.Context) *throttledReview {
	r, _ := ctx.Value(throttleKey{}).(*throttledReview)
	return r
}
