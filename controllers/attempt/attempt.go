// Package attempt runs slow work outside of a reconciler's workers, so that it does not delay
// other objects, and schedules retries.
//
// Invariant: at most one attempt runs for one version of an object, and at most eight for one
// group. An attempt for an earlier version is cancelled, and its outcome dropped. When Start
// returns, no attempt runs.
package attempt

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// perGroup is how many attempts of one group run at a time.
	perGroup = 8
	// hurryRate, a second, and hurryBurst bound the attempts of one object that do not
	// wait for their time.
	hurryRate  = 2
	hurryBurst = 10
)

// Name identifies an object.
type Name = types.NamespacedName

// Runner runs attempts with an outcome of type T, and remembers when each object is due
// for the next. It is a manager's Runnable.
type Runner[T any] struct {
	now     func() time.Time
	ready   chan event.TypedGenericEvent[Name]
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mutex   sync.Mutex // guards the fields below
	objects map[Name]*state[T]
	slots   map[Name]chan struct{} // by group
}

// state is the state of one version of an object.
type state[T any] struct {
	version any
	cancel  context.CancelFunc // of the attempt that runs: nil where none does
	outcome *T                 // of the attempt that has ended, until it is planned or done
	// again asks for another attempt after the one that runs.
	again bool
	// missed reports that Begin was called while an attempt ran, which may have read its input
	// before the change.
	missed     bool
	failures   int
	ended, due time.Time
	hurries    *rate.Limiter
}

// NewRunner returns a Runner with a clock.
func NewRunner[T any](now func() time.Time) *Runner[T] {
	r := &Runner[T]{now: now, ready: make(chan event.TypedGenericEvent[Name]), objects: map[Name]*state[T]{}, slots: map[Name]chan struct{}{}}
	r.ctx, r.end = context.WithCancel(context.Background())
	return r
}

// Start implements manager.Runnable: it returns when all attempts have ended.
func (r *Runner[T]) Start(ctx context.Context) error {
	<-ctx.Done()
	r.mutex.Lock()
	r.end()
	r.mutex.Unlock()
	r.running.Wait()
	return nil
}

// Source has the objects looked at whose attempt has ended, and those that were woken.
func (r *Runner[T]) Source() source.Source {
	return source.TypedChannel(r.ready, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, name Name) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: name}}
	}))
}

// Wake has an object looked at.
func (r *Runner[T]) Wake(ctx context.Context, name Name) {
	select {
	case r.ready <- event.TypedGenericEvent[Name]{Object: name}:
	case <-ctx.Done():
	case <-r.ctx.Done():
	}
}

// Begin starts an attempt for a version of an object, unless one runs already, or one has
// ended and its outcome is not dealt with. It waits for its turn among those of its group.
// Nothing begins at the end of the manager.
func (r *Runner[T]) Begin(name, group Name, version any, run func(context.Context) T) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := r.of(name, version)
	s.missed = s.missed || s.cancel != nil
	if s.cancel != nil || s.outcome != nil || r.ctx.Err() != nil {
		return
	}
	if r.slots[group] == nil {
		r.slots[group] = make(chan struct{}, perGroup)
	}
	slots := r.slots[group]
	ctx, cancel := context.WithCancel(r.ctx)
	s.cancel = cancel
	r.running.Go(func() {
		defer cancel()
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		outcome := run(ctx)
		<-slots
		if r.keep(name, s, &outcome) {
			r.Wake(r.ctx, name)
		}
	})
}

// keep stores an outcome, unless its version is no longer current.
func (r *Runner[T]) keep(name Name, s *state[T], outcome *T) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.objects[name] != s {
		return false
	}
	s.cancel, s.outcome = nil, outcome
	return true
}

// known returns the state of a version of an object: nil if no attempt was started. The state of
// another version does not count. The caller holds r.mutex.
func (r *Runner[T]) known(name Name, version any) *state[T] {
	if s := r.objects[name]; s != nil && s.version == version {
		return s
	}
	return nil
}

// of returns the known state, or replaces the state of another version with a new one.
func (r *Runner[T]) of(name Name, version any) *state[T] {
	s := r.known(name, version)
	if s == nil {
		r.drop(name)
		s = &state[T]{version: version, hurries: rate.NewLimiter(hurryRate, hurryBurst)}
		r.objects[name] = s
	}
	return s
}

func (r *Runner[T]) drop(name Name) {
	if s := r.objects[name]; s != nil && s.cancel != nil {
		s.cancel()
	}
	delete(r.objects, name)
}

// Forget drops the state of a deleted object and cancels its attempt.
func (r *Runner[T]) Forget(name Name) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.drop(name)
	delete(r.slots, name)
}

// Gone is Forget for an object.Reporter.
func (r *Runner[T]) Gone(_ context.Context, name Name) error {
	r.Forget(name)
	return nil
}

// Outcome returns the outcome of an attempt that has ended, until Done, Succeeded or Failed is
// called.
func (r *Runner[T]) Outcome(name Name, version any) (outcome T, ended bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.known(name, version); s != nil && s.outcome != nil {
		return *s.outcome, true
	}
	return outcome, false
}

// Missed reports whether Begin was called while the last attempt ran: the attempt may have read
// its input before the change.
func (r *Runner[T]) Missed(name Name, version any) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := r.known(name, version)
	return s != nil && s.missed
}

// Done acknowledges an outcome.
func (r *Runner[T]) Done(name Name) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.objects[name]; s != nil {
		s.outcome, s.missed = nil, false
	}
}

// Succeeded acknowledges a good outcome: the next attempt is due after a pause.
func (r *Runner[T]) Succeeded(name Name, version any, pause time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := r.of(name, version)
	s.failures = 0
	s.plan(r.now(), pause)
}

// Failed acknowledges a failure: the delay before the next attempt grows with each failure.
func (r *Runner[T]) Failed(name Name, version any, b Backoff) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := r.of(name, version)
	s.failures++
	s.plan(r.now(), b.Pause(s.failures))
}

func (s *state[T]) plan(now time.Time, pause time.Duration) {
	s.outcome, s.ended, s.due = nil, now, now.Add(pause)
	if s.again {
		s.again = false
		s.hurry(now)
	}
}

func (s *state[T]) hurry(now time.Time) {
	if !now.Before(s.due) {
		return
	}
	if due := now.Add(s.hurries.ReserveN(now, 1).DelayFrom(now)); due.Before(s.due) {
		s.due = due
	}
}

// Hurry starts the next attempt for an object early, if it had attempts before: as soon as their
// rate permits, or after the running attempt, which may have read its input too early. known is
// false for an object without attempts.
func (r *Runner[T]) Hurry(name Name) (known bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := r.objects[name]
	switch {
	case s == nil:
	case s.cancel != nil || s.outcome != nil:
		s.again = true
	default:
		s.hurry(r.now())
	}
	return s != nil
}

// NoLater has the next attempt begin no later than so long after the last one.
func (r *Runner[T]) NoLater(name Name, version any, after time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.known(name, version); s != nil && s.ended.Add(after).Before(s.due) {
		s.due = s.ended.Add(after)
	}
}

// Due is the time of the next attempt for a version of an object: the zero time if none is
// scheduled.
func (r *Runner[T]) Due(name Name, version any) time.Time {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.known(name, version); s != nil {
		return s.due
	}
	return time.Time{}
}

// Failing reports whether the last attempt for an object has failed.
func (r *Runner[T]) Failing(name Name) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := r.objects[name]
	return s != nil && s.failures > 0
}
