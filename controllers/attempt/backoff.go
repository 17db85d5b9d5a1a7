package attempt

import (
	"math/rand/v2"
	"time"
)

// Backoff is the delay after failures: First after one failure, doubled after each further one,
// at most Longest. Each delay is shortened by a random share of up to Jitter, so that attempts
// that failed together are not retried together.
type Backoff struct {
	First, Longest time.Duration
	Jitter         float64
}

// Pause is how long to wait after so many failures in a row, one or more.
func (b Backoff) Pause(failures int) time.Duration {
	const doublings = 10
	return Jitter(min(b.First<<min(failures-1, doublings), b.Longest), b.Jitter)
}

// Jitter is a duration that is shorter by a random share of up to share.
func Jitter(longest time.Duration, share float64) time.Duration {
	return longest - time.Duration(share*rand.Float64()*float64(longest))
}
