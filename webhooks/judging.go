package webhooks

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// judging bounds how many reviews are judged at once: all together, and the half of
// that for those of one tenant, so that a tenant whose own policies are slow keeps
// room for everybody else's reviews.
type judging struct {
	all  *semaphore.Weighted
	room int64

	mu      sync.Mutex
	tenants map[string]*semaphore.Weighted // as many as administrators made scopes
}

func newJudging(room int) *judging {
	return &judging{all: semaphore.NewWeighted(int64(room)), room: int64(room), tenants: map[string]*semaphore.Weighted{}}
}

// enter waits for room for a review of a tenant, "" where it is nobody's. leave gives it
// back.
func (j *judging) enter(ctx context.Context, tenant string) (leave func(), err error) {
	own := j.of(tenant)
	if err := own.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := j.all.Acquire(ctx, 1); err != nil {
		own.Release(1)
		return nil, err
	}
	return func() {
		j.all.Release(1)
		own.Release(1)
	}, nil
}

func (j *judging) of(tenant string) *semaphore.Weighted {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.tenants[tenant] == nil {
		room := max(1, j.room/2)
		if tenant == "" {
			room = j.room
		}
		j.tenants[tenant] = semaphore.NewWeighted(room)
	}
	return j.tenants[tenant]
}
