package webhooks

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// enterTwice has two reviews of a tenant judged, until they leave.
func enterTwice(t *testing.T, j *judging, tenant string) (leave []func()) {
	t.Helper()
	for range 2 {
		out, err := j.enter(t.Context(), tenant)
		require.NoError(t, err)
		leave = append(leave, out)
	}
	return leave
}

func TestATenantHoldsHalfOfTheRoom(t *testing.T) {
	j := newJudging(4)
	leave := enterTwice(t, j, "team a")
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := j.enter(short, "team a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, tenant := range []string{"team b", ""} {
		out, err := j.enter(t.Context(), tenant)
		require.NoError(t, err, "others have room")
		leave = append(leave, out)
	}
	for _, out := range leave {
		out()
	}
	for range 4 {
		_, err = j.enter(t.Context(), "")
		require.NoError(t, err, "what was given back is there")
	}
}

// TestWhoWaitsInVainHoldsNoRoom of the tenant.
func TestWhoWaitsInVainHoldsNoRoom(t *testing.T) {
	j := newJudging(2)
	leave := enterTwice(t, j, "")
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := j.enter(short, "team a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, out := range leave {
		out()
	}
	long, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err = j.enter(long, "team a")
	require.NoError(t, err)
}
