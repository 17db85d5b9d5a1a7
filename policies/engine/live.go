package engine

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/external"
)

// Live holds the current snapshot. Readers never wait; each change builds a new snapshot
// of all sources and swaps it in. There is none until Publish, because a snapshot without
// some of the sources would admit objects that they deny.
type Live struct {
	snapshot atomic.Pointer[Snapshot]

	mu        sync.Mutex // protects the fields below, held while a snapshot is created
	published bool
	resources *admission.Resources
	sets      map[string]*PolicySet
	// exceptions are all, also those without effect.
	exceptions []*exception.Exception
	external   external.Set
	listeners  []func(*Snapshot)
}

// NewLive starts without any source.
func NewLive(resources *admission.Resources) *Live {
	return &Live{resources: resources, sets: map[string]*PolicySet{}}
}

// Snapshot is the one that decides now: nil before Publish.
func (l *Live) Snapshot() *Snapshot { return l.snapshot.Load() }

// OnChange calls f with every new snapshot, in order, from the goroutine that
// changed it; f must not call back into Live's changes.
func (l *Live) OnChange(f func(*Snapshot)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners = append(l.listeners, f)
}

// Publish says that the sources are complete. Further calls do nothing.
func (l *Live) Publish() {
	if l.Snapshot() == nil {
		l.update(func() { l.published = true })
	}
}

// Put makes a source live, in place of its earlier state.
func (l *Live) Put(set *PolicySet) {
	l.update(func() { l.sets[set.Name()] = set })
}

// Remove takes a source out.
func (l *Live) Remove(name string) {
	l.update(func() { delete(l.sets, name) })
}

// PutExceptions replaces all exceptions.
func (l *Live) PutExceptions(exceptions []*exception.Exception) {
	l.update(func() { l.exceptions = exceptions })
}

// PutExternal makes the data of a DataSource live, in place of its earlier state.
func (l *Live) PutExternal(data *external.Data) {
	l.update(func() {
		l.external = maps.Clone(l.external)
		if l.external == nil {
			l.external = external.Set{}
		}
		l.external[data.Name] = data
	})
}

// RemoveExternal takes the data of a DataSource out.
func (l *Live) RemoveExternal(name string) {
	l.update(func() {
		l.external = maps.Clone(l.external)
		delete(l.external, name)
	})
}

// External is the live data of DataSources by their names; not to be changed.
func (l *Live) External() external.Set {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.external
}

// SetResources replaces the table of kinds.
func (l *Live) SetResources(resources *admission.Resources) {
	l.update(func() { l.resources = resources })
}

// Resources is the table of kinds as it is now.
func (l *Live) Resources() *admission.Resources {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resources
}

// Get is the live state of a source.
func (l *Live) Get(name string) (*PolicySet, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	set, ok := l.sets[name]
	return set, ok
}

// Sets lists the sources that are live, by name.
func (l *Live) Sets() []*PolicySet {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all()
}

// all lists the sources by name; the caller holds the lock.
func (l *Live) all() []*PolicySet {
	sets := make([]*PolicySet, 0, len(l.sets))
	for _, name := range slices.Sorted(maps.Keys(l.sets)) {
		sets = append(sets, l.sets[name])
	}
	return sets
}

// Digests are the digests of the sources' files, by name.
func (l *Live) Digests() map[string]string { return l.forEach((*PolicySet).Digest) }

// Settings are those of Source.Settings, by name.
func (l *Live) Settings() map[string]string {
	return l.forEach(func(set *PolicySet) string { return set.Source().Settings() })
}

// forEach returns a value of each source, by name.
func (l *Live) forEach(value func(*PolicySet) string) map[string]string {
	values := map[string]string{}
	for _, set := range l.Sets() {
		values[set.Name()] = value(set)
	}
	return values
}

// With returns the snapshot in which a candidate replaces the set of its source, for evaluation
// before the candidate becomes live.
func (l *Live) With(candidate *PolicySet) *Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	sets := []*PolicySet{candidate}
	for name, set := range l.sets {
		if name != candidate.Name() {
			sets = append(sets, set)
		}
	}
	return NewSnapshotWithExceptions(l.resources, l.exceptions, sets...).WithExternal(l.external)
}

// update changes the sources and creates a snapshot of them.
func (l *Live) update(apply func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	apply()
	if !l.published {
		return
	}
	snapshot := NewSnapshotWithExceptions(l.resources, l.exceptions, l.all()...).WithExternal(l.external)
	l.snapshot.Store(snapshot)
	for _, f := range l.listeners {
		f(snapshot)
	}
}
