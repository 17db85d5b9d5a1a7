package source

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

const (
	// keptResults bounds the number of cached results of all sources together.
	keptResults = 32
	// keptOfOne is how many of one source: one is on its way, the next is written.
	keptOfOne = 2
)

var errUnfinished = errors.New("compiling has not finished")

// resultCache keeps the results of compilation, by the identity of the source. Concurrent
// requests for one source wait for one compilation. The zero value is empty.
type resultCache struct {
	mu   sync.Mutex // over list and live
	list []*result  // the newest last
	// live are the sets that became live last, as long as another holder references them.
	live map[string]weak.Pointer[engine.PolicySet]
}

// result is what compiling gave, once done is closed.
type result struct {
	name, identity string
	done           chan struct{}
	set            *engine.PolicySet
	err            error
}

// shared says whether the result is about the source, and holds for all who wait.
func (r *result) shared() bool {
	return r.err == nil || errors.As(r.err, new(definition.CompileErrorList))
}

// kept reports whether the result is valid for later requests: a source that exceeded a limit
// may later stay below it, and a kind may later get a missing field.
func (r *result) kept() bool {
	return r.shared() && !errors.As(r.err, new(limitError)) && !errors.As(r.err, new(referenceErrors))
}

// get returns the cached result for this source, or compiles it. A concurrent attempt whose
// error is not about the source is repeated.
func (r *resultCache) get(ctx context.Context, source definition.Source, compile func() (*engine.PolicySet, error)) (*engine.PolicySet, error) {
	identity := resultKey(source.Identity(), source.Created)
	for {
		found, mine := r.find(source.Name, identity)
		if mine {
			r.make(found, compile)
			return found.set, found.err
		}
		select {
		case <-found.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if found.shared() {
			return found.set, found.err
		}
	}
}

// make computes a result, even if compile panics, because other goroutines may wait for it.
func (r *resultCache) make(one *result, compile func() (*engine.PolicySet, error)) {
	one.err = errUnfinished
	defer func() {
		if !one.kept() {
			r.drop(one)
		}
		close(one.done)
	}()
	one.set, one.err = compile()
}

// resultKey identifies a source by its identity and by its creation: a PolicySource that is deleted
// and created again is younger than other sources, even if its policies are the same.
func resultKey(identity string, created time.Time) string {
	return identity + created.UTC().Format(time.RFC3339Nano)
}

// find is the result of an identity: mine where it is new, and the caller's to make.
func (r *resultCache) find(name, identity string) (found *result, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, known := range r.list {
		if known.identity == identity {
			r.list = append(slices.Delete(r.list, i, i+1), known)
			return known, false
		}
	}
	found = &result{name: name, identity: identity, done: make(chan struct{})}
	r.list = append(r.list, found)
	r.limit(name)
	return found, true
}

// limit drops the oldest results beyond the bounds; r.mu is held. Goroutines that wait for one
// of them still receive it.
func (r *resultCache) limit(name string) {
	var ofOne []int
	for i, one := range r.list {
		if one.name == name {
			ofOne = append(ofOne, i)
		}
	}
	if len(ofOne) > keptOfOne {
		r.list = slices.Delete(r.list, ofOne[0], ofOne[0]+1)
	}
	if len(r.list) > keptResults {
		r.list = slices.Delete(r.list, 0, 1)
	}
}

func (r *resultCache) drop(gone *result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(one *result) bool { return one == gone })
}

// before is the last set that a source compiled to, as far as it is still at hand: nil
// where none is.
func (r *resultCache) before(name string) *engine.PolicySet {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range slices.Backward(r.list) {
		select {
		case <-one.done:
			if one.name == name && one.set != nil {
				return one.set
			}
		default:
		}
	}
	return r.live[name].Value()
}

// forget drops the result that holds a set which is live, and those of the same source
// before it.
func (r *resultCache) forget(set *engine.PolicySet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.live, func(_ string, live weak.Pointer[engine.PolicySet]) bool { return live.Value() == nil })
	if r.live == nil {
		r.live = map[string]weak.Pointer[engine.PolicySet]{}
	}
	r.live[set.Name()] = weak.Make(set)
	identity := resultKey(set.Identity(), set.Source().Created)
	last := slices.IndexFunc(r.list, func(one *result) bool { return one.identity == identity })
	for i := last; i >= 0; i-- {
		if r.list[i].name == set.Name() {
			r.list = slices.Delete(r.list, i, i+1)
		}
	}
}
