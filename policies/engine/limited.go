package engine

import (
	"sync"
	"time"
)

// Limited is a policy that has reached a limit.
type Limited struct {
	Source, Package string
	// Limit is steps, bytes, timeout, function or result.
	Limit string
}

// lastLimit is the limit that a policy reached last.
type lastLimit struct {
	mu    sync.Mutex
	limit string
	at    time.Time
}

func (l *lastLimit) reach(limit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit, l.at = limit, time.Now()
}

func (l *lastLimit) since(start time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.Before(start) {
		return ""
	}
	return l.limit
}

// Limited lists the policies that have reached a limit since a time, in the order of
// Policies.
func (s *Snapshot) Limited(since time.Time) []Limited {
	var out []Limited
	for _, p := range s.policies {
		if limit := p.limit.since(since); limit != "" {
			out = append(out, Limited{Source: p.set.source.Name, Package: p.name, Limit: limit})
		}
	}
	return out
}
