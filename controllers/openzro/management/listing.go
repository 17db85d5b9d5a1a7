package management

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

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
		began, asked := c.writes, c.session.now()
		c.mutex.Unlock()
		items, weight, err := c.fetch(ctx, probe)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); ok && e.Cause == Forbidden {
				c.session.refused(e)
			}
			return nil, err
		}
		if err := c.confirm(items); err != nil {
			return nil, err
		}
		if !c.session.remember(place{c, ""}, weight) {
			err := tooMuch(c.path)
			c.session.refused(err)
			return nil, err
		}
		c.take(items, began)
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.asked, c.read = asked, c.session.now()
		return nil, nil
	})
	return err
}

// fetch requests the list.
func (c *Collection[T]) fetch(ctx context.Context, probe bool) (items []T, w weight, err error) {
	if c.decode == nil {
		answer := weighed{out: &items}
		err = c.session.ask(ctx, probe, http.MethodGet, c.label, c.path, nil, &answer)
		return items, answer.weight, err
	}
	answer := stream(func(body io.Reader) (err error) {
		items, w, err = c.decode(body)
		return err
	})
	err = c.session.ask(ctx, probe, http.MethodGet, c.label, c.path, nil, answer)
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
	now := c.session.now()
	if c.shrunk.IsZero() {
		c.shrunk = now
	}
	if now.Sub(c.shrunk) >= confirmPause {
		c.shrunk = time.Time{}
		return nil
	}
	c.session.refreshSoon(confirmPause)
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
