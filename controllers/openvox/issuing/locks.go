package issuing

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// authorityLocks serializes the Certificates that administer a CA. Each is signed with the key of another
// one: if all were revoked at the same time, none could sign.
type authorityLocks struct {
	mutex       sync.Mutex
	byAuthority map[client.ObjectKey]chan struct{}
}

// acquire waits for the next turn at a CA, and returns what ends it.
func (t *authorityLocks) acquire(ctx context.Context, ca client.ObjectKey) (end func()) {
	t.mutex.Lock()
	turn := t.byAuthority[ca]
	if turn == nil {
		turn = make(chan struct{}, 1)
		if t.byAuthority == nil {
			t.byAuthority = map[client.ObjectKey]chan struct{}{}
		}
		t.byAuthority[ca] = turn
	}
	t.mutex.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }
	case <-ctx.Done(): // the next call with ctx fails
		return func() {}
	}
}
