package management

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Collection is the known contents of one path of a server. The returned items are shared and
// must not be changed.
type Collection[T any] struct {
	tenant *Tenant
	// path is below the base, and label names it in metrics.
	path, label string
	id, name    func(T) string
	// matters returns the fields of an item whose change counts.
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
	// missed are names and IDs that a fresh list did not have, and pending those that wait for
	// the next one. missedAt is when the last lists were asked for because of one.
	missed, pending map[string]bool
	missedAt        []time.Time
	// absent is when a fresh list first lacked what a creation without an answer may have
	// created.
	absent map[string]time.Time
	// unsure is when a creation was last sent whose outcome is not known.
	unsure    time.Time
	touched   map[string]uint64
	forgotten uint64
}

func newCollection[T any](t *Tenant, path, label string, id, name func(T) string, matters func(T) any) *Collection[T] {
	return &Collection[T]{tenant: t, path: path, label: label, id: id, name: name, matters: matters, touched: map[string]uint64{}}
}

// Load lists the collection, unless that has been done.
func (c *Collection[T]) Load(ctx context.Context) error {
	for range maxLists {
		if c.isListed() {
			return nil
		}
		if err := c.list(ctx, false); err != nil {
			return err
		}
	}
	return nil // others write all the time: a newer list would not be better
}

// maxLists limits how often a collection that changes meanwhile is listed.
const maxLists = 3

func (c *Collection[T]) isListed() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.listed
}

// Refresh lists the collection again, and reports whether it has changed without a write of
// ours. It sends the request even during an outage.
func (c *Collection[T]) Refresh(ctx context.Context) (changed bool, err error) {
	if err := c.list(ctx, true); err != nil {
		return false, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	changed, c.news = c.news, false
	return changed, nil
}

// list shares one request among concurrent callers.
func (c *Collection[T]) list(ctx context.Context, probe bool) error {
	ctx = context.WithoutCancel(ctx) // the first caller lists for all
	_, err, _ := c.flight.Do("", func() (any, error) {
		c.mutex.Lock()
		began, asked := c.writes, c.tenant.now()
		c.mutex.Unlock()
		items, weight, err := c.fetch(ctx, probe)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); ok && e.Cause == Forbidden {
				c.tenant.refused(e)
			}
			return nil, err
		}
		if err := c.confirm(items); err != nil {
			return nil, err
		}
		if !c.tenant.remember(place{c, ""}, weight) {
			err := tooMuch(c.path)
			c.tenant.refused(err)
			return nil, err
		}
		c.take(items, began)
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.asked, c.read = asked, c.tenant.now()
		return nil, nil
	})
	return err
}

// fetch requests the list.
func (c *Collection[T]) fetch(ctx context.Context, probe bool) (items []T, w weight, err error) {
	if c.decode == nil {
		answer := weighed{out: &items}
		err = c.tenant.ask(ctx, probe, http.MethodGet, c.label, c.path, nil, &answer)
		return items, answer.weight, err
	}
	answer := stream(func(body io.Reader) (err error) {
		items, w, err = c.decode(body)
		return err
	})
	err = c.tenant.ask(ctx, probe, http.MethodGet, c.label, c.path, nil, answer)
	return items, w, err
}

const (
	// confirmPause is how long after a list that lacks most of the known items another one
	// confirms it.
	confirmPause = 10 * time.Second
	// confirmFrom is the number of items below which a single list may remove most of them,
	// unless it removes all.
	confirmFrom = 4
)

// confirm refuses a list that lacks all or most of the items that are known, until another
// list lacks them a while later: otherwise, one wrong answer would create them all again.
func (c *Collection[T]) confirm(list []T) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	left := 0
	for _, item := range list {
		if _, known := c.items[c.id(item)]; known {
			left++
		}
	}
	known := len(c.items)
	if known == 0 || left > 0 && (known < confirmFrom || left*2 >= known) {
		c.shrunk = time.Time{}
		return nil
	}
	now := c.tenant.now()
	if c.shrunk.IsZero() {
		c.shrunk = now
	}
	if now.Sub(c.shrunk) >= confirmPause {
		c.shrunk = time.Time{}
		return nil
	}
	c.tenant.refreshSoon(confirmPause)
	return &Error{Cause: ServerError, Asked: "GET /api" + c.path, Code: http.StatusOK, Message: fmt.Sprintf(
		"the list has %d of the %d items that the server had before; nothing is changed until another list, %s later, confirms it", left, known, confirmPause)}
}

