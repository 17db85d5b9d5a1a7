package management

import (
	"context"
	"net/http"
	"net/url"
	"slices"
)

// Read reads one item from the server.
func (c *Collection[T]) Read(ctx context.Context, id string) (item T, err error) {
	answer := weighed{out: &item}
	err = c.session.ask(ctx, false, http.MethodGet, c.label, c.at(id), nil, &answer)
	return item, c.wrote(id, &item, answer.weight, err)
}

// Create creates an item.
func (c *Collection[T]) Create(ctx context.Context, request any) (item T, err error) {
	answer := weighed{out: &item}
	err = c.session.ask(ctx, false, http.MethodPost, c.label, c.path, request, &answer)
	if err == nil && c.id(item) == "" {
		err = &Error{Cause: Unavailable, Asked: "POST /api" + c.path, Message: "the answer has no id; check managementURL", Unsure: true}
	}
	if Unsure(err) {
		c.mutex.Lock()
		c.unsure = c.session.now()
		c.mutex.Unlock()
	}
	return item, c.wrote(c.id(item), &item, answer.weight, err)
}

// Update writes an item.
func (c *Collection[T]) Update(ctx context.Context, id string, request any) (item T, err error) {
	answer := weighed{out: &item}
	err = c.session.ask(ctx, false, http.MethodPut, c.label, c.at(id), request, &answer)
	return item, c.wrote(id, &item, answer.weight, err)
}

// Delete deletes an item. The error for a missing item is not always NotFound: see Gone.
func (c *Collection[T]) Delete(ctx context.Context, id string) error {
	err := c.session.ask(ctx, false, http.MethodDelete, c.label, c.at(id), nil, nil)
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
	case !c.session.remember(place{c, id}, w):
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
