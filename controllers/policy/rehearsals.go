package policy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/tracing"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/policies/rehearsal"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/process"
)

const (
	// recordsInterval is the interval of looking for records while there are none, and
	// resultExpiry the time after which a revision that failed is rehearsed again with newer
	// records, or its period if that is shorter.
	// evaluatedInterval is that interval if the records had to be evaluated to know.
	recordsInterval   = 30 * time.Second
	evaluatedInterval = 5 * time.Minute
	resultExpiry      = 24 * time.Hour
	// listRecordsTimeout bounds the listing of a store.
	listRecordsTimeout = 30 * time.Second
	// statusInterval is the interval of status updates while a rehearsal runs.
	statusInterval = 15 * time.Second
	// limitRetry is the delay after a rehearsal that reached a limit.
	limitRetry = time.Hour
	// defaultSince is the period of an object that is older than the default of the API.
	defaultSince = 3 * 24 * time.Hour
)

// rehearseRetry is the delay after a rehearsal that failed for another reason than its result.
var rehearseRetry = attempt.Backoff{First: 5 * time.Second, Longest: 10 * time.Minute, Jitter: jitter}

// rehearsals evaluates revisions for recorded requests, one at a time, and stores the latest state
// of each source. It runs on the leader. Another leader continues from the status.
type rehearsals struct {
	live *engine.Live
	// records is the URL of the store; empty if the manager records nothing.
	records string
	// run runs a part of a rehearsal.
	run func(ctx context.Context, request rehearsal.Request, progress func(*rehearsal.Tally)) (*rehearsal.Tally, error)
	// newest returns the time of the newest record of a period, in a store: zero if there is none.
	newest   func(ctx context.Context, records string, since, until time.Time) (time.Time, error)
	attempts *attempt.Runner[rehearsed]
	turn     chan struct{} // has room for one

	mu     sync.Mutex // guards states and their content
	states map[string]*rehearsalState
}

// rehearsalState is the state of the last revision of a source.
type rehearsalState struct {
	uid          types.UID
	inputs       string
	since, until time.Time
	handled      string // the annotation that triggers checks
	tally        *rehearsal.Tally
	// missing is why there are no records, and failure why the last part has no result.
	missing, failure string
	// exceeded is the limit that the evaluation reached.
	exceeded string
	// running reports that a part was started whose outcome is not stored yet.
	running bool
}

// rehearsed is the outcome of one part.
type rehearsed struct {
	tally   *rehearsal.Tally
	missing string
	err     error
}

func newRehearsals(live *engine.Live, records, program string) *rehearsals {
	return &rehearsals{
		live: live, records: records, run: rehearsal.NewRunner(program).Run, newest: newestRecord,
		attempts: attempt.NewRunner[rehearsed](time.Now), turn: make(chan struct{}, 1), states: map[string]*rehearsalState{},
	}
}

// Start implements manager.Runnable: only the leader rehearses.
func (r *rehearsals) Start(ctx context.Context) error { return r.attempts.Start(ctx) }

// Forget drops the state of a deleted source and ends its rehearsal.
func (r *rehearsals) Forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, name)
	r.attempts.Forget(attempt.Name{Name: name})
}

// Look returns the state of the rehearsal of a revision that passed the gate, and the time until
// the next part. It starts a part if one is due. The state is nil if the source is not rehearsed.
func (r *rehearsals) Look(object *v1alpha1.PolicySource, set *engine.PolicySet) (*rehearsalOutcome, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	previous := object.Status.Rehearsal
	if previous != nil && previous.Digest != set.Digest() {
		previous = nil
	}
	switch {
	case object.Spec.Rehearse == nil:
		r.end(object.Name)
		return nil, reportExpiry
	case set.Digest() == object.Status.Digest:
		r.end(object.Name)
		return inForce(previous), reportExpiry
	case object.Annotations[v1alpha1.ApprovedRevisionAnnotation] == set.Digest():
		r.end(object.Name)
		return approved(set, previous), reportExpiry
	}
	live, ok := r.live.Get(object.Name)
	if object.Status.Digest == "" {
		live = nil
	} else if !ok || live.Digest() != object.Status.Digest {
		return held(set, previous, v1alpha1.RehearsalRunning, "the revision in force is being loaded"), reportExpiry
	}
	snapshot := r.live.Snapshot()
	if snapshot == nil {
		return held(set, previous, v1alpha1.RehearsalRunning, "the policies in force are being loaded"), reportExpiry
	}
	request, unrecorded := r.request(object, set, live, snapshot), unrecordedKinds(set, snapshot)
	state := r.state(object, previous, inputsOf(request, unrecorded))
	wait := r.step(object, state, request)
	return outcomeOf(object, set, state, r.records, unrecorded), wait
}

