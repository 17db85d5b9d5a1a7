package management

import (
	"io"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Collection is the known contents of one path of a server. The returned items are shared and
// must not be changed.
type Collection[T any] struct {
	session *session
	// path is below the base, and label names it in metrics.
	path, label string
	id, name    func(T) string
	// matters returns the fields of an item whose change is relevant.
	matters func(T) any
	// forget returns an item without the fields that are not cached: nil to cache all of it.
	forget func(T) T

	// decode reads the list as a stream: nil to read all of it at a time.
	decode func(io.Reader) ([]T, weight, error)

	flight singleflight.Group

	mutex  sync.Mutex // guards the fields below
	listed bool
	// asked is when the current list was requested.
	asked time.Time
	// read is when the last accepted list arrived.
	read time.Time
	// news reports that the items have changed without a write of ours. Refresh returns it.
	news  bool
	items map[string]T
	names map[string][]string // IDs, sorted
	// writes counts our writes. touched is the count at the last write of each item, and
	// forgotten the count when others were last known to have written.
	writes uint64
	// shrunk is when a list first lacked most of the known items: zero if the last one did not.
	shrunk time.Time
	// missed are the names and IDs that a fresh list lacked, and pending those that wait for the
	// next list. missedAt is the time of the last lists that were requested for one.
	missed, pending map[string]bool
	missedAt        []time.Time
	// absent is the time at which a fresh list first lacked the item of a creation without a
	// response.
	absent map[string]time.Time
	// unsure is when a creation was last sent whose outcome is not known.
	unsure    time.Time
	touched   map[string]uint64
	forgotten uint64
}

func newCollection[T any](s *session, path, label string, id, name func(T) string, matters func(T) any) *Collection[T] {
	return &Collection[T]{session: s, path: path, label: label, id: id, name: name, matters: matters, touched: map[string]uint64{}}
}

func (c *Collection[T]) isListed() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.listed
}

// settleMissed records the pending names that a fresh list lacks, and drops the others. c.mutex is
// locked.
func (c *Collection[T]) settleMissed() {
	if c.missed == nil || len(c.missed) > maxMissed {
		c.missed = map[string]bool{}
	}
	maps.Copy(c.missed, c.pending)
	c.pending = nil
	maps.DeleteFunc(c.missed, func(name string, _ bool) bool {
		_, has := c.items[name]
		return has || len(c.names[name]) > 0
	})
}

// take replaces the known items by a list, except for items that were written after the list was
// requested.
func (c *Collection[T]) take(list []T, began uint64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	next := make(map[string]T, len(list))
	for _, item := range list {
		next[c.id(item)] = item
	}
	for id, at := range c.touched {
		if at <= began {
			delete(c.touched, id)
			continue
		}
		if item, has := c.items[id]; has {
			next[id] = item
		} else {
			delete(next, id)
		}
	}
	c.news = c.news || c.items != nil && !maps.EqualFunc(c.items, next, func(a, b T) bool { return reflect.DeepEqual(c.matters(a), c.matters(b)) })
	c.items, c.listed, c.names = next, c.forgotten <= began, map[string][]string{}
	for id, item := range next {
		c.names[c.name(item)] = append(c.names[c.name(item)], id)
	}
	c.settleMissed()
	for _, ids := range c.names {
		slices.Sort(ids)
	}
}

// isUsed reports whether the collection was ever listed.
func (c *Collection[T]) isUsed() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.items != nil
}

// lastRead is when the collection was last listed: zero for never.
func (c *Collection[T]) lastRead() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.read
}

// Forget forces a list before the next use of the collection: another client has written to it,
// or the outcome of a write is unknown.
func (c *Collection[T]) Forget() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.writes++
	c.listed, c.forgotten = false, c.writes
}

// forgetUntil forces a list of the collection unless it was listed after a time.
func (c *Collection[T]) forgetUntil(at time.Time) {
	c.mutex.Lock()
	known := c.asked.After(at)
	c.mutex.Unlock()
	if !known {
		c.Forget()
	}
}

// Get is the item of an ID.
func (c *Collection[T]) Get(id string) (item T, found bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	item, found = c.items[id]
	return item, found
}

// Named are the items of a name, in the order of their IDs.
func (c *Collection[T]) Named(name string) (items []T) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, id := range c.names[name] {
		items = append(items, c.items[id])
	}
	return items
}

// All are the items, in the order of their IDs.
func (c *Collection[T]) All() (items []T) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, id := range slices.Sorted(maps.Keys(c.items)) {
		items = append(items, c.items[id])
	}
	return items
}

// identity is a matters of items that differ in anything.
func identity[T any](item T) any { return item }
