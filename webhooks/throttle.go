package webhooks

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

const (
	// unthrottledSteps is how much the policies of a tenant do for one review before they need a
	// slot, which most never do: about 2 ms.
	unthrottledSteps = 2 * definition.StepsPerMillisecond
	// slotSteps is how much a review does in a slot while others wait for one.
	slotSteps = 5 * definition.StepsPerMillisecond
	// allTenantsBurst and tenantBurst are the steps that all tenants together and one tenant may do
	// without slots in one burst: see allowance.
	allTenantsBurst, tenantBurst = 100 * definition.StepsPerMillisecond, 25 * definition.StepsPerMillisecond
	// lightBurst is how much of its burst a tenant may use if others have used up that of all.
	lightBurst = tenantBurst / 4
	// allTenantsAllowance and tenantAllowance are the parts of the steps in slots that they may do
	// without slots in the long run.
	allTenantsAllowance, tenantAllowance = 1.0 / 4, 1.0 / 16
)

// throttle bounds how many CPUs the policies of all tenants use together, so that the policies
// of all others, and the enterprise, run as if these were fast: half of the CPUs in slots of
// a few milliseconds, and an eighth without, for reviews that take less than a slot. Tenants
// have the same work: the next slot is for the tenant that has done the least, with and
// without slots. Work is counted in steps, not in time, so that a review is not taken for a slow
// one because it was not scheduled. A review waits before it calls a function
// that needs more steps than the review has left.
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
	reviews     int   // in progress
	used        int64 // steps of its policies, counted from the tenant that had done the least
	unthrottled allowance
}

// allowance are steps that are done without slots. They are earned again at a rate.
type allowance struct {
	used int64
	at   time.Time
}

// now is the used part of the allowance at a time. rate is a part of the steps of one CPU.
func (a *allowance) now(at time.Time, rate float64) int64 {
	if earned := int64(float64(at.Sub(a.at)) / float64(time.Millisecond) * float64(definition.StepsPerMillisecond) * rate); earned > 0 {
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
	// steps are those of the present policy, and uncounted those since the last call of count.
	steps, uncounted int64
	// reserved is the part of the allowances that is counted before it is used.
	reserved int64
	// left is how much of its slot, or of the work without one, the review has.
	left   int64
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
func (r *throttledReview) Wait(ctx context.Context, steps int64) {
	if r.of == nil {
		r.begin(time.Now())
	}
	r.work(steps)
	if r.left > 0 || r.refused {
		if steps > 0 {
			runtime.Gosched() // to reviews that are ready, instead of at the end of a time slice
		}
		return
	}
	if r.slow != nil {
		if r.refused = !r.slow(); r.refused {
			r.uncounted += min(r.left, 0) // the call is not made
			r.left = 0
			return
		}
		r.slow = nil
	}
	if !r.next() {
		now := time.Now()
		select {
		case <-r.slot:
			r.holds = true
		case <-ctx.Done():
			r.giveUp()
		}
		r.waited += time.Since(now)
	}
	r.left = slotSteps
}

// Done implements engine.Pacer.
func (r *throttledReview) Done(steps int64) {
	r.work(steps)
	r.steps = 0
}

// work takes steps from the rest, up to a number of them of the present policy.
func (r *throttledReview) work(steps int64) {
	done := steps - r.steps
	r.steps = steps
	r.uncounted += done
	r.left -= done
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
	all, own := p.unthrottled.now(now, rate*allTenantsAllowance), r.of.unthrottled.now(now, rate*tenantAllowance)
	if own < tenantBurst && all < allTenantsBurst || own < lightBurst && all < 2*allTenantsBurst {
		r.left = unthrottledSteps
		r.reserve(unthrottledSteps)
	}
}

// reserve adds steps to the used allowances. The caller holds the mutex.
func (r *throttledReview) reserve(steps int64) {
	r.reserved += steps
	for _, a := range []*allowance{&r.throttle.unthrottled, &r.of.unthrottled} {
		a.used = max(0, a.used+steps)
	}
}

// least is the least work that a tenant with reviews has done. The caller holds the mutex.
func (p *throttle) least() (used int64) {
	first := true
	for of := range p.active {
		if first || of.used < used {
			used, first = of.used, false
		}
	}
	return used
}

// count adds the work since the last call, of which some is still to be done, in a slot. The caller
// holds the mutex.
func (r *throttledReview) count(todo int64) {
	used := r.uncounted
	r.uncounted = 0
	r.of.used += used
	if !r.holds {
		r.reserve(used - todo - r.reserved)
		r.reserved = 0
	}
}

// next reports whether the review has a slot. Otherwise, it is in the queue for one.
func (r *throttledReview) next() bool {
	p := r.throttle
	p.mutex.Lock()
	defer p.mutex.Unlock()
	r.count(max(0, -r.left))
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

// give gives the free slots to those who wait: first to the tenant that has done the least.
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

// leave takes the review out of the queue, or gives its slot back. The caller holds the mutex.
func (r *throttledReview) leave() {
	p := r.throttle
	if i := slices.Index(p.waiting, r); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return
	}
	p.free++
	p.give()
	r.holds = false
}

// giveUp is called when the request's deadline passes while the review waits.
func (r *throttledReview) giveUp() {
	r.throttle.mutex.Lock()
	defer r.throttle.mutex.Unlock()
	r.leave()
	r.gaveUp = true
}

// end is called when the review is answered.
func (r *throttledReview) end() {
	if r.of == nil {
		return
	}
	p := r.throttle
	p.mutex.Lock()
	defer p.mutex.Unlock()
	r.count(0)
	if r.holds {
		r.leave()
	}
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
