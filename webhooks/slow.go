package webhooks

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/lintel-policy/lintel/policies/admission"
)

// slowReviews are the reviews of tenants whose policies wait for slots of the throttle. They have
// their own capacity, so that they leave that of the reviewLimiter to all others.
type slowReviews struct {
	limiter *reviewLimiter
	// bytes are those of the bodies of slow reviews, in progress and waiting, and maxBytes is their
	// limit, so that there is a part of the budget of bodies that they cannot use.
	bytes    atomic.Int64
	maxBytes int64
}

// slowRoom is the number of slow reviews that are evaluated in parallel. Their policies use half of
// the CPUs, so more would only be slower.
func slowRoom(cpus int) int { return reviewsPerCPU*cpus/2 + 1 }

func newSlowReviews(room int, maxBytes int64) *slowReviews {
	return &slowReviews{limiter: newReviewLimiter(room), maxBytes: maxBytes}
}

// reserve takes a part of the bytes, if there is one.
func (s *slowReviews) reserve(size int64) bool {
	if s.bytes.Add(size) > s.maxBytes {
		s.bytes.Add(-size)
		return false
	}
	return true
}

func (s *slowReviews) release(size int64) { s.bytes.Add(-size) }

// tooManyReviews is admission.ErrBusy for a review that does not come to be evaluated.
type tooManyReviews struct{}

func (*tooManyReviews) Error() string {
	return "Lintel is at its limit of concurrent reviews; retry"
}

func (*tooManyReviews) Unwrap() error { return admission.ErrBusy }

// evaluate evaluates a review whose body has a size, as soon as there is capacity for it. The
// review of a tenant that proves to be slow gives its capacity to others. If there is no capacity
// for another slow one, its evaluation ends, and starts again when there is.
func (h *Handler) evaluate(ctx context.Context, served *entry, review *admission.Review, size int64) (*answer, error) {
	tenant, limiter := h.tenant(served, review), h.limiter
	if served.slow {
		limiter = h.slowEntries
	}
	leave, err := limiter.enter(ctx, tenant)
	if err != nil {
		return nil, &tooManyReviews{}
	}
	if tenant == "" {
		defer leave()
		return h.attempt(ctx, served, review)
	}
	return h.evaluateOf(ctx, tenant, served, review, size, leave)
}

// evaluateOf is evaluate for the review of a tenant, which has capacity until leave is called.
func (h *Handler) evaluateOf(ctx context.Context, tenant string, served *entry, review *admission.Review, size int64, leave func()) (*answer, error) {
	moved := false
	attempt, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := h.attemptThrottled(attempt, served, review, tenant, func() bool {
		if !h.slow.reserve(size) {
			cancel()
			return false
		}
		if !h.slow.limiter.tryEnter(tenant) {
			h.slow.release(size)
			cancel()
			return false
		}
		moved = true
		leave()
		return true
	})
	if moved {
		h.slow.limiter.leave(tenant)
		h.slow.release(size)
	} else {
		leave()
	}
	if !errors.Is(err, errSlow) {
		return a, err
	}
	if !h.slow.reserve(size) {
		return nil, &busyError{}
	}
	defer h.slow.release(size)
	leaveSlow, err := h.slow.limiter.enter(ctx, tenant)
	if err != nil {
		return nil, &busyError{}
	}
	defer leaveSlow()
	return h.attemptThrottled(ctx, served, review, tenant, nil)
}

// tenant is the tenant that a review counts for, so that it cannot take the capacity of others:
// "" for a review of no tenant.
func (h *Handler) tenant(served *entry, review *admission.Review) string {
	if served.slow {
		return "namespace " + review.Namespace
	}
	if decider := h.current(); decider != nil {
		return decider.Tenant(review)
	}
	return ""
}

// attemptThrottled evaluates a review of a tenant.
func (h *Handler) attemptThrottled(ctx context.Context, served *entry, review *admission.Review, tenant string, slow func() bool) (*answer, error) {
	paced := h.throttle.review(tenant)
	paced.slow = slow
	defer paced.end()
	return h.attempt(withThrottle(ctx, paced), served, review)
}

func (h *Handler) attempt(ctx context.Context, served *entry, review *admission.Review) (a *answer, err error) {
	err = h.recovering(served, func() (err error) {
		a, err = served.evaluate(ctx, review)
		return err
	})
	return a, err
}
