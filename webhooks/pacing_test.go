package webhooks

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTenantsHaveAsManyTurns whatever the number of their reviews is, and no more run at once
// than there are turns.
func TestTenantsHaveAsManyTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacing(2)
		ctx, cancel := context.WithCancel(t.Context())
		var reviews sync.WaitGroup
		var mutex sync.Mutex
		running, most := 0, 0
		slices := map[string]int{}
		for _, tenant := range []string{"a", "a", "a", "a", "a", "a", "b", "c"} {
			reviews.Go(func() {
				r := p.review(tenant)
				defer r.end()
				r.wait(ctx, time.Now())
				time.Sleep(paceAfter)
				for ctx.Err() == nil {
					r.wait(ctx, time.Now())
					if ctx.Err() != nil {
						return
					}
					mutex.Lock()
					running++
					most = max(most, running)
					slices[tenant]++
					mutex.Unlock()
					time.Sleep(turnLength)
					mutex.Lock()
					running--
					mutex.Unlock()
				}
			})
		}
		time.Sleep(300*turnLength + turnLength/2)
		cancel()
		reviews.Wait()
		require.Equal(t, 2, most)
		for _, tenant := range []string{"a", "b", "c"} {
			require.InDelta(t, 200, slices[tenant], 10, "%v", slices)
		}
		require.Equal(t, 2, p.free)
		require.Empty(t, p.waiting)
		require.Empty(t, p.served)
	})
}

// TestFastReviewsNeedNoTurn, and what is waited for is reported.
func TestFastReviewsNeedNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacing(1)
		slow := p.review("slow")
		slow.wait(t.Context(), time.Now())
		time.Sleep(paceAfter)
		require.Zero(t, slow.wait(t.Context(), time.Now()))
		require.True(t, slow.holds)
		time.Sleep(10 * turnLength)
		require.Zero(t, slow.wait(t.Context(), time.Now()), "no other review waits")

		fast := p.review("fast")
		fast.wait(t.Context(), time.Now())
		time.Sleep(paceAfter / 2)
		require.Zero(t, fast.wait(t.Context(), time.Now()))
		fast.end()
		require.True(t, slow.holds)

		other := p.review("slow")
		other.wait(t.Context(), time.Now())
		time.Sleep(paceAfter)
		go func() {
			time.Sleep(3 * turnLength)
			slow.end()
		}()
		require.Equal(t, 3*turnLength, other.wait(t.Context(), time.Now()))
		ctx, cancel := context.WithTimeout(t.Context(), turnLength)
		defer cancel()
		late := p.review("slow")
		late.wait(ctx, time.Now())
		time.Sleep(paceAfter)
		late.wait(ctx, time.Now())
		require.False(t, late.holds, "its request has ended")
		other.end()
		require.Equal(t, 1, p.free)
		require.Empty(t, p.waiting)
	})
}
