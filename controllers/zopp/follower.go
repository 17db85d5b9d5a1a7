package zopp

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
)

const (
	// spacing is the shortest time between the starts of two lists of an environment: a burst of
	// events leads to one list, and its first event to an immediate one.
	spacing = 75 * time.Millisecond
	// pollJitter is the share by which polls are early, so that they are spread over time.
	pollJitter = 0.2
	// stableAfter is how long a stream must last to end a series of failures.
	stableAfter = 10 * time.Second
	// soon is the longest delay before a stream that has lasted is reopened.
	soon = 100 * time.Millisecond
)

// identityInterval is the longest time between two comparisons of an environment's ID: the
// server does not report that an environment was deleted and re-created.
const identityInterval = 4 * time.Second

var (
	reconnect = attempt.Backoff{First: time.Second, Longest: time.Minute, Jitter: 0.5}
	// awayRetry is shorter: while there is no connection, trying costs the server nothing.
	awayRetry = attempt.Backoff{First: time.Second, Longest: time.Second, Jitter: 0.5}
)

// follower keeps up with one environment: it subscribes, then lists, and lists again after each
// event, since events carry no values and may be lost. It reopens streams that end, with a list
// after each, because the server does not replay events.
type follower struct {
	upstream        *upstream
	environment     store.Environment
	notify          func(context.Context, *follower) // enqueues the users
	ctx             context.Context
	cancel          context.CancelFunc
	users           map[user]time.Duration // by how often they want polls; the hub's mutex is over it
	interval        atomic.Int64           // between polls
	intervalChanged chan struct{}          // signals a changed interval
	recovered       chan struct{}          // has an element after the server's return
	latest          atomic.Pointer[snapshot]
	streaming       atomic.Bool
	unreachable     atomic.Bool  // reports that the last list did not reach a server
	failed          atomic.Int32 // how many lists have failed since one has not

	refused bool // reports that the server ended or refused the last stream; used by run only

	listing sync.Mutex // held by the list that runs
	began   time.Time  // of the last list
	failing time.Time  // when the first of the lists began that have all failed: zero where the last has not
}

func newFollower(ctx context.Context, u *upstream, environment store.Environment, notify func(context.Context, *follower)) *follower {
	f := &follower{
		upstream: u, environment: environment, notify: notify, users: map[user]time.Duration{},
		intervalChanged: make(chan struct{}, 1), recovered: make(chan struct{}, 1),
	}
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.interval.Store(math.MaxInt64)
	return f
}

// setInterval takes the shortest interval that a user wants. The hub's mutex is locked.
func (f *follower) setInterval() {
	interval := f.upstream.interval
	for _, wanted := range f.users {
		if wanted > 0 {
			interval = min(interval, wanted)
		}
	}
	if f.interval.Swap(int64(interval)) != int64(interval) {
		select {
		case f.intervalChanged <- struct{}{}:
		default:
		}
	}
}

// pause returns the delay before the next poll. It is short after a list that failed, since no
// event reports the missed changes.
func (f *follower) pause() time.Duration {
	next := attempt.Jitter(time.Duration(f.interval.Load()), pollJitter)
	if failed := f.failed.Load(); failed > 0 {
		next = min(next, f.retry(int(failed)))
	}
	return next
}

