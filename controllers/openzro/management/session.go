package management

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/controllers/attempt"
)

// pauses are how long a server is left alone that cannot be used.
var pauses = attempt.Backoff{First: time.Second, Longest: 30 * time.Second, Jitter: 0.3}

// calm is the time after one outage during which the next continues it: a server may respond to
// lists, and hang on everything else.
const calm = time.Minute

// session is the state of a server that all collections of a tenant share: whether it can be used,
// and how much of it is cached.
type session struct {
	client *client
	now    func() time.Time

	mutex    sync.Mutex // guards the fields below, and those of the Tenant
	outage   *Error
	failures int
	until    time.Time
	// suffered reports an outage whose end Refresh has not returned yet.
	suffered bool
	// soon is when the tenant is refreshed before its interval is over, if that is not zero.
	soon time.Time
	// wrote is when something was last written, as far as is known.
	wrote   time.Time
	weights map[place]weight
}

// ask sends a request, unless the server is unusable. A probe is sent even then.
func (t *session) ask(ctx context.Context, probe bool, method, of, path string, body, out any) error {
	if outage := t.Outage(); outage != nil && !probe {
		return &Error{Cause: outage.Cause, Asked: outage.Asked, Code: outage.Code, Message: outage.Message}
	}
	err := t.client.do(ctx, method, of, path, body, out)
	if method != http.MethodGet {
		t.mutex.Lock()
		t.wrote = t.now()
		t.mutex.Unlock()
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err) // not an error of the server
	}
	t.note(err)
	return err
}

// note starts an outage after an error that makes the server unusable, and ends it after a
// response.
func (t *session) note(err error) {
	e, failed := errors.AsType[*Error](err)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	switch {
	case !failed || !e.ofTenant():
		t.outage = nil
	case t.outage != nil && t.now().Before(t.until):
		// Others that had been sent before.
	default:
		t.leaveAlone(e)
	}
}

// refused stops requests to a server that does not even list its items.
func (t *session) refused(e *Error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.leaveAlone(e)
}

// leaveAlone begins or extends an outage. t.mutex is locked.
func (t *session) leaveAlone(e *Error) {
	if t.now().Sub(t.until) > calm {
		t.failures = 0
	}
	t.failures++
	t.suffered, t.outage, t.until = true, e, t.now().Add(max(e.RetryAfter, pauses.Pause(t.failures)))
}

// Outage is why the server cannot be used: nil where it can.
func (t *session) Outage() *Error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.outage
}

// refreshSoon has the tenant refreshed after a pause, unless it is so before.
func (t *session) refreshSoon(pause time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if at := t.now().Add(pause); t.soon.IsZero() || t.soon.Before(t.now()) {
		t.soon = at
	}
}

// remember reports whether there is room for the data of a place.
func (t *session) remember(at place, w weight) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	all := w
	for other, has := range t.weights {
		if other != at && !(at.id == "" && other.collection == at.collection) {
			all.bytes, all.values = all.bytes+has.bytes, all.values+has.values
		}
	}
	if all.bytes > maxAnswer || all.values > maxValues {
		return false
	}
	if at.id == "" {
		t.release(at.collection)
	}
	t.weights[at] = w
	return true
}

// release forgets what a collection weighs. t.mutex is locked.
func (t *session) release(collection any) {
	for at := range t.weights {
		if at.collection == collection {
			delete(t.weights, at)
		}
	}
}
