package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPanicIsAFailureOfItsPolicy(t *testing.T) {
	set := compile(t, "package p\ndeny contains \"x\"")
	answers := inOrder(set.policies,
		func(int) string { panic("at once") },
		func(_ int, err evalError) string { return err.message })
	require.Contains(t, answers[0], "internal error: at once")
}

// TestTheClockIsReadWhateverCallsCost: steps that calls add must not keep the meter
// from looking.
func TestTheClockIsReadWhateverCallsCost(t *testing.T) {
	for cost := range 16 {
		m := &meter{ctx: t.Context(), deadline: time.Now().Add(-time.Second)}
		for range 9 { // the first look extends the deadline, and then it looks each time
			m.Cancelled()
			require.NoError(t, m.spend(cost))
		}
		require.Equal(t, "timeout", m.limit, "calls of %d steps", cost)
	}
}

// TestAMachineThatStandsStillIsNoTimeout has no time for a policy until long after its
// deadline: it has a tenth of its time then, and no more.
func TestAMachineThatStandsStillIsNoTimeout(t *testing.T) {
	start := time.Now()
	m := &meter{ctx: t.Context(), timeout: DefaultTimeout, deadline: start.Add(DefaultTimeout)}
	require.False(t, m.overdue(start.Add(DefaultTimeout)))
	woken := start.Add(700 * time.Millisecond)
	require.False(t, m.overdue(woken))
	require.False(t, m.overdue(woken.Add(DefaultTimeout/10)))
	require.True(t, m.overdue(woken.Add(DefaultTimeout/10+1)))
}
