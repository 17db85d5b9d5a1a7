package zopp

import (
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// Capacity is the number of events that are buffered for a slow subscriber. Servers configure
// 100, and get the next power of two.
const Capacity = 128

// buffered is how many more are on their way to one.
const buffered = 32

// bus sends events to the subscribers of an environment. It does not replay events, and does not
// report lost ones.
type bus struct {
	mutex       sync.Mutex
	subscribers map[*subscriber]struct{}
	paused      chan struct{}
	drop        int
	created     bool
}

// subscriber is one stream.
type subscriber struct {
	environment string
	mutex       sync.Mutex
	waiting     []*wire.WatchSecretsResponse
	// wake has one place: something is waiting.
	wake  chan struct{}
	ended chan error
}

func (b *bus) subscribe(environment string) *subscriber {
	s := &subscriber{environment: environment, wake: make(chan struct{}, 1), ended: make(chan error, 1)}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.subscribers[s] = struct{}{}
	return s
}

func (b *bus) unsubscribe(s *subscriber) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.subscribers, s)
}

// forsake drops all existing subscribers.
func (b *bus) forsake() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	clear(b.subscribers)
}

func (b *bus) count() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return len(b.subscribers)
}

func (b *bus) watches(environment string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for s := range b.subscribers {
		if s.environment == environment {
			return true
		}
	}
	return false
}

func (b *bus) send(environment string, event *wire.WatchSecretsResponse) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.drop > 0 {
		b.drop--
		return
	}
	for s := range b.subscribers {
		if s.environment == environment {
			s.put(proto.CloneOf(event))
		}
	}
}

func (b *bus) end(err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for s := range b.subscribers {
		select {
		case s.ended <- err:
		default:
		}
	}
}

// pause keeps all subscribers from their events.
func (b *bus) pause() (resume func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	paused := make(chan struct{})
	b.paused = paused
	return func() {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		if b.paused == paused {
			b.paused = nil
			close(paused)
		}
	}
}

// pausing is closed when events go on; nil where they do.
func (b *bus) pausing() chan struct{} {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.paused
}

func (s *subscriber) put(event *wire.WatchSecretsResponse) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.waiting = append(s.waiting, event); len(s.waiting) > Capacity {
		s.waiting = s.waiting[1:]
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscriber) take() *wire.WatchSecretsResponse {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.waiting) == 0 {
		return nil
	}
	event := s.waiting[0]
	s.waiting = s.waiting[1:]
	return event
}

func (b *bus) tellsCreated() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.created
}
