package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
)

const (
	// batchInterval is how long events are collected before they are published as one snapshot:
	// a burst costs one snapshot, and the delay is not noticeable.
	batchInterval = 50 * time.Millisecond
	// syncPatience is how long a starting replica waits for an informer that fails for reasons
	// other than a missing permission.
	syncPatience = 15 * time.Second
)

var (
	errKindUnknown = errors.New("the cluster does not serve this kind")
	errNotListed   = errors.New("its objects are being listed")
)

// clusterObjectLoader caches the cluster objects that policies require, with one informer for each
// required kind. It runs on every replica.
//
// Invariant: Current contains a kind if and only if the kind was listed completely and is still
// required.
type clusterObjectLoader struct {
	resources func() *admission.Resources
	listWatch func(admission.ServedResource) cache.ListerWatcher
	current   atomic.Pointer[clusterdata.Objects]

	wanted   chan struct{} // signals a change of the required kinds or of the table of kinds
	recorded chan struct{} // pending is not empty
	running  sync.WaitGroup

	mu        sync.Mutex // over the fields below
	required  map[string]clusterdata.Projection
	informers map[admission.GroupVersionKind]*informer
	pending   map[admission.GroupVersionKind]clusterdata.Change
	changed   []func()
}

// newClusterObjects returns a clusterObjectLoader without informers. resources is the current table of
// kinds; listWatch reads the objects of one of its resources in all namespaces.
func newClusterObjects(resources func() *admission.Resources, listWatch func(admission.ServedResource) cache.ListerWatcher) *clusterObjectLoader {
	c := &clusterObjectLoader{
		resources: resources,
		listWatch: listWatch,
		wanted:    make(chan struct{}, 1),
		recorded:  make(chan struct{}, 1),
		required:  map[string]clusterdata.Projection{},
		informers: map[admission.GroupVersionKind]*informer{},
		pending:   map[admission.GroupVersionKind]clusterdata.Change{},
	}
	c.current.Store(clusterdata.Empty())
	return c
}

// Current is the newest snapshot of the objects.
func (c *clusterObjectLoader) Current() *clusterdata.Objects { return c.current.Load() }

// OnChange calls f, which must not block, when the set of cached kinds has changed or an
// informer has failed.
func (c *clusterObjectLoader) OnChange(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = append(c.changed, f)
}

// Require sets the kinds that a source requires, and the fields of their objects that it reads;
// an empty projection ends its claims. A kind stays cached as long as any source requires it,
// with all fields that any of them reads.
func (c *clusterObjectLoader) Require(source string, reads clusterdata.Projection) {
	c.mu.Lock()
	if len(reads) == 0 {
		delete(c.required, source)
	} else {
		c.required[source] = maps.Clone(reads)
	}
	c.mu.Unlock()
	c.refresh()
}

// refresh triggers a check of which informers are needed. It never blocks.
func (c *clusterObjectLoader) refresh() { signal(c.wanted, struct{}{}) }

// Missing returns one of the kinds that is not cached with the fields read of it, or nil if all
// are. It prefers a kind that waiting may provide. Some source must require the kinds.
func (c *clusterObjectLoader) Missing(reads clusterdata.Projection) *missingError {
	current := c.Current()
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing *missingError
	for kind, fields := range reads {
		if current.HasFields(kind, fields) || missing != nil && !missing.Final {
			continue
		}
		if found := c.missing(kind); missing == nil || !found.Final {
			missing = found
		}
	}
	return missing
}

// missing returns why a kind is not cached. The caller holds c.mu.
func (c *clusterObjectLoader) missing(kind admission.GroupVersionKind) *missingError {
	running := c.informers[kind]
	_, served := c.resources().ByKind(kind.Group, kind.Kind)
	switch {
	case running != nil && running.failure != nil:
		return &missingError{kind, running.failure, final(running.failure) || time.Since(running.failing) > syncPatience}
	case running == nil && !served:
		return &missingError{kind, errKindUnknown, true}
	default:
		return &missingError{kind, errNotListed, false}
	}
}

// missingError states why the objects of a kind are not cached.
type missingError struct {
	Kind admission.GroupVersionKind
	Err  error
	// Final reports that waiting does not help: the administrator must act.
	Final bool
}

// Error implements error.
func (e *missingError) Error() string {
	return fmt.Sprintf("the cluster's objects of kind %s are missing: %v", e.Kind, e.Err)
}

// Unwrap returns the cause.
func (e *missingError) Unwrap() error { return e.Err }

// Start implements manager.Runnable. It returns when all informers have ended.
func (c *clusterObjectLoader) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer c.running.Wait()
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wanted:
			c.adjust(ctx)
		case <-c.recorded:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(batchInterval):
			}
			c.publish()
		}
	}
}

// adjust starts the missing informers and stops those that no source requires. A kind that
// leaves the table keeps its informer, because its API server may only be down.
func (c *clusterObjectLoader) adjust(ctx context.Context) {
	table := c.resources()
	c.mu.Lock()
	defer c.mu.Unlock()
	needed := clusterdata.Projection{}
	for _, reads := range c.required {
		needed = needed.Union(reads)
	}
	for kind, running := range c.informers {
		if _, ok := needed[kind]; !ok {
			running.cancel()
			delete(c.informers, kind)
			c.record(clusterdata.Change{Kind: kind, Drop: true})
		}
	}
	for kind, fields := range needed {
		resource, served := table.ByKind(kind.Group, kind.Kind)
		running := c.informers[kind]
		if !served || running != nil && running.resource == resource && running.fields.Covers(fields) {
			continue
		}
		if running != nil {
			running.cancel() // its objects stay until the next informer has listed
		}
		c.informers[kind] = c.startInformer(ctx, kind, resource, fields)
	}
}

// record adds to the pending changes. The caller holds c.mu.
func (c *clusterObjectLoader) record(change clusterdata.Change) {
	before, some := c.pending[change.Kind]
	if some && !change.Reset && !change.Drop {
		maps.Copy(before.Objects, change.Objects)
	} else {
		c.pending[change.Kind] = change
	}
	signal(c.recorded, struct{}{})
}

// publish creates the next snapshot from the pending changes.
func (c *clusterObjectLoader) publish() {
	c.mu.Lock()
	changes := slices.Collect(maps.Values(c.pending))
	clear(c.pending)
	c.mu.Unlock()

	before := c.Current()
	next := before.With(changes...)
	c.current.Store(next)
	for _, change := range changes {
		if change.Reset || before.Has(change.Kind) != next.Has(change.Kind) {
			c.notify()
			return
		}
	}
}

func (c *clusterObjectLoader) notify() {
	c.mu.Lock()
	changed := slices.Clone(c.changed)
	c.mu.Unlock()
	for _, f := range changed {
		f()
	}
}

// signal wakes the goroutine that waits on the channel, now or later.
func signal[T any](c chan<- T, value T) {
	select {
	case c <- value:
	default:
	}
}
