package management

import (
	"context"
	"slices"
	"time"
)

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
			c.session.refreshSoon(wait)
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
	now := c.session.now()
	c.missedAt = slices.DeleteFunc(c.missedAt, func(at time.Time) bool { return now.Sub(at) >= missedPause })
	if len(c.missedAt) >= missedLists {
		return c.missedAt[0].Add(missedPause).Sub(now)
	}
	c.missedAt = append(c.missedAt, now)
	return 0
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
	now := c.session.now()
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
	return !c.unsure.IsZero() && c.session.now().Sub(c.unsure) < confirmPause
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
