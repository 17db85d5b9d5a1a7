package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/policies/record/stores"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// partResult is what a part leaves in the store.
type partResult struct {
	checkpoint
	Part  int `json:"part"`
	Parts int `json:"parts"`
}

const (
	// maxParts bounds the Pods of a Job.
	maxParts = 1000
	// maxResultBytes bounds the result of a part. Its examples are whole requests.
	maxResultBytes = 1 << 30
)

func (o *options) resultName(job string, part int) string {
	return fmt.Sprintf("results/%s/%d.json", job, part)
}

// partInputs identifies a Job: the time is that of its results.
func (o *options) partInputs(candidate, baseline *side) string {
	return o.inputs(candidate, baseline, "part")
}

// beginPart reports whether the part has a result: its Pod was lost after it was written.
func (o *options) beginPart(ctx context.Context, candidate, baseline *side, state *checkpoint) (bool, error) {
	state.Inputs = o.partInputs(candidate, baseline)
	store, err := stores.OpenNamed(ctx, o.records[0])
	if err != nil {
		return false, err
	}
	defer store.Close() // only read
	found, err := o.readPart(ctx, store, o.result, o.part.Index)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	same := found.Inputs == state.Inputs && found.Parts == o.part.Of && found.Since.Equal(state.Since) && found.Until.Equal(state.Until)
	if !same {
		return false, fmt.Errorf("result %q is one of other policies, flags or times: give another --result", o.result)
	}
	return true, nil
}

func (o *options) readPart(ctx context.Context, store *record.Store, job string, part int) (*partResult, error) {
	name := o.resultName(job, part)
	text, err := store.ReadFile(ctx, name, maxResultBytes)
	if err != nil {
		return nil, fmt.Errorf("reading the result of part %d: %w", part, err)
	}
	found := &partResult{}
	if err := json.Unmarshal(text, found); err != nil {
		return nil, fmt.Errorf("%s is not the result of a part: %w", name, err)
	}
	if err := found.restore(); err != nil || found.Part != part || found.Parts < 1 || found.Parts > maxParts {
		return nil, fmt.Errorf("%s is damaged: run the part again, which replaces it", name)
	}
	return found, nil
}

// endPart writes the result of the part.
func (o *options) endPart(ctx context.Context, to io.Writer, state *checkpoint) error {
	state.keepRequests()
	text, err := json.Marshal(partResult{*state, o.part.Index, o.part.Of})
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	store, err := stores.OpenNamed(ctx, o.records[0])
	if err != nil {
		return err
	}
	if err := errors.Join(store.WriteFile(ctx, o.resultName(o.result, o.part.Index), bytes.NewReader(text)), store.Close()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	_, err = fmt.Fprintf(to, "part %d of %d: %s evaluated\n", o.part.Index, o.part.Of, countRequests(state.Tally.Requests))
	return err
}

// mergeParts returns the state of a run of all parts.
func (o *options) mergeParts(ctx context.Context, candidate, baseline *side) (*checkpoint, error) {
	store, err := stores.OpenNamed(ctx, o.records[0])
	if err != nil {
		return nil, err
	}
	defer store.Close() // only read
	inputs := o.partInputs(candidate, baseline)
	merged := &checkpoint{Tally: core.NewTally()}
	parts := 1
	for part := 0; part < parts; part++ {
		one, err := o.readPart(ctx, store, o.merge, part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("part %d of job %q has no result: wait until the Job is complete", part, o.merge)
		case err != nil:
			return nil, err
		case one.Inputs != inputs:
			return nil, fmt.Errorf("job %q has evaluated other policies or --examples: give those of the Job", o.merge)
		case part == 0:
			parts, merged.Since, merged.Until = one.Parts, one.Since, one.Until
		case one.Parts != parts || !one.Since.Equal(merged.Since) || !one.Until.Equal(merged.Until):
			return nil, fmt.Errorf("part %d of job %q is one of another run: run the Job again with another name", part, o.merge)
		}
		merged.Tally.Merge(one.Tally)
	}
	merged.Tally.SelectExamples(o.examples)
	merged.saved = time.Now()
	return merged, nil
}
