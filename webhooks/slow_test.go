package webhooks

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// ofNamespaces is a Decider for which each namespace is a tenant.
type ofNamespaces struct{ decisions }

func (ofNamespaces) Tenant(review *admission.Review) string { return "team " + review.Namespace }

// inNamespace is a review of a Pod in a namespace.
func inNamespace(namespace string) string {
	return strings.NewReplacer(`"namespace":"shop"`, `"namespace":"`+namespace+`"`, `"namespace": "shop"`, `"namespace": "`+namespace+`"`).Replace(podRequest)
}

// newSlowFixture has policies that are slow in all namespaces but "fast", and no free slot. busy
// waits until so many of their evaluations wait for a slot.
func newSlowFixture(t *testing.T) (f fixture, busy func(waiting int), evaluated *sync.Map) {
	t.Helper()
	evaluated = &sync.Map{}
	f = newFixture(t, ofNamespaces{decisions{validate: func(ctx context.Context, review *admission.Review, options engine.Options) *engine.Decision {
		evaluated.Store(review.Namespace, true)
		options.Pacer.Wait(ctx, 0)
		steps := int64(unthrottledSteps / 2)
		if review.Namespace != "fast" {
			steps = unthrottledSteps
		}
		options.Pacer.Wait(ctx, steps)
		options.Pacer.Done(steps)
		return &engine.Decision{}
	}}}, nil)
	f.limiter, f.slow.limiter = newReviewLimiter(8), newReviewLimiter(5)
	f.throttle.free = 0
	return f, func(waiting int) {
		t.Helper()
		require.Eventually(t, func() bool {
			f.throttle.mutex.Lock()
			defer f.throttle.mutex.Unlock()
			return len(f.throttle.waiting) == waiting
		}, time.Minute, time.Millisecond)
	}, evaluated
}

// slowWaiting is the number of slow reviews that wait for a slot, or to be evaluated.
func (f fixture) slowWaiting() int {
	f.throttle.mutex.Lock()
	defer f.throttle.mutex.Unlock()
	f.slow.limiter.mutex.Lock()
	defer f.slow.limiter.mutex.Unlock()
	return len(f.throttle.waiting) + len(f.slow.limiter.waiting)
}

// freeSlot gives a slot to reviews that wait.
func (f fixture) freeSlot() {
	f.throttle.mutex.Lock()
	defer f.throttle.mutex.Unlock()
	f.throttle.free++
	f.throttle.give()
}

// TestSlowTenantsLeaveRoom: while several tenants have slow policies, however many reviews they
// send, another tenant and the enterprise have capacity at that moment, and each slow review is
// decided once it has its slot.
func TestSlowTenantsLeaveRoom(t *testing.T) {
	t.Parallel()
	f, _, _ := newSlowFixture(t)
	var slow sync.WaitGroup
	for _, namespace := range []string{"slow-a", "slow-b", "slow-c"} {
		for range 5 {
			slow.Go(func() {
				response := f.ask(t, "/validate/fail?timeout=30s", inNamespace(namespace))
				assert.True(t, response.Allowed, response.Result)
			})
		}
	}
	require.Eventually(t, func() bool { return f.slowWaiting() == 3*5 }, time.Minute, time.Millisecond)
	require.True(t, f.ask(t, "/validate/fail?timeout=10s", inNamespace("fast")).Allowed)
	f.limiter.mutex.Lock()
	require.Zero(t, f.limiter.used)
	f.limiter.mutex.Unlock()
	f.freeSlot()
	slow.Wait()
	require.Zero(t, f.slow.limiter.used)
	require.Zero(t, f.slow.bytes.Load())
	require.Equal(t, 1, f.throttle.free)
}

// TestTwoSlowTenantsLeaveSlowRoom for a tenant whose review takes a little longer than those that
// need no turn.
func TestTwoSlowTenantsLeaveSlowRoom(t *testing.T) {
	t.Parallel()
	for cpus := 2; cpus <= 64; cpus++ {
		l := newSlowReviews(slowRoom(cpus), 1).limiter
		for range 100 {
			l.tryEnter("team a")
		}
		for range 100 {
			l.tryEnter("team b")
		}
		require.True(t, l.tryEnter("team c"), "%d CPUs", cpus)
	}
}

// TestSlowReviewsLeaveBytes of the budget for bodies to others.
func TestSlowReviewsLeaveBytes(t *testing.T) {
	t.Parallel()
	f, busy, evaluated := newSlowFixture(t)
	f.slow.maxBytes = int64(3 * len(inNamespace("slow-a")) / 2)
	done := make(chan bool)
	go func() { done <- f.ask(t, "/validate/fail?timeout=30s", inNamespace("slow-a")).Allowed }()
	busy(1)
	response := f.ask(t, "/validate/fail?timeout=30s", inNamespace("slow-b"))
	require.EqualValues(t, http.StatusTooManyRequests, response.Result.Code)
	require.EqualValues(t, 1, response.Result.Details.RetryAfterSeconds)
	require.Contains(t, response.Result.Message, "wait for those of other reviews; retry")
	_, started := evaluated.Load("slow-b")
	require.True(t, started, "it was not known to be slow")
	require.True(t, f.ask(t, "/validate/fail?timeout=30s", inNamespace("fast")).Allowed)
	f.freeSlot()
	require.True(t, <-done)
	require.Zero(t, f.slow.bytes.Load())
}

// TestSlowReviewsGiveUp with the request that they belong to.
func TestSlowReviewsGiveUp(t *testing.T) {
	t.Parallel()
	f, busy, _ := newSlowFixture(t)
	f.slow.limiter = newReviewLimiter(2)
	first := make(chan bool)
	for _, namespace := range []string{"slow-a", "slow-b"} {
		go func() { first <- f.ask(t, "/validate/fail?timeout=30s", inNamespace(namespace)).Allowed }()
	}
	busy(2)
	response := f.ask(t, "/validate/fail?timeout=100ms", inNamespace("slow-c"))
	require.EqualValues(t, http.StatusTooManyRequests, response.Result.Code)
	f.freeSlot()
	require.True(t, <-first)
	require.True(t, <-first)
	require.Zero(t, f.slow.limiter.used)
	require.Zero(t, f.slow.bytes.Load())
}

// TestLongCallsNeedASlot: a review waits for a slot before it calls a function that takes more steps
// than the review may do without one.
func TestLongCallsNeedASlot(t *testing.T) {
	t.Parallel()
	p := newThrottle(1)
	r := p.review("team a")
	r.Wait(t.Context(), 0)
	require.False(t, r.holds)
	r.Wait(t.Context(), 100*unthrottledSteps)
	require.True(t, r.holds)
	require.EqualValues(t, unthrottledSteps, p.unthrottled.used)
	require.EqualValues(t, unthrottledSteps, r.of.unthrottled.used)
	require.EqualValues(t, 100*unthrottledSteps, r.of.used)
	r.Done(101 * unthrottledSteps)
	r.end()
	require.EqualValues(t, unthrottledSteps, p.unthrottled.used)
	require.Equal(t, 1, p.free)
}

// TestLateWorkIsCounted: what a policy did without a slot after its last look is not forgotten.
func TestLateWorkIsCounted(t *testing.T) {
	t.Parallel()
	p := newThrottle(1)
	r := p.review("team a")
	r.Wait(t.Context(), 0)
	r.Done(100 * unthrottledSteps)
	r.end()
	require.Greater(t, p.tenants["team a"].unthrottled.used, int64(99*unthrottledSteps), "some is earned again at once")
}
