package attempt

import (
	"math/rand/v2"
	"time"
)

// Backoff is how long to leave alone what has failed: First after one failure, twice as
// long after each further one, and Longest at most. Each pause is shorter by a share of
// up to Jitter, so that what has failed together is not tried together.
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
