package guard

import (
	"sync"
	"time"
)

// memory knows the managed resources that were written lately: a write takes the mark
// out by which they are known, until the manager has looked again.
type memory struct {
	keep time.Duration
	now  func() time.Time

	mu      sync.Mutex
	written map[resource]time.Time
}

func newMemory(keep time.Duration) *memory {
	return &memory{keep: keep, now: time.Now, written: map[resource]time.Time{}}
}

// wrote notes a write to a managed resource, and forgets those of long ago.
func (m *memory) wrote(one resource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for old, at := range m.written {
		if m.now().Sub(at) > m.keep {
			delete(m.written, old)
		}
	}
	m.written[one.inDefault()] = m.now()
}

// knows says whether a resource was managed when it was written last.
func (m *memory) knows(one resource) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, known := m.written[one.inDefault()]
	return known && m.now().Sub(at) <= m.keep
}
