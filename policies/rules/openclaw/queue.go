package openclaw

import (
	"context"
	"slices"
	"sync"
)

// requestQueue lets one request at a time work: those of the root namespace first, the others in the
// order of their arrival.
type requestQueue struct {
	mutex         sync.Mutex
	taken         bool
	root, waiting []chan struct{}
}

// take waits for a turn, which ends with leave.
func (t *requestQueue) take(ctx context.Context, root bool) (leave func(), err error) {
	mine := make(chan struct{})
	queue := &t.waiting
	if root {
		queue = &t.root
	}
	t.mutex.Lock()
	if !t.taken {
		t.taken = true
		t.mutex.Unlock()
		return t.next, nil
	}
	*queue = append(*queue, mine)
	t.mutex.Unlock()
	select {
	case <-mine:
		return t.next, nil
	case <-ctx.Done():
	}
	t.mutex.Lock()
	i := slices.Index(*queue, mine)
	if i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	}
	t.mutex.Unlock()
	if i < 0 { // the turn came at that moment
		t.next()
	}
	return nil, ctx.Err()
}

// next ends a turn.
func (t *requestQueue) next() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, queue := range []*[]chan struct{}{&t.root, &t.waiting} {
		if len(*queue) > 0 {
			close((*queue)[0])
			*queue = slices.Delete(*queue, 0, 1)
			return
		}
	}
	t.taken = false
}

// fairQueue give each namespace one request at a time.
type fairQueue struct {
	mutex sync.Mutex
	of    map[string]*namespaceQueue // of namespaces with requests
}

type namespaceQueue struct {
	requestQueue
	requests int // that wait or work
}

// take waits for the turn of a request of a namespace, which ends with leave.
func (s *fairQueue) take(ctx context.Context, namespace string) (leave func(), err error) {
	s.mutex.Lock()
	if s.of == nil {
		s.of = map[string]*namespaceQueue{}
	}
	own := s.of[namespace]
	if own == nil {
		own = &namespaceQueue{}
		s.of[namespace] = own
	}
	own.requests++
	s.mutex.Unlock()
	end, err := own.take(ctx, false)
	done := func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if own.requests--; own.requests == 0 {
			delete(s.of, namespace)
		}
	}
	if err != nil {
		done()
		return nil, err
	}
	return func() { end(); done() }, nil
}
