package zopp

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
)

// outageGrace is how long a server may be unreachable before the outage is reported: a restart
// of the server is not worth two writes to every Secret.
const outageGrace = 10 * time.Second

// snapshot is the immutable known state of an environment at one time.
type snapshot struct {
	// contents are those that were read last: nil where none were yet.
	contents *store.Contents
	// began is when the read started.
	began time.Time
	// noticed is when the event came that led to them: zero where none did.
	noticed time.Time
	// failure is why nothing could be read since: nil where it could.
	failure *failure
}

// failure is why an environment cannot be read.
type failure struct {
	reason, message string
	// since is when it began.
	since time.Time
}

// reasonFailed is the reason of an error without a reason of its own.
const reasonFailed = "Failed"

func failureOf(err error, since time.Time) *failure {
	reason := reasonFailed
	if known, ok := errors.AsType[*store.Error](err); ok {
		reason = cmp.Or(string(known.Reason), reason)
	}
	return &failure{reason: reason, message: err.Error(), since: since}
}

// read is the snapshot after contents were read. Contents that are as before keep their
// time.
func (s *snapshot) read(contents *store.Contents, began, noticed time.Time) *snapshot {
	if s != nil && sameContents(s.contents, contents) {
		noticed = s.noticed
	}
	return &snapshot{contents: contents, began: began, noticed: noticed}
}

// failed returns the snapshot after a failed attempt, where all attempts have failed since the
// failure began. An outage that has just begun is not reported yet where there are contents.
func (s *snapshot) failed(failure *failure, now time.Time) *snapshot {
	next := snapshot{}
	if s != nil {
		next = *s
	}
	switch {
	case next.failure != nil && next.failure.reason == failure.reason:
	case failure.isOutage() && next.contents != nil && next.failure == nil && now.Sub(failure.since) < outageGrace:
	default:
		next.failure = failure
	}
	return &next
}

// isOutage reports whether the failure ends with the server's return.
func (f *failure) isOutage() bool { return f.reason == string(store.ReasonUnreachable) }

// changed reports whether the users of an environment must be enqueued.
func changed(was, is *snapshot) bool {
	switch {
	case was == nil || is == nil:
		return was != is
	case (was.failure == nil) != (is.failure == nil):
		return true
	case is.failure != nil && was.failure.reason != is.failure.reason:
		return true
	}
	return !sameContents(was.contents, is.contents)
}

// sameContents compares the values for a Secret, without versions.
func sameContents(a, b *store.Contents) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && slices.EqualFunc(a.Values, b.Values, func(a, b store.Value) bool {
		return a.Key == b.Key && bytes.Equal(a.Value, b.Value) && (a.Err == nil) == (b.Err == nil)
	})
}

// unreadable is how many values cannot be decrypted.
func (s *snapshot) unreadable() (n int) {
	if s == nil || s.contents == nil {
		return 0
	}
	for i := range s.contents.Values {
		if s.contents.Values[i].Err != nil {
			n++
		}
	}
	return n
}
