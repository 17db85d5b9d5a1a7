package openzro

import (
	"errors"
	"fmt"
	"time"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// problem is the reason why an object is not in the desired state, for its status.
type problem struct {
	reason, message string
	// stalled reports that a retry does not help.
	stalled bool
	// passes reports a problem of the server that does not invalidate an object that was
	// reconciled before.
	passes bool
	// quiet marks a problem that ends soon, and is not reported.
	quiet bool
	// again is the delay before the next reconciliation, unless an event enqueues the object.
	again time.Duration
}

func (p *problem) Error() string { return p.message }

// isProblem reports whether an error is a *problem.
func isProblem(err error) bool {
	_, is := errors.AsType[*problem](err)
	return is
}

// withWayOut is the problem of an object that is deleted, with how to let it go even so.
func (p *problem) withWayOut() *problem {
	out := *p
	out.message += fmt.Sprintf("; to delete this object and leave its items at the server, annotate it with %s=%s", v1.DeletionPolicyAnnotation, v1.Retain)
	return &out
}

const (
	// waitPause is how long an object waits for another one, which wakes it most often.
	// Nothing is asked of the server meanwhile.
	waitPause = 5 * time.Second
	// linkedPause is the delay before the deletion of an item in use is retried.
	linkedPause = 2 * time.Second
	// failedPause is the delay before a retry after a failure that may pass, or whose end causes
	// no event.
	failedPause = 10 * time.Second
	// refusedPause is how long after a refusal a server is asked the same again.
	refusedPause = time.Minute
)

// waiting returns a problem that ends when a dependency exists.
func waiting(reason, format string, arguments ...any) *problem {
	return &problem{reason: reason, message: fmt.Sprintf(format, arguments...), again: waitPause}
}

// stillLinked is a problem of an object that is deleted and in use at the server.
func stillLinked(format string, arguments ...any) *problem {
	p := waiting(v1.ReasonStillLinked, format, arguments...)
	p.again = linkedPause
	return p
}

// inFlight is the problem of an object that is deleted while the server may still be creating
// an item for it: the item would stay behind.
func inFlight(kind string) *problem {
	return waiting(v1.ReasonDependency, "the server did not answer when the %s was created: this object is deleted once two lists agree on whether it exists", kind)
}

// stalled returns a problem that ends when the object is changed.
func stalled(reason, format string, arguments ...any) *problem {
	return &problem{reason: reason, message: fmt.Sprintf(format, arguments...), stalled: true, again: refusedPause}
}

// firstOf returns the first error. A failed withdrawal comes before the problem that made it
// necessary: joined with a problem, it would be reported and retried as the problem.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// problemOf converts an error of the server, with some credentials, to a problem of an object:
// nil for other errors.
func problemOf(err error, by credentials) *problem {
	if known, ok := errors.AsType[*problem](err); ok {
		return known
	}
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return nil
	}
	switch {
	case e.Cause == management.Unauthorized:
		return &problem{reason: v1.ReasonUnauthorized, again: refusedPause, message: fmt.Sprintf(
			"the server does not take the key in %s: put a personal access token there that has not expired, of a user with the role admin (%s)", by.where(), e)}
	case e.Cause == management.Forbidden:
		return &problem{reason: v1.ReasonForbidden, again: failedPause, message: fmt.Sprintf(
			"the user of the key in %s may not do this: it needs the role admin or owner (%s)", by.where(), e)}
	case e.Cause == management.AlreadyExists:
		return nameTaken(e)
	case e.Cause == management.Invalid:
		return stalled(v1.ReasonInvalidConfig, "the server refuses it (%s)", e)
	case e.Cause == management.RateLimited, e.Cause == management.Unavailable:
		return &problem{reason: v1.ReasonAPIError, passes: true, again: refusedPause, message: fmt.Sprintf(
			"the server of %s cannot be used now, and is tried again (%s)", by.URL, e)}
	}
	return &problem{reason: v1.ReasonAPIError, again: failedPause, message: e.Error()}
}

func nameTaken(err error) *problem {
	return &problem{reason: v1.ReasonDuplicateName, again: refusedPause, message: fmt.Sprintf(
		"another item at the server has this name: choose another name, or delete that item (%s)", err)}
}