// end drops the state of a source without a rehearsal. The caller holds r.mu.
func (r *rehearsals) end(name string) {
	if r.states[name] != nil {
		delete(r.states, name)
		r.attempts.Forget(attempt.Name{Name: name})
	}
}

// request describes the rehearsal, without its period.
func (r *rehearsals) request(object *v1alpha1.PolicySource, set, live *engine.PolicySet, snapshot *engine.Snapshot) rehearsal.Request {
	request := rehearsal.Request{
		Records: r.records, Candidate: set.Source(), Exceptions: snapshot.Exceptions(),
		Resources: rehearsal.ResourcesOf(snapshot.Resources()),
	}
	if live != nil {
		baseline := source.FromPolicySource(object, live.Files(), live.Revision())
		request.Live = &baseline
	}
	for _, other := range r.live.Sets() {
		if other.Name() != object.Name {
			scope := other.Source()
			scope.Files, scope.Parameters = nil, nil
			request.Others = append(request.Others, scope)
		}
	}
	return request
}

// inputsOf identifies the compared sources and records. The revision of the files does not matter.
func inputsOf(request rehearsal.Request, unrecorded []string) string {
	identity := func(s definition.Source) string {
		s.Revision = ""
		return s.Identity()
	}
	inputs := []any{request.Records, identity(request.Candidate), request.Exceptions, unrecorded}
	if request.Live != nil {
		inputs = append(inputs, identity(*request.Live))
	}
	for _, other := range request.Others {
		inputs = append(inputs, other.Scope)
	}
	text, err := json.Marshal(inputs)
	if err != nil {
		panic("policies and exceptions always have JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("sha256:%x", sum)
}

// state returns the state for inputs: the present one, that of the status, or a new one.
func (r *rehearsals) state(object *v1alpha1.PolicySource, previous *v1alpha1.RehearsalStatus, inputs string) *rehearsalState {
	period := sinceOf(object.Spec.Rehearse)
	inputs += " " + period.String()
	annotation := object.Annotations[v1alpha1.ReconcileAtAnnotation]
	now := time.Now().UTC().Truncate(time.Second)
	state := r.states[object.Name]
	if state != nil && state.uid == object.UID && state.inputs == inputs {
		repeat := state.handled != annotation || now.Sub(state.until) > min(resultExpiry, period)
		if !repeat || !state.ended() {
			state.handled = annotation
			return state
		}
	} else if previous != nil && previous.Inputs == inputs && previous.Checkpoint != "" {
		tally := &rehearsal.Tally{}
		if json.Unmarshal([]byte(previous.Checkpoint), tally) == nil {
			state = &rehearsalState{uid: object.UID, inputs: inputs, since: previous.Since.Time, until: previous.Until.Time, handled: annotation, tally: tally}
			r.states[object.Name] = state
			return state
		}
	}
	state = &rehearsalState{uid: object.UID, inputs: inputs, since: now.Add(-period), until: now, handled: annotation}
	r.states[object.Name] = state
	return state
}

// ended reports whether the state has a result.
func (s *rehearsalState) ended() bool {
	return s.exceeded != "" || s.missing != "" || s.tally != nil && s.tally.Complete
}

// step handles the outcome of a part and starts the next one if it is due. It returns the time
// until then. The caller holds r.mu.
func (r *rehearsals) step(object *v1alpha1.PolicySource, state *rehearsalState, request rehearsal.Request) time.Duration {
	name := attempt.Name{Name: object.Name}
	if outcome, ended := r.attempts.Outcome(name, state); ended {
		state.running = false
		r.note(name, state, outcome)
	}
	if state.tally != nil && state.tally.Complete {
		return max(time.Until(state.until.Add(min(resultExpiry, state.until.Sub(state.since)))), 0) + time.Second
	}
	if wait := time.Until(r.attempts.Due(name, state)); wait > 0 || state.running {
		return max(wait, time.Second)
	}
	if state.tally == nil { // it begins: the period ends now
		now := time.Now().UTC().Truncate(time.Second)
		state.since, state.until = now.Add(-state.until.Sub(state.since)), now
	}
	request.Since, request.Until, request.Tally = state.since, state.until, state.tally
	state.running = true
	r.attempts.Begin(name, name, state, func(ctx context.Context) rehearsed {
		return r.rehearse(ctx, name, state, request)
	})
	return reportExpiry
}

// note stores the outcome of a part.
func (r *rehearsals) note(name attempt.Name, state *rehearsalState, outcome rehearsed) {
	state.missing, state.failure, state.exceeded = outcome.missing, "", ""
	var limit *process.LimitError
	switch {
	case errors.Is(outcome.err, rehearsal.ErrChanged):
		state.tally, state.failure = nil, outcome.err.Error()
		r.attempts.Failed(name, state, rehearseRetry)
	case errors.As(outcome.err, &limit):
		state.exceeded = limit.Error()
		r.attempts.Succeeded(name, state, limitRetry)
	case outcome.err != nil:
		state.failure = outcome.err.Error()
		r.attempts.Failed(name, state, rehearseRetry)
	case outcome.missing != "":
		r.attempts.Succeeded(name, state, recordsInterval)
	default:
		state.tally = outcome.tally
		if state.missing = state.missingAfter(); state.missing != "" {
			state.tally = nil
			r.attempts.Succeeded(name, state, evaluatedInterval)
			return
		}
		r.attempts.Succeeded(name, state, 0)
	}
}

// missingAfter returns why a complete evaluation does not count; empty if it does.
func (s *rehearsalState) missingAfter() string {
	switch {
	case !s.tally.Complete || s.tally.Unreadable > 0:
		return ""
	case s.tally.Requests == 0:
		return noRecords(s.since, s.until)
	}
	return tooOld(s.tally.Newest, s.since, s.until)
}

// rehearse runs a part when it has its turn.
func (r *rehearsals) rehearse(ctx context.Context, name attempt.Name, state *rehearsalState, request rehearsal.Request) (outcome rehearsed) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return rehearsed{err: ctx.Err()}
	}
	ctx, end := tracing.Step(ctx, "rehearse", name.Name)
	defer func() { end(outcome.err) }()
	if outcome.missing = r.missingRecords(ctx, request.Since, request.Until); outcome.missing != "" {
		return outcome
	}
	shown := time.Now()
	outcome.tally, outcome.err = r.run(ctx, request, func(tally *rehearsal.Tally) {
		if tally.Complete { // the outcome
			return
		}
		r.mu.Lock()
		state.tally = tally
		r.mu.Unlock()
		if time.Since(shown) >= statusInterval {
			shown = time.Now()
			r.attempts.Wake(ctx, name)
		}
	})
	return outcome
}

