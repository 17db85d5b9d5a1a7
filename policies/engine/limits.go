package engine

import "time"

// ReachedLimit is a policy that has reached a limit.
type ReachedLimit struct {
	Source, Package string
	// Limit is steps, bytes, timeout, function, result or source.
	Limit string
}

// limitAt is the limit that a policy reached last.
type limitAt struct {
	limit string
	at    time.Time
}

// ReachedLimits lists the policies that have reached a limit since a time, in the order of
// Policies.
func (s *Snapshot) ReachedLimits(since time.Time) (reached []ReachedLimit) {
	for _, p := range s.policies {
		if last := p.limit.Load(); last != nil && !last.at.Before(since) {
			reached = append(reached, ReachedLimit{Source: p.set.source.Name, Package: p.name, Limit: last.limit})
		}
	}
	return reached
}