// Confirm returns the item of an ID. An item that the list lacks is read by its ID, before a
// replacement is created.
func (c *Collection[T]) Confirm(ctx context.Context, id string) (item T, found bool, err error) {
	if item, found = c.Get(id); found || id == "" {
		return item, found, nil
	}
	item, err = c.Read(ctx, id)
	if Is(err, NotFound) {
		return item, false, nil
	}
	return item, err == nil, err
}

const (
	// maxMissed limits the names of which is known that the server does not have them.
	maxMissed = 4096
	// missedLists is how many lists missing names cause within missedPause: many objects with
	// a missing reference each share the next one.
	missedLists = 4
	missedPause = 10 * time.Second
)

// Missed lists the collection again for names that it lacks, at most missedLists times within
// missedPause. Names beyond that are pending, and cause a refresh at the end of it.
func (c *Collection[T]) Missed(ctx context.Context, names ...string) (pending bool, err error) {
	if wait := c.addPending(names); wait != 0 {
		if wait > 0 {
			c.tenant.refreshSoon(wait)
		}
		return wait > 0, nil
	}
	return false, c.list(ctx, false)
}

// addPending notes names for the next list, and returns how long they have to wait for it:
// negative if none of them needs one.
func (c *Collection[T]) addPending(names []string) time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	fresh := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return c.missed[name] })
	if len(fresh) == 0 {
		return -1
	}
	if c.pending == nil || len(c.pending) > maxMissed {
		c.pending = map[string]bool{}
	}
	for _, name := range fresh {
		c.pending[name] = true
	}
	now := c.tenant.now()
	c.missedAt = slices.DeleteFunc(c.missedAt, func(at time.Time) bool { return now.Sub(at) >= missedPause })
	if len(c.missedAt) >= missedLists {
		return c.missedAt[0].Add(missedPause).Sub(now)
	}
	c.missedAt = append(c.missedAt, now)
	return 0
}

// settleMissed notes which of the pending names a fresh list lacks, and forgets those that it
// has. c.mutex is locked.
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

// Absent reports whether what a creation without an answer may have created is missing in two
// fresh lists, the second of them confirmPause after the first: the server may still be
// carrying the request out, and one list may be wrong. key names the creation.
func (c *Collection[T]) Absent(ctx context.Context, key string, matches func(T) bool) (bool, error) {
	if err := c.list(ctx, false); err != nil {
		return false, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, item := range c.items {
		if matches(item) {
			delete(c.absent, key)
			return false, nil
		}
	}
	now := c.tenant.now()
	since, known := c.absent[key]
	if known && now.Sub(since) >= confirmPause {
		delete(c.absent, key)
		return true, nil
	}
	if c.absent == nil || len(c.absent) > maxMissed {
		c.absent = map[string]time.Time{}
	}
	if !known {
		c.absent[key] = now
	}
	return false, nil
}

// IsUnsure reports whether a creation with an unknown outcome was sent within confirmPause. Its
// item may be missing in every list so far.
func (c *Collection[T]) IsUnsure() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return !c.unsure.IsZero() && c.tenant.now().Sub(c.unsure) < confirmPause
}