// missingRecords returns why there are no recent records; empty if there are.
func (r *rehearsals) missingRecords(ctx context.Context, since, until time.Time) string {
	if r.records == "" {
		return "the manager records no requests: set --record (record in the chart)"
	}
	ctx, cancel := context.WithTimeout(ctx, listRecordsTimeout)
	defer cancel()
	newest, err := r.newest(ctx, r.records, since, until)
	switch {
	case err != nil:
		return "the records cannot be read: " + err.Error()
	case newest.IsZero():
		return noRecords(since, until)
	}
	return tooOld(newest, since, until)
}

// noRecords must not name a time: the message would change with each attempt.
func noRecords(since, until time.Time) string {
	return "there are no records of requests of the last " + definition.FormatDays(until.Sub(since))
}

// tooOld returns why records are too old; empty if they are not.
func tooOld(newest, since, until time.Time) string {
	if until.Sub(newest) <= min(24*time.Hour, until.Sub(since)) {
		return ""
	}
	return fmt.Sprintf("the newest record is of %s, which is too old", newest.UTC().Format(time.RFC3339))
}

// newestRecord lists a store.
func newestRecord(ctx context.Context, records string, since, until time.Time) (newest time.Time, err error) {
	store, err := record.Open(ctx, records)
	if err != nil {
		return newest, err
	}
	defer store.Close() // only read
	segments, err := store.Segments(ctx, since, until)
	if err != nil {
		return newest, err
	}
	for _, segment := range segments {
		last := segment.Last
		if segment.Open { // its records are read later
			last = until
		}
		if last.After(newest) {
			newest = last
		}
	}
	return newest, nil
}

// sinceOf is the period of a rehearsal.
func sinceOf(spec *v1alpha1.Rehearse) time.Duration {
	period, err := definition.ParseDays(spec.Since)
	if spec.Since == "" || err != nil || period <= 0 {
		return defaultSince
	}
	return period
}

// timesOf are the times of a status.
func timesOf(state *rehearsalState) (since, until metav1.Time) {
	return metav1.NewTime(state.since), metav1.NewTime(state.until)
}
