package zopp

import (
	"context"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
)

// hub follows each environment that is in use, once for all its users, and only while it has
// users. It is a Runnable of the manager that runs on the leader.
type hub struct {
	*upstream
	// wake enqueues an object whose environment has changed.
	wake func(context.Context, user)

	running sync.WaitGroup

	mutex     sync.Mutex
	started   chan struct{}
	ctx       context.Context // of Start
	followers map[store.Environment]*follower
	uses      map[user][]store.Environment
}

func newHub(server server, interval time.Duration, metrics *metrics, wake func(context.Context, user)) *hub {
	h := &hub{
		upstream: &upstream{server: server, interval: interval, metrics: metrics, lists: make(chan struct{}, listsAtOnce)},
		wake:     wake, started: make(chan struct{}),
		followers: map[store.Environment]*follower{}, uses: map[user][]store.Environment{},
	}
	h.outage = newOutage(server, h.recover)
	return h
}

// recover retries all followers immediately after an outage.
func (h *hub) recover() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, f := range h.followers {
		select {
		case f.recovered <- struct{}{}:
		default:
		}
	}
}

func (h *hub) inUse() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return len(h.followers) > 0
}

// Start implements manager.Runnable. It returns when all followers have stopped.
func (h *hub) Start(ctx context.Context) error {
	h.mutex.Lock()
	h.ctx = ctx
	close(h.started)
	h.mutex.Unlock()
	h.outage.watch(ctx, h.inUse)
	h.mutex.Lock() // later callers start no followers
	clear(h.followers)
	h.mutex.Unlock()
	h.running.Wait()
	return nil
}

// Use sets the environments that an object uses, and returns the snapshot of each: nil for one
// that was not read yet. A change of a snapshot enqueues the object. interval is the longest
// polling interval that the object accepts: 0 for the hub's default.
func (h *hub) Use(ctx context.Context, u user, interval time.Duration, environments ...store.Environment) ([]*snapshot, error) {
	select {
	case <-h.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	before := h.uses[u]
	snapshots := make([]*snapshot, len(environments))
	for i, environment := range environments {
		snapshots[i] = h.follow(u, interval, environment)
	}
	h.uses[u] = environments
	if len(environments) == 0 {
		delete(h.uses, u)
	}
	for _, environment := range before {
		h.leave(u, environment)
	}
	return snapshots, nil
}

// Forget records that an object no longer uses any environment.
func (h *hub) Forget(u user) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	before := h.uses[u]
	delete(h.uses, u)
	for _, environment := range before {
		h.leave(u, environment)
	}
}

// follow adds a user to an environment. h.mutex is locked.
func (h *hub) follow(u user, interval time.Duration, environment store.Environment) *snapshot {
	f := h.followers[environment]
	if f == nil {
		f = newFollower(h.ctx, h.upstream, environment, h.notify)
		h.followers[environment] = f
		f.users[u] = interval
		f.setInterval()
		if h.ctx.Err() == nil {
			h.running.Go(func() { f.run(f.ctx) })
		}
	} else if was, known := f.users[u]; !known || was != interval {
		f.users[u] = interval
		f.setInterval()
	}
	return f.latest.Load()
}

// leave takes a user away from an environment that it does not use, and ends the following
// with the last. h.mutex is locked.
func (h *hub) leave(u user, environment store.Environment) {
	f := h.followers[environment]
	if f == nil {
		return
	}
	for _, used := range h.uses[u] {
		if used == environment {
			return
		}
	}
	if delete(f.users, u); len(f.users) > 0 {
		f.setInterval()
		return
	}
	f.cancel()
	delete(h.followers, environment)
}

// notify enqueues the users of a follower's environment.
func (h *hub) notify(ctx context.Context, f *follower) {
	for _, u := range h.usersOf(f) {
		h.wake(ctx, u)
	}
}

// usersOf returns the users of a follower's environment.
func (h *hub) usersOf(f *follower) (users []user) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for u := range f.users {
		users = append(users, u)
	}
	return users
}

// Fresh reads an environment that is in use, and returns a snapshot that was read after the
// call: nil where the environment is not in use.
func (h *hub) Fresh(ctx context.Context, environment store.Environment) *snapshot {
	h.mutex.Lock()
	f := h.followers[environment]
	h.mutex.Unlock()
	if f == nil {
		return nil
	}
	f.list(ctx, time.Time{})
	return f.latest.Load()
}

// sum returns the sum of a number of each environment.
func (h *hub) sum(of func(*follower) int) (n int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, f := range h.followers {
		n += of(f)
	}
	return n
}
