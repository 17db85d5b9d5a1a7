package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// rotation is the number of runs in which each suite runs at least once.
const rotation = 4

// decision is whether a suite runs, and why.
type decision struct {
	suite suite
	run   bool
	// must is set for suites that a budget does not leave out.
	must   bool
	reason string
}

// choose decides about each suite of a run, in the order in which they start: first those
// that must run, the longest first, so that two at a time end together; then the others,
// in the order of how long ago they passed; then those that do not run.
func choose(all []suite, now inputs, kept record, o options) []decision {
	var plan []decision
	for _, s := range all {
		plan = append(plan, decide(s, now, kept, o))
	}
	if len(o.names) == 0 {
		rotate(plan, kept)
	}
	slices.SortStableFunc(plan, func(a, b decision) int {
		return cmp.Or(
			compareBool(a.run, b.run),
			compareBool(a.must, b.must),
			// A suite that waits for all slots would keep those empty that it has.
			compareBool(a.suite.alone, b.suite.alone),
			compareBool(a.suite.tier == everyRun, b.suite.tier == everyRun),
			byAge(a, b, kept),
		)
	})
	return plan
}

// compareBool orders true before false.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// byAge orders suites that must run by their duration and the others by their last pass.
func byAge(a, b decision, kept record) int {
	if a.must && b.must {
		return cmp.Compare(kept.estimate(b.suite), kept.estimate(a.suite))
	}
	return kept.Suites[a.suite.name].Passed.Compare(kept.Suites[b.suite.name].Passed)
}

func decide(s suite, now inputs, kept record, o options) decision {
	d := decision{suite: s}
	if len(o.names) > 0 {
		d.run = slices.Contains(o.names, s.name)
		d.must = d.run
		d.reason = "named"
		if !d.run {
			d.reason = "not named"
		}
		return d
	}
	known, passed := kept.Suites[s.name]
	passed = passed && !known.Passed.IsZero()
	changed := known.changed(now.of(s))
	switch {
	case s.tier == onlyLong && !o.long:
		d.reason = "runs with make test-long"
	case s.tier == everyRun:
		d.run, d.must, d.reason = true, true, "runs every time"
	case o.all || o.long:
		d.run, d.must, d.reason = true, true, "all suites were requested"
	case known.Failed:
		d.run, d.must, d.reason = true, true, "failed in an earlier run"
	case !passed:
		// Where nothing has passed yet, a budget may leave suites out; later, they must run.
		d.run, d.must, d.reason = true, kept.hasPasses(), "has not passed in this checkout yet"
	case len(changed) > 0:
		d.run, d.must, d.reason = true, true, changedReason(changed)
	case known.Missed >= rotation-1:
		d.run, d.reason = true, fmt.Sprintf("unchanged, but did not run in the last %d runs", known.Missed)
	default:
		d.reason = "unchanged"
	}
	return d
}

func changedReason(changed []string) string {
	if len(changed) == 1 {
		return changed[0] + " changed"
	}
	return fmt.Sprintf("%s and %d more changed", changed[0], len(changed)-1)
}

// rotate adds unchanged suites, the longest unrun first, until the suites that run for any
// reason take their share of the time of all. A suite that takes longer than the share waits
// until it is due.
func rotate(plan []decision, kept record) {
	var total, chosen time.Duration
	var candidates []*decision
	for i := range plan {
		d := &plan[i]
		if d.suite.tier != byInput {
			continue
		}
		total += kept.estimate(d.suite)
		switch {
		case d.run:
			chosen += kept.estimate(d.suite)
		default:
			candidates = append(candidates, d)
		}
	}
	slices.SortStableFunc(candidates, func(a, b *decision) int { return byAge(*a, *b, kept) })
	for _, d := range candidates {
		if next := chosen + kept.estimate(d.suite); next <= total/rotation {
			chosen = next
			d.run, d.reason = true, "unchanged, its turn in the rotation"
		}
	}
}
