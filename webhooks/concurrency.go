package webhooks

import (
	"context"
	"slices"
	"sync"
)

// judging bounds the number of reviews that are evaluated in parallel. A tenant may have as
// many as there is free capacity next to them, so that tenants whose own policies are slow
// always leave capacity for others: one tenant uses at most half of the capacity, and n of them
// n parts of n+1. Together, they leave a quarter of the capacity to reviews of no tenant.
type judging struct {
	room int

	mutex     sync.Mutex
	used      int
	ofTenants int            // the part of used that tenants have
	tenants   map[string]int // of reviews in progress, by tenant
	waiting   []*waiter      // in the order in which they came
}

// waiter is a review that waits for room.
type waiter struct {
	tenant string
	enter  chan struct{}
}

func newJudging(room int) *judging {
	return &judging{room: room, tenants: map[string]int{}}
}

// enter waits for capacity for a review of a tenant, "" for a review of no tenant. leave
// releases it.
func (j *judging) enter(ctx context.Context, tenant string) (leave func(), err error) {
	j.mutex.Lock()
	if j.hasRoom(tenant) { // there is none for those who wait
		j.take(tenant)
		j.mutex.Unlock()
		return func() { j.leave(tenant) }, nil
	}
	mine := &waiter{tenant, make(chan struct{})}
	j.waiting = append(j.waiting, mine)
	j.mutex.Unlock()
	select {
	case <-mine.enter:
		return func() { j.leave(tenant) }, nil
	case <-ctx.Done():
	}
	j.mutex.Lock()
	i := slices.Index(j.waiting, mine)
	if i >= 0 {
		j.waiting = slices.Delete(j.waiting, i, i+1)
	}
	j.mutex.Unlock()
	if i < 0 { // there was room at that moment
		j.leave(tenant)
	}
	return nil, ctx.Err()
}

func (j *judging) leave(tenant string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.used--
	if tenant != "" {
		j.ofTenants--
	}
	if j.tenants[tenant]--; j.tenants[tenant] == 0 {
		delete(j.tenants, tenant)
	}
	j.admit()
}

// admit lets those enter for whom there is room. The caller holds the mutex.
func (j *judging) admit() {
	kept := j.waiting[:0]
	for _, w := range j.waiting {
		if !j.hasRoom(w.tenant) {
			kept = append(kept, w)
			continue
		}
		j.take(w.tenant)
		close(w.enter)
	}
	clear(j.waiting[len(kept):])
	j.waiting = kept
}

func (j *judging) take(tenant string) {
	j.used++
	if tenant != "" {
		j.ofTenants++
	}
	j.tenants[tenant]++
}

// hasRoom says whether there is room for another review of a tenant. One that has none is
// let in wherever there is any for tenants.
func (j *judging) hasRoom(tenant string) bool {
	left, own := j.room-j.used, j.tenants[tenant]
	switch {
	case left <= 0:
		return false
	case tenant == "":
		return true
	}
	return j.ofTenants < j.room-j.room/4 && (own == 0 || own < left)
}
