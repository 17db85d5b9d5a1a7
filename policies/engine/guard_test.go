package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWatchDoesNotWaitForOne holds one of three policies back: the others are asked,
// and it is in quarantine as long as it runs, or for good after the third time.
func TestWatchDoesNotWaitForOne(t *testing.T) {
	set := compileSource(t, Source{Name: "s", Files: map[string]string{
		"a.rego": "package a\ndeny contains \"a\"",
		"b.rego": "package b\ndeny contains \"b\"",
		"c.rego": "package c\ndeny contains \"c\"",
	}})
	for _, p := range set.policies {
		p.meta.timeout = DefaultTimeout
	}
	snapshot := snapshotOf(set)
	stuck := set.policies[1]
	answers := func(hold chan struct{}) []string {
		return watch(set.policies,
			func(i int) string {
				if set.policies[i] == stuck && hold != nil {
					<-hold
				}
				return set.policies[i].name
			},
			func(_ int, err evalError) string { return err.limit })
	}
	require.Equal(t, []string{"a", "b", "c"}, answers(nil))
	for strike := 1; strike <= maxStrikes; strike++ {
		hold := make(chan struct{})
		require.Equal(t, []string{"a", "watchdog", "c"}, answers(hold))
		require.Len(t, snapshot.Quarantined(), 1)
		require.Equal(t, []string{"a", "quarantine", "c"}, answers(nil), "it is not asked while it runs")
		close(hold)
		require.Eventually(t, func() bool {
			stuck.quarantine.mu.Lock()
			defer stuck.quarantine.mu.Unlock()
			return stuck.quarantine.running == 0
		}, 2*time.Minute, time.Millisecond)
		require.Equal(t, strike >= maxStrikes, stuck.quarantine.active())
	}
	decision := snapshot.Validate(t.Context(), makeReview(t, pod), Options{})
	require.Len(t, decision.Denials, 3)
	require.Equal(t, "b", decision.Denials[1].Policy)
	require.Contains(t, decision.Denials[1].Text(), "policy b cannot be evaluated: it is in quarantine")
	require.Equal(t, "b", snapshot.Quarantined()[0].Package)
	require.Equal(t, []Limited{{"s", "b", "quarantine"}}, snapshot.Limited(time.Now()))
}

func TestWatchTakesAPanicForAFailureOfItsPolicy(t *testing.T) {
	set := compile(t, "package p\ndeny contains \"x\"")
	answers := watch(set.policies,
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
