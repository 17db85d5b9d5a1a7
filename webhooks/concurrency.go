package webhooks

import (
	"context"
	"slices"
	"sync"
)

// reviewLimiter bounds the number of reviews that are evaluated in parallel. A tenant may have as
// many as there is free capacity next to them. Together, tenants leave a quarter of the capacity to
// reviews of no tenant, and a quarter to tenants that have no review in progress.
type reviewLimiter struct {
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

func newReviewLimiter(room int) *reviewLimiter {
	return &reviewLimiter{room: room, tenants: map[string]int{}}
}

// tryEnter is enter for a review that does not wait.
func (l *reviewLimiter) tryEnter(tenant string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.hasRoom(tenant) {
		return false
	}
	l.take(tenant)
	return true
}

// enter waits for capacity for a review of a tenant, "" for a review of no tenant. leave
// releases it.
func (l *reviewLimiter) enter(ctx context.Context, tenant string) (leave func(), err error) {
	l.mutex.Lock()
	if l.hasRoom(tenant) { // there is none for those who wait
		l.take(tenant)
		l.mutex.Unlock()
		return func() { l.leave(tenant) }, nil
	}
	mine := &waiter{tenant, make(chan struct{})}
	l.waiting = append(l.waiting, mine)
	l.mutex.Unlock()
	select {
	case <-mine.enter:
		return func() { l.leave(tenant) }, nil
	case <-ctx.Done():
	}
	l.mutex.Lock()
	i := slices.Index(l.waiting, mine)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mutex.Unlock()
	if i < 0 { // there was room at that moment
		l.leave(tenant)
	}
	return nil, ctx.Err()
}

func (l *reviewLimiter) leave(tenant string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.used--
	if tenant != "" {
		l.ofTenants--
	}
	if l.tenants[tenant]--; l.tenants[tenant] == 0 {
		delete(l.tenants, tenant)
	}
	l.admit()
}

// admit lets those enter for whom there is room, those of tenants with the fewest reviews in
// progress first. The caller holds the mutex.
func (l *reviewLimiter) admit() {
	for {
		next, fewest := -1, 0
		for i, w := range l.waiting {
			own := 0
			if w.tenant != "" {
				own = l.tenants[w.tenant]
			}
			if l.hasRoom(w.tenant) && (next < 0 || own < fewest) {
				next, fewest = i, own
			}
		}
		if next < 0 {
			return
		}
		l.take(l.waiting[next].tenant)
		close(l.waiting[next].enter)
		l.waiting = slices.Delete(l.waiting, next, next+1)
	}
}

func (l *reviewLimiter) take(tenant string) {
	l.used++
	if tenant != "" {
		l.ofTenants++
	}
	l.tenants[tenant]++
}

// hasRoom reports whether there is room for another review of a tenant. A tenant without reviews
// in progress may use all the room for tenants.
func (l *reviewLimiter) hasRoom(tenant string) bool {
	left, own := l.room-l.used, l.tenants[tenant]
	switch {
	case left <= 0:
		return false
	case tenant == "":
		return true
	}
	return l.ofTenants < l.room-l.room/4 && (own == 0 || own < left && l.ofTenants < l.room/2)
}
