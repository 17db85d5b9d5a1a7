package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/record"
)

// Replayer compares decisions. It is for any number of goroutines.
type Replayer struct {
	candidate, baseline *side
	// now is when exceptions must be in force: those that are created now had not been accepted
	// at the time of the record.
	now time.Time
	// unchanged are the policies that are the same on both sides.
	unchanged map[string]bool
}

// Unchanged declares policies that decide the same on both sides. If such a policy is undecided on
// both, it does not make a request undecided. It must be called before Evaluate.
func (r *Replayer) Unchanged(policies map[string]bool) { r.unchanged = policies }

// New returns a Replayer that compares a candidate with the recorded decisions or, if baseline
// is not nil, with those of the baseline.
func New(candidate, baseline *engine.Snapshot, now time.Time) *Replayer {
	r := &Replayer{candidate: newSide(candidate), now: now}
	if baseline != nil {
		r.baseline = newSide(baseline)
	}
	return r
}

// side is one of the snapshots that are compared.
type side struct {
	snapshot *engine.Snapshot
	sources  map[string]bool
	mutates  bool
}

func newSide(snapshot *engine.Snapshot) *side {
	s := &side{snapshot: snapshot, sources: map[string]bool{}}
	for _, policy := range snapshot.Policies() {
		s.sources[policy.Source] = true
		s.mutates = s.mutates || policy.Mutates
	}
	return s
}

// replaces reports whether findings of a source are those of the candidate or the baseline.
func (r *Replayer) replaces(source string) bool {
	return r.candidate.sources[source] || r.baseline != nil && r.baseline.sources[source]
}

// Replaces reports whether a record has findings of a source that the candidate replaces.
func (r *Replayer) Replaces(request *Request) (replaced, others bool) {
	for _, one := range request.Records {
		for _, finding := range slices.Concat(one.Decision.Denials, one.Decision.Warnings, one.Decision.Audits) {
			if r.replaces(finding.Source) {
				replaced = true
			} else if finding.Source != "" {
				others = true
			}
		}
	}
	return replaced, others
}

// decision is the decision of one side about a request.
type decision struct {
	Findings
	undecided []engine.Undecided
	steps     int64
	patch     []any
	// hasPatch reports that the patch is that of the policies that are compared.
	hasPatch bool
}

// Evaluate compares the decisions about a request. The error is that of the context, or that of a
// record that cannot be read.
func (r *Replayer) Evaluate(ctx context.Context, request *Request) (*Result, error) {
	in, err := newInput(request)
	if err != nil {
		return nil, err
	}
	result := &Result{Subject: in.subject, Request: request}
	if in.undecided != nil {
		result.Outcome, result.Undecided = Undecided, in.undecided
		return result, nil
	}
	others := in.recorded(func(source string) bool { return !r.replaces(source) })
	after, err := r.decide(ctx, r.candidate, in)
	if err != nil {
		return nil, err
	}
	before := decision{}
	if r.baseline != nil {
		if before, err = r.decide(ctx, r.baseline, in); err != nil {
			return nil, err
		}
	} else {
		before.Findings = in.recorded(r.replaces)
		before.patch, before.hasPatch = in.patches(), after.hasPatch
		if reason := in.failure(); reason != "" {
			before.undecided = []engine.Undecided{{Reason: "the recorded request could not be evaluated: " + reason}}
		}
	}
	r.dropUnchanged(&before, &after)
	result.compare(&before, &after, others, in)
	return result, nil
}

// dropUnchanged removes the undecided policies that are the same on both sides and undecided for the
// same reason: their decisions are equal.
func (r *Replayer) dropUnchanged(before, after *decision) {
	same := func(one engine.Undecided) bool {
		return r.unchanged[one.Policy] && slices.Contains(before.undecided, one) && slices.Contains(after.undecided, one)
	}
	inBefore, inAfter := []engine.Undecided(nil), []engine.Undecided(nil)
	for _, one := range before.undecided {
		if !same(one) {
			inBefore = append(inBefore, one)
		}
	}
	for _, one := range after.undecided {
		if !same(one) {
			inAfter = append(inAfter, one)
		}
	}
	before.undecided, after.undecided = inBefore, inAfter
}

// decide evaluates the policies of a side.
func (r *Replayer) decide(ctx context.Context, s *side, in *input) (decision, error) {
	var d decision
	options := engine.Options{
		Namespace: in.namespace, Cluster: in.cluster, Offline: true, Clock: func() time.Time { return in.subject.Time },
		ExceptionsAt: r.now,
	}
	add := func(made *engine.Decision) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("evaluating %s: %w", in.subject.Title(), err)
		}
		d.add(made)
		d.steps += made.Steps
		return nil
	}
	d.hasPatch = in.mutation != nil && (s.mutates || r.baseline != nil)
	if d.hasPatch && s.mutates {
		mutation := s.snapshot.Mutate(ctx, in.mutation, options)
		if err := add(&mutation.Decision); err != nil {
			return d, err
		}
		for _, op := range mutation.Patch {
			d.patch = append(d.patch, op)
		}
	}
	if in.validation != nil {
		if err := add(s.snapshot.Validate(ctx, in.validation, options)); err != nil {
			return d, err
		}
	}
	return d, nil
}

func isTimeout(f engine.Finding) bool { return f.Limit == "timeout" }

// add adds the findings of a decision. A timeout is undecided: it depends on the machine.
func (d *decision) add(made *engine.Decision) {
	d.undecided = append(d.undecided, made.Undecided...)
	for _, part := range []struct {
		from []engine.Finding
		to   *[]record.Finding
	}{{made.Denials, &d.Denials}, {made.Warnings, &d.Warnings}} {
		for _, finding := range part.from {
			if isTimeout(finding) {
				d.undecided = append(d.undecided, engine.Undecided{Policy: finding.Policy, Reason: "it reached its timeout on this machine"})
				continue
			}
			*part.to = append(*part.to, findingOf(finding))
		}
	}
}

// findingOf is a finding as it is recorded.
func findingOf(f engine.Finding) record.Finding {
	return record.Finding{
		Policy: f.Policy, Rule: f.Rule, Location: f.Location.String(), Source: f.Source, Revision: f.Revision,
		Scope: string(f.Scope), Field: f.Field, Msg: f.ShortWords(), Error: f.Error,
	}
}
