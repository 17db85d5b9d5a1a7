package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/policies/replay"
)

// ErrChanged reports that the records differ from those of the interrupted rehearsal: begin again.
var ErrChanged = errors.New("the records differ from those of the interrupted rehearsal")

// errPause ends a part of a rehearsal.
var errPause = errors.New("the time for this part is over")

// limits bound one part of a rehearsal.
type limits struct {
	// part is the time after which the evaluation pauses, and interval that between two reports.
	part, interval time.Duration
}

// evaluate counts the requests of a period, and reports the state at intervals and at the end.
func evaluate(ctx context.Context, request Request, l limits, report func(*Tally) error) error {
	replayer, err := replayerOf(request)
	if err != nil {
		return err
	}
	store, err := record.Open(ctx, request.Records)
	if err != nil {
		return err
	}
	defer store.Close() // only read
	tally := &Tally{}
	if request.Tally != nil {
		tally = request.Tally.clone()
	}
	started := time.Now()
	reported := started
	resumed := tally.Seen
	requests := replay.GroupRequests(replay.InOrder(ctx, store, request.Since, request.Until))
	err = replayer.Run(ctx, requests, 1, resumed, func(one *replay.Evaluated) error {
		var skipped *record.SkippedError
		switch {
		case errors.As(one.Err, &skipped):
			tally.skip(skipped.Records, skipped.Segment+": "+skipped.Err.Error())
			return nil
		case one.Err == nil && one.Result == nil: // the last request of the interrupted rehearsal
			if one.Request.UID != tally.Last {
				return ErrChanged
			}
			return nil
		case one.Err != nil && ctx.Err() != nil:
			return one.Err
		case one.Err != nil:
			tally.skip(int64(len(one.Request.Records)), "request "+one.Request.UID+": "+one.Err.Error())
		default:
			tally.add(one.Result)
		}
		tally.Seen++
		tally.Last = one.Request.UID
		for _, r := range one.Request.Records {
			if r.Time.After(tally.Newest) {
				tally.Newest = r.Time
			}
		}
		now := time.Now()
		if now.Sub(started) >= l.part {
			return errPause
		}
		if now.Sub(reported) >= l.interval {
			reported = now
			return report(tally.clone())
		}
		return nil
	})
	switch {
	case errors.Is(err, errPause):
	case errors.Is(err, replay.ErrFewer):
		return ErrChanged
	case err != nil:
		return err
	default:
		tally.Complete = true
	}
	return report(tally.clone())
}

// replayerOf compiles both sides. The other sources have no policies: their scopes alone matter.
func replayerOf(request Request) (*replay.Replayer, error) {
	resources := admission.NewResources(request.Resources)
	var exceptions []*exception.Exception
	for _, one := range request.Exceptions {
		compiled, err := one.Compiled()
		if err != nil {
			return nil, fmt.Errorf("PolicyException %s: %w", one.Name, err)
		}
		exceptions = append(exceptions, compiled)
	}
	var others []*engine.PolicySet
	for _, one := range request.Others {
		set, err := policyset.Compile(definition.Source{Name: one.Name, Revision: one.Revision, FailurePolicy: one.FailurePolicy, Scope: one.Scope, Created: one.Created})
		if err != nil {
			return nil, fmt.Errorf("the scope of source %s: %w", one.Name, err)
		}
		others = append(others, set)
	}
	snapshot := func(sets ...*engine.PolicySet) *engine.Snapshot {
		return engine.NewSnapshotWithExceptions(resources, exceptions, append(sets, others...)...)
	}
	var live *engine.PolicySet
	baseline := snapshot()
	if request.Live != nil {
		var err error
		if live, err = policyset.Compile(*request.Live, gatekeeper.Dialect); err != nil {
			return nil, fmt.Errorf("compiling the revision in force: %w", err)
		}
		baseline = snapshot(live)
	}
	candidate, err := policyset.Recompile(request.Candidate, live, gatekeeper.Dialect)
	if err != nil {
		return nil, fmt.Errorf("compiling the revision: %w", err)
	}
	replayer := replay.New(snapshot(candidate), baseline, time.Now())
	replayer.Unchanged(candidate.Unchanged(live))
	return replayer, nil
}
