package openvox

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// perAuthority is how many objects of a kind ask one CA at a time.
const perAuthority = 8

// attempts have an outcome for Certificates and requests.
type attempts = runner[outcome]

// runner runs what takes long beside the workers, so that a CA that hangs keeps nobody
// but its own requests waiting. It is a manager's Runnable.
type runner[T any] struct {
	// done has the objects whose attempt has ended.
	done chan event.TypedGenericEvent[types.NamespacedName]

	mutex    sync.Mutex
	ctx      context.Context // nil until started, and when ended
	running  map[types.NamespacedName]bool
	outcomes map[types.NamespacedName]T
	slots    map[types.NamespacedName]chan struct{} // by CA
	group    sync.WaitGroup
}

func newAttempts() *attempts { return newRunner[outcome]() }

func newRunner[T any]() *runner[T] {
	return &runner[T]{
		done:     make(chan event.TypedGenericEvent[types.NamespacedName]),
		running:  map[types.NamespacedName]bool{},
		outcomes: map[types.NamespacedName]T{},
		slots:    map[types.NamespacedName]chan struct{}{},
	}
}

// Start implements manager.Runnable: it ends when all attempts have.
func (a *runner[T]) Start(ctx context.Context) error {
	a.mutex.Lock()
	a.ctx = ctx
	a.mutex.Unlock()
	<-ctx.Done()
	a.mutex.Lock()
	a.ctx = nil
	a.mutex.Unlock()
	a.group.Wait()
	return nil
}

// take is the outcome of an attempt that has ended, once.
func (a *runner[T]) take(key types.NamespacedName) (T, bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	out, ok := a.outcomes[key]
	delete(a.outcomes, key)
	return out, ok
}

// putBack has an outcome taken again that could not be told.
func (a *runner[T]) putBack(key types.NamespacedName, out T) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.outcomes[key] = out
}

// begin starts an attempt, unless one runs. started is false before Start and at the end.
func (a *runner[T]) begin(key, ca types.NamespacedName, run func(context.Context) T) (started bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.ctx == nil {
		return false
	}
	if a.running[key] {
		return true
	}
	a.running[key] = true
	a.group.Add(1)
	go a.run(a.ctx, key, a.slotsOf(ca), run)
	return true
}

func (a *runner[T]) slotsOf(ca types.NamespacedName) chan struct{} {
	if a.slots[ca] == nil {
		a.slots[ca] = make(chan struct{}, perAuthority)
	}
	return a.slots[ca]
}

func (a *runner[T]) run(ctx context.Context, key types.NamespacedName, slots chan struct{}, run func(context.Context) T) {
	defer a.group.Done()
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	out := run(ctx)
	<-slots
	a.mutex.Lock()
	delete(a.running, key)
	a.outcomes[key] = out
	a.mutex.Unlock()
	select {
	case a.done <- event.TypedGenericEvent[types.NamespacedName]{Object: key}:
	case <-ctx.Done():
	}
}
