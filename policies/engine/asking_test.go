package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPanicIsAFailureOfItsPolicy(t *testing.T) {
	set := compile(t, "package p\ndeny contains \"x\"")
	answers := askEach([]question{{policy: set.policies[0]}},
		func(question) string { panic("at once") },
		func(_ question, err evalError) string { return err.message })
	require.Contains(t, answers[0], "internal error: at once")
}

// TestTheTimeOfASourceIsReadFromTheClock that the caller hands in.
func TestTheTimeOfASourceIsReadFromTheClock(t *testing.T) {
	now := time.Unix(1, 0)
	e := newEvaluation(makeReview(t, pod), Options{Clock: func() time.Time { return now }})
	require.Equal(t, now, e.now)
	done := e.measure("team")
	now = now.Add(sourceTime)
	done()
	require.Equal(t, sourceTime, e.used["team"])
}