// AbsentIfUnsure is Absent if the outcome of a creation in the collection is unknown. Otherwise
// the known items lack the item, and no request is sent.
func (c *Collection[T]) AbsentIfUnsure(ctx context.Context, key string, matches func(T) bool) (bool, error) {
	unsure := c.IsUnsure()
	c.mutex.Lock()
	_, begun := c.absent[key]
	c.mutex.Unlock()
	if !unsure && !begun {
		return true, nil
	}
	return c.Absent(ctx, key, matches)
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

// Read reads one item from the server.
func (c *Collection[T]) Read(ctx context.Context, id string) (item T, err error) {
	answer := weighed{out: &item}
	err = c.tenant.ask(ctx, false, http.MethodGet, c.label, c.at(id), nil, &answer)
	return item, c.wrote(id, &item, answer.weight, err)
}

// Create creates an item.
func (c *Collection[T]) Create(ctx context.Context, request any) (item T, err error) {
	answer := weighed{out: &item}
	err = c.tenant.ask(ctx, false, http.MethodPost, c.label, c.path, request, &answer)
	if err == nil && c.id(item) == "" {
		err = &Error{Cause: Unavailable, Asked: "POST /api" + c.path, Message: "the answer has no id; check managementURL", Unsure: true}
	}
	if Unsure(err) {
		c.mutex.Lock()
		c.unsure = c.tenant.now()
		c.mutex.Unlock()
	}
	return item, c.wrote(c.id(item), &item, answer.weight, err)
}

// Update writes an item.
func (c *Collection[T]) Update(ctx context.Context, id string, request any) (item T, err error) {
	answer := weighed{out: &item}
	err = c.tenant.ask(ctx, false, http.MethodPut, c.label, c.at(id), request, &answer)
	return item, c.wrote(id, &item, answer.weight, err)
}

// Delete deletes an item. The error for a missing item is not always NotFound: see Gone.
func (c *Collection[T]) Delete(ctx context.Context, id string) error {
	err := c.tenant.ask(ctx, false, http.MethodDelete, c.label, c.at(id), nil, nil)
	return c.wrote(id, nil, weight{}, err)
}

// Remove is Delete for an item that may already be gone. Some collections respond to that with a
// generic error: Remove then checks whether the item exists.
func (c *Collection[T]) Remove(ctx context.Context, id string) error {
	err := c.Delete(ctx, id)
	if Is(err, Invalid) || Is(err, ServerError) {
		if _, again := c.Read(ctx, id); Is(again, NotFound) {
			return nil
		}
	}
	if Is(err, NotFound) {
		return nil
	}
	return err
}

func (c *Collection[T]) at(id string) string { return c.path + "/" + url.PathEscape(id) }

// wrote records the result of a write to an item: nil for a deleted one.
func (c *Collection[T]) wrote(id string, item *T, w weight, err error) error {
	switch {
	case Is(err, NotFound) && id != "":
		item = nil
	case Unsure(err) || Is(err, AlreadyExists) || Is(err, NotFound):
		c.Forget()
		return err
	case err != nil:
		return err
	case !c.tenant.remember(place{c, id}, w):
		c.Forget()
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.writes++
	c.touched[id] = c.writes
	c.unname(id)
	if item == nil {
		delete(c.items, id)
		return err
	}
	if c.items == nil {
		c.items, c.names = map[string]T{}, map[string][]string{}
	}
	known := *item
	if c.forget != nil {
		known = c.forget(known)
	}
	c.items[id] = known
	name := c.name(known)
	c.names[name] = append(c.names[name], id)
	slices.Sort(c.names[name])
	return nil
}

// unname takes an item out of those of its name. c.mutex is locked.
func (c *Collection[T]) unname(id string) {
	item, has := c.items[id]
	if !has {
		return
	}
	name := c.name(item)
	if c.names[name] = slices.DeleteFunc(c.names[name], func(other string) bool { return other == id }); len(c.names[name]) == 0 {
		delete(c.names, name)
	}
}

// identity is a matters of items that differ in anything.
func identity[T any](item T) any { return item }

// IDs are those of references, sorted.
func IDs(references []Reference) (ids []string) {
	for _, r := range references {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// SameIDs reports whether references have these IDs, in any order.
func SameIDs(references []Reference, ids []string) bool {
	return slices.Equal(IDs(references), slices.Sorted(slices.Values(ids)))
}
