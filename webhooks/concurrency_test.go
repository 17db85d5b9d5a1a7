package webhooks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// enterTwice admits two reviews of a tenant, which are in progress until they leave.
func enterTwice(t *testing.T, l *reviewLimiter, tenant string) (leave []func()) {
	t.Helper()
	for range 2 {
		out, err := l.enter(t.Context(), tenant)
		require.NoError(t, err)
		leave = append(leave, out)
	}
	return leave
}

func TestATenantHoldsHalfOfTheRoom(t *testing.T) {
	l := newReviewLimiter(4)
	leave := enterTwice(t, l, "team a")
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := l.enter(short, "team a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, tenant := range []string{"team b", ""} {
		out, err := l.enter(t.Context(), tenant)
		require.NoError(t, err, "others have room")
		leave = append(leave, out)
	}
	for _, out := range leave {
		out()
	}
	for range 4 {
		_, err = l.enter(t.Context(), "")
		require.NoError(t, err, "what was given back is there")
	}
}

// TestManyTenantsLeaveRoom, such as those of a team with a scope for each of its namespaces.
func TestManyTenantsLeaveRoom(t *testing.T) {
	l := newReviewLimiter(8)
	var leave []func()
	for i := range 6 {
		out, err := l.enter(t.Context(), fmt.Sprint("user ", i))
		require.NoError(t, err)
		leave = append(leave, out)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := l.enter(short, "user 6")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for range 2 {
		_, err := l.enter(t.Context(), "")
		require.NoError(t, err)
	}
	leave[0]()
	_, err = l.enter(t.Context(), "user 6")
	require.NoError(t, err)
}

// TestTenantsTogetherLeaveRoom: while tenants have slow policies, there is capacity for reviews
// of no tenant.
func TestTenantsTogetherLeaveRoom(t *testing.T) {
	l := newReviewLimiter(8)
	slow := map[string]int{}
	for range 8 {
		for _, tenant := range []string{"team a", "team b"} {
			short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := l.enter(short, tenant); err == nil {
				slow[tenant]++
			}
			cancel()
		}
	}
	require.Equal(t, map[string]int{"team a": 2, "team b": 2}, slow)
	for _, tenant := range []string{"team c", "", "team d", ""} {
		_, err := l.enter(t.Context(), tenant)
		require.NoError(t, err)
	}
	require.Empty(t, l.waiting)
}

// TestWhoWaitsLongestEntersFirst where there is room for it.
func TestWhoWaitsLongestEntersFirst(t *testing.T) {
	l := newReviewLimiter(2)
	leave, err := l.enter(t.Context(), "team a")
	require.NoError(t, err)
	entered := make(chan string)
	for i, tenant := range []string{"team a", "team a", "team b"} {
		go func() {
			out, err := l.enter(t.Context(), tenant)
			assert.NoError(t, err)
			entered <- tenant
			out()
		}()
		if i < 2 {
			require.Eventually(t, func() bool {
				l.mutex.Lock()
				defer l.mutex.Unlock()
				return len(l.waiting) == i+1
			}, time.Minute, time.Millisecond)
		}
	}
	require.Equal(t, "team b", <-entered, "team a has its part")
	leave()
	require.Equal(t, []string{"team a", "team a"}, []string{<-entered, <-entered})
}

// TestWhoWaitsInVainHoldsNoRoom of the tenant.
func TestWhoWaitsInVainHoldsNoRoom(t *testing.T) {
	l := newReviewLimiter(2)
	leave := enterTwice(t, l, "")
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := l.enter(short, "team a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, out := range leave {
		out()
	}
	long, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err = l.enter(long, "team a")
	require.NoError(t, err)
}

// TestTenantsWithFewReviewsEnterFirst, however many reviews of another tenant have waited longer.
func TestTenantsWithFewReviewsEnterFirst(t *testing.T) {
	l := newReviewLimiter(8)
	leave := map[string][]func(){}
	for _, tenant := range []string{"team a", "team b", "team a", "team b", "team d", "team e"} {
		out, err := l.enter(t.Context(), tenant)
		require.NoError(t, err)
		leave[tenant] = append(leave[tenant], out)
	}
	entered := make(chan string)
	for i, tenant := range []string{"team a", "team a", "team b", "team c"} {
		go func() {
			_, err := l.enter(t.Context(), tenant)
			assert.NoError(t, err)
			entered <- tenant
		}()
		require.Eventually(t, func() bool {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			return len(l.waiting) == i+1
		}, time.Minute, time.Millisecond)
	}
	leave["team d"][0]()
	require.Equal(t, "team c", <-entered)
	leave["team e"][0]()
	leave["team b"][0]()
	leave["team b"][1]()
	require.Equal(t, "team b", <-entered)
	leave["team a"][0]()
	leave["team a"][1]()
	require.Equal(t, []string{"team a", "team a"}, []string{<-entered, <-entered})
}
