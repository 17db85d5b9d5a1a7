package replay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/records"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/record"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// side is the policies of --against or --baseline.
type side struct {
	sources  []sources.Source
	sets     []*engine.PolicySet
	snapshot *engine.Snapshot
	notes    []string
}

// readSide reads and compiles policies.
func readSide(ctx context.Context, paths, names []string, given sources.External, now time.Time) (*side, error) {
	read, err := sources.ReadWithGit(ctx, paths, names)
	if err != nil {
		return nil, err
	}
	s := &side{sources: read}
	if s.sets, err = sources.CompileAll(read); err != nil {
		return nil, err
	}
	found, err := sources.ReadExceptions(paths)
	if err != nil {
		return nil, err
	}
	var exceptions []*exception.Exception
	for _, one := range found {
		exceptions = append(exceptions, one.Exception)
	}
	files := map[string]string{} // the definitions of all sources
	for _, one := range read {
		for name, text := range one.Files {
			files[one.Name+"/"+name] = text
		}
	}
	_, resources, err := sources.Definitions(files)
	if err != nil {
		return nil, err
	}
	data, err := given.ReadNamed(s.sets)
	if err != nil {
		return nil, err
	}
	s.snapshot = engine.NewSnapshotWithExceptions(resources, exceptions, s.sets...).WithExternal(data)
	s.notes = slices.Concat(sources.Notes(read, s.sets, s.snapshot), sources.ExceptionNotes(found, s.sets, s.snapshot, now))
	return s, nil
}

// run returns the reason why there is no report, or a report.Exit.
func run(cmd *cobra.Command, o options) error {
	candidate, err := readSide(cmd.Context(), o.against, o.names, o.external, o.now)
	if err != nil {
		return err
	}
	var baseline *side
	var before *engine.Snapshot
	if len(o.baseline) > 0 {
		var names []string
		if len(o.baseline) == len(o.against) {
			names = o.names
		}
		if baseline, err = readSide(cmd.Context(), o.baseline, names, o.external, o.now); err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
		before = baseline.snapshot
	}
	switch {
	case o.job.parts > 0:
		return o.writeJob(cmd.OutOrStdout(), candidate, baseline)
	case o.merge != "":
		state, err := o.mergeParts(cmd.Context(), candidate, baseline)
		if err != nil {
			return err
		}
		return o.report(cmd, candidate, baseline, core.New(candidate.snapshot, before, o.now), state)
	}
	state, err := o.begin(candidate, baseline)
	if err != nil {
		return err
	}
	if o.part.Of > 0 {
		if done, err := o.beginPart(cmd.Context(), candidate, baseline, state); done || err != nil {
			return err
		}
	}
	for _, note := range candidate.notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", report.Printable(note))
	}
	in, err := records.Open(cmd.Context(), o.records, cmd.InOrStdin(), state.Since, state.Until)
	if err != nil {
		return err
	}
	defer in.Close()
	replayer := core.New(candidate.snapshot, before, o.now)
	progress := report.NewProgress(cmd.ErrOrStderr())
	progress.BeginOf("records", "requests", in.Total)
	err = o.evaluate(cmd.Context(), replayer, in, state, progress)
	progress.End()
	if err != nil {
		return o.interrupted(err, state)
	}
	if o.part.Of > 0 {
		return o.endPart(cmd.Context(), cmd.OutOrStdout(), state)
	}
	return o.report(cmd, candidate, baseline, replayer, state)
}

// report writes the report of all requests.
func (o *options) report(cmd *cobra.Command, candidate, baseline *side, replayer *core.Replayer, state *checkpoint) error {
	if state.Tally.Requests == 0 && len(state.Tally.Skipped) == 0 {
		return fmt.Errorf("there are no records from %s to %s: see --since", state.Since.UTC().Format(time.RFC3339), state.Until.UTC().Format(time.RFC3339))
	}
	if o.suite != "" {
		if err := writeSuite(cmd.Context(), o.suite, candidate, replayer, state.Tally); err != nil {
			return err
		}
	}
	found := newReport(*o, candidate, baseline, state)
	for _, note := range found.notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", report.Printable(note))
	}
	if err := found.write(cmd.OutOrStdout(), o.format.Name()); err != nil {
		return err
	}
	if err := o.end(); err != nil {
		return err
	}
	return found.exit()
}

// evaluate counts the results of all requests.
func (o *options) evaluate(ctx context.Context, replayer *core.Replayer, in *records.Input, state *checkpoint, progress *report.Progress) error {
	workers := o.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	resumed := state.Done
	progress.Add(resumed)
	return replayer.Run(ctx, o.part.Requests(core.GroupRequests(in.Records)), workers, resumed, func(one *core.Evaluated) error {
		var skipped *record.SkippedError
		switch {
		case errors.As(one.Err, &skipped):
			state.Tally.Skip(skipped.Segment, skipped.Err.Error(), max(skipped.Records, 1))
			return nil
		case one.Err == nil && one.Result == nil: // the last request of the run that is resumed
			if one.Request.UID != state.Last {
				return errors.New("the records differ from those of the run that is resumed: delete the file of --resume to start again")
			}
			return nil
		case one.Err != nil:
			state.Tally.Skip("request "+one.Request.UID, one.Err.Error(), int64(len(one.Request.Records)))
		default:
			replaced, others := replayer.Replaces(one.Request)
			if replaced {
				state.Tally.Replaced++
			}
			if others {
				state.Tally.OtherSources++
			}
			state.Tally.Add(one.Result, o.examples)
		}
		state.Done++
		state.Last = one.Request.UID
		progress.Add(1)
		return o.save(state, false)
	})
}

// interrupted saves the state of a run that did not end.
func (o *options) interrupted(err error, state *checkpoint) error {
	if o.resume == "" || !errors.Is(err, context.Canceled) {
		return fmt.Errorf("replaying the records: %w", err)
	}
	if err := o.save(state, true); err != nil {
		return err
	}
	return fmt.Errorf("interrupted after %s: run the same command again to continue", report.CountedAs(int(state.Done), "request", "requests"))
}