// run follows the environment until its last user drops it.
func (f *follower) run(ctx context.Context) {
	defer f.upstream.server.Forget(f.environment)
	poll, connect := time.NewTimer(f.pause()), time.NewTimer(0)
	defer poll.Stop()
	defer connect.Stop()
	identify := time.NewTimer(attempt.Jitter(identityInterval, pollJitter))
	defer identify.Stop()
	var open subscription
	defer func() { open.end() }()
	failures := 0
	for ctx.Err() == nil {
		f.check(&open)
		select {
		case <-ctx.Done():
			return
		case <-connect.C:
			open = f.subscribe(ctx)
			f.list(ctx, time.Time{})
			poll.Reset(f.pause())
		case noticed := <-open.changes:
			f.list(ctx, noticed)
			poll.Reset(f.pause())
		case err := <-open.ended:
			open.end()
			err = cmp.Or(open.left, err)
			prompt := time.Since(open.began) >= stableAfter || errors.Is(err, errMadeAnew) || f.isOver(open, err)
			open = subscription{}
			if failures++; prompt {
				failures = 0
			}
			connect.Reset(f.again(failures))
			if failures <= 1 && ctx.Err() == nil {
				log.FromContext(ctx).Info("the stream of an environment has ended, and is opened anew", "environment", f.environment.String(), "reason", err.Error())
			}
		case <-poll.C:
			f.list(ctx, time.Time{})
			poll.Reset(f.pause())
		case <-identify.C:
			if f.isAnother(ctx) {
				f.list(ctx, time.Time{})
				poll.Reset(f.pause())
				if f.failed.Load() == 0 && open.close == nil {
					failures = 0
					connect.Reset(f.again(failures))
				}
			}
			identify.Reset(attempt.Jitter(identityInterval, pollJitter))
		case <-f.recovered:
			switch {
			case open.close != nil:
				if f.unreachable.Load() {
					f.list(ctx, time.Time{})
					poll.Reset(f.pause())
				}
			case !f.refused:
				failures = 0
				connect.Reset(f.again(failures))
			}
		case <-f.intervalChanged:
			poll.Reset(f.pause())
		}
	}
}

// errMadeAnew and errDeleted are why a stream is left that a server leaves open.
var (
	errMadeAnew = errors.New("the environment was made anew, and its stream is that of the former one")
	errDeleted  = errors.New("the environment is not there any more")
)

// check closes a stream that no longer reports changes: that of an environment which was
// deleted, or replaced by another of the same name. Servers leave such a stream open.
func (f *follower) check(open *subscription) {
	latest := f.latest.Load()
	switch {
	case open.close == nil || open.left != nil || latest == nil:
	case latest.failure != nil && latest.failure.reason == string(store.ReasonNotFound):
		open.leave(errDeleted)
	case latest.contents == nil:
	case open.id == "":
		open.id = latest.contents.ID
	case open.id != latest.contents.ID:
		open.leave(errMadeAnew)
	}
}

// isOver reports whether a stream has ended by an outage that is over since. It also notes
// whether the server itself has refused the stream, which no recovery changes.
func (f *follower) isOver(ended subscription, err error) bool {
	known, ok := errors.AsType[*store.Error](err)
	f.refused = ok && known.Permanent()
	return !f.refused && ended.recoveries != f.upstream.outage.recoveries.Load()
}

// isAnother reports whether the environment was replaced since it was listed, is missing, or
// exists again. Other read errors are left to the next list.
func (f *follower) isAnother(ctx context.Context) bool {
	latest := f.latest.Load()
	if latest == nil || latest.contents == nil {
		return false
	}
	missing := latest.failure != nil && latest.failure.reason == string(store.ReasonNotFound)
	if !missing && (latest.failure != nil || f.failed.Load() > 0) {
		return false
	}
	recoveries := f.upstream.outage.recoveries.Load()
	id, err := f.upstream.server.Identify(ctx, f.environment)
	if known, ok := errors.AsType[*store.Error](err); ok {
		if known.Reason == store.ReasonUnreachable {
			f.upstream.outage.begin(recoveries)
		}
		return known.Reason == store.ReasonNotFound && !missing
	}
	return err == nil && (missing || id != latest.contents.ID)
}

// again returns the backoff before a stream is reopened: minimal if the last stream did not
// fail, and short while the server is down.
func (f *follower) again(failures int) time.Duration {
	if failures == 0 {
		return attempt.Jitter(soon, 1)
	}
	return f.retry(failures)
}

// retry is how long to wait after some failures.
func (f *follower) retry(failures int) time.Duration {
	if f.unreachable.Load() {
		return awayRetry.Pause(failures)
	}
	return reconnect.Pause(failures)
}

