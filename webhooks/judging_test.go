package webhooks

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATenantHoldsHalfOfTheRoom(t *testing.T) {
	j := newJudging(4)
	var leave []func()
	for range 2 {
		out, err := j.enter(t.Context(), "team a")
		require.NoError(t, err)
		leave = append(leave, out)
	}
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
