package engine

import (
	"fmt"
	"sync"
	"time"
)

// sourceTime is how long all policies of one source below the enterprise may take
// together for one review, so that whoever writes them slows nobody else's reviews by
// much. The enterprise's own are only bounded one by one.
const sourceTime = 250 * time.Millisecond

// spending is the time that sources have taken for a review.
type spending struct {
	mu       sync.Mutex
	bySource map[string]time.Duration
}

func (s *spending) of(source string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bySource[source]
}

func (s *spending) add(source string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySource == nil {
		s.bySource = map[string]time.Duration{}
	}
	s.bySource[source] += took
}

// timed asks a policy, unless its source has taken its time.
func timed[T any](e *evaluation, p *policy, ask func() T, failed func(evalError) T) T {
	if !p.set.place.Below {
		return ask()
	}
	source := p.set.source.Name
	if e.spent.of(source) >= sourceTime {
		return failed(evalError{
			message: fmt.Sprintf("the policies of its source have taken %s for this object, which is all that a source below the enterprise has; do less in them", sourceTime),
			limit:   "source",
		})
	}
	since := time.Now()
	defer func() { e.spent.add(source, time.Since(since)) }()
	return ask()
}