// subscription is a stream that is read. Its zero value has none.
type subscription struct {
	began time.Time
	// recoveries is how often the server had returned before.
	recoveries uint64
	// id is the ID of the environment before the subscription: "" if unknown.
	id string
	// changes receives the time of the first pending event, and ended is the reason why the
	// stream has ended.
	changes chan time.Time
	ended   chan error
	// close closes the stream, and returns when the reader has stopped: nil for none.
	close func()
	// left is why it was closed: nil where it was not, or ended by itself.
	left error
}

// leave closes the stream, which has ended then.
func (s *subscription) leave(why error) {
	s.left = why
	s.close()
}

func (s *subscription) end() {
	if s.close != nil {
		s.close()
	}
}

// subscribe opens a stream, and reads it without waiting for lists: a server drops events of
// slow readers. A stream that cannot be opened is returned as ended.
func (f *follower) subscribe(ctx context.Context) subscription {
	s := subscription{began: time.Now(), recoveries: f.upstream.outage.recoveries.Load(), changes: make(chan time.Time, 1), ended: make(chan error, 1)}
	if known := f.latest.Load(); known != nil && known.contents != nil && known.failure == nil {
		s.id = known.contents.ID
	}
	ctx, cancel := context.WithCancel(ctx)
	opened, err := f.upstream.server.Watch(ctx, f.environment)
	if err != nil {
		cancel()
		s.ended <- err
		return s
	}
	f.streaming.Store(true)
	f.upstream.outage.end()
	var reading sync.WaitGroup
	reading.Go(func() {
		defer f.streaming.Store(false)
		s.ended <- s.read(opened)
	})
	s.close = sync.OnceFunc(func() {
		cancel()
		opened.Close()
		reading.Wait()
	})
	return s
}

func (s *subscription) read(from stream) error {
	for {
		if _, err := from.Next(); err != nil {
			return err
		}
		select {
		case s.changes <- time.Now():
		default:
		}
	}
}

// list reads the environment, and notifies its users if the snapshot changes. Two lists of one
// environment never run concurrently, nor start shortly after one another.
func (f *follower) list(ctx context.Context, noticed time.Time) {
	f.listing.Lock()
	defer f.listing.Unlock()
	if !wait(ctx, spacing-time.Since(f.began)) {
		return
	}
	select {
	case f.upstream.lists <- struct{}{}:
	case <-ctx.Done():
		return
	}
	f.began = time.Now()
	recoveries := f.upstream.outage.recoveries.Load()
	contents, err := f.upstream.server.List(ctx, f.environment)
	<-f.upstream.lists
	if ctx.Err() != nil {
		return
	}
	was := f.latest.Load()
	is := f.next(was, contents, err, noticed, recoveries)
	f.latest.Store(is)
	if changed(was, is) {
		f.notify(ctx, f)
	}
}

// next returns the snapshot after a list, and records since when lists fail. recoveries is the
// number of recoveries of the server before the list. f.listing is locked.
func (f *follower) next(was *snapshot, contents *store.Contents, err error, noticed time.Time, recoveries uint64) *snapshot {
	if err == nil {
		f.failing = time.Time{}
		f.unreachable.Store(false)
		f.failed.Store(0)
		f.upstream.outage.end()
		return was.read(contents, f.began, noticed)
	}
	if f.failing.IsZero() {
		f.failing = f.began
	}
	failure := failureOf(err, f.failing)
	f.unreachable.Store(failure.isOutage() || failure.reason == string(store.ReasonInvalidCredentials))
	f.failed.Add(1)
	if failure.isOutage() {
		f.upstream.outage.begin(recoveries)
	}
	f.upstream.metrics.failures.WithLabelValues(failure.reason).Inc()
	return was.failed(failure, time.Now())
}

// wait waits for a time, unless the context is done before.
func wait(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
