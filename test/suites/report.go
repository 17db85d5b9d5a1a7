package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// slowest is how many tests the report lists.
const slowest = 10

// printPlan prints the suites that will run, and the reasons.
func printPlan(out io.Writer, plan []decision) {
	var run, left []string
	for _, d := range plan {
		if d.run {
			run = append(run, fmt.Sprintf("  %-16s %s", d.suite.name, d.reason))
		} else {
			left = append(left, d.suite.name)
		}
	}
	fmt.Fprintf(out, "suites to run:\n%s\n", strings.Join(run, "\n"))
	if len(left) > 0 {
		fmt.Fprintf(out, "suites to skip: %s\n", strings.Join(left, ", "))
	}
}

// report prints the suites that ran and that did not, and writes the record. Its error means
// that the run failed.
func (r *runner) report(plan []decision) error {
	var all tally
	red, left := false, 0
	fmt.Fprintf(r.out, "\n%-16s %-8s %8s  %-28s %s\n", "SUITE", "RESULT", "SECONDS", "LAST PASSED", "TESTS OR REASON")
	for _, d := range plan {
		o := r.outcomes[d.suite.name]
		kept := r.record.Suites[d.suite.name]
		all.add(o.tests)
		switch {
		case o.ran && o.err == nil && o.flaky != "":
			r.row(d, "flaky", o.duration, lastPassed(kept), o.tests.String()+", log: "+r.logOf(d.suite))
		case o.ran && o.err == nil:
			r.row(d, "passed", o.duration, "now", o.tests.String())
		case o.ran:
			red = true
			if o.tests.failed == 0 && !o.touched {
				all.failed++ // it failed without the verdict of a test
			}
			r.row(d, "FAILED", o.duration, lastPassed(kept), o.tests.String()+", log: "+r.logOf(d.suite))
		case d.run:
			red = red || d.must
			left++
			r.row(d, "not run", 0, lastPassed(kept), cmp.Or(o.notRun, "interrupted"))
		default:
			r.row(d, "skipped", 0, lastPassed(kept), d.reason)
		}
	}
	r.keepRun(plan)
	r.printDurations(all)
	if all.flaky > 0 {
		fmt.Fprintf(r.out, "warning: flaky tests, which passed at the second attempt only: %d; the next run repeats their suites\n", all.flaky)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", all.passed+all.cached+all.flaky, all.failed, all.skipped)
	if left > 0 {
		fmt.Fprintf(r.out, "suites that did not run for lack of time: %d; they come first in the next run\n", left)
	}
	if red {
		return errRed
	}
	return nil
}

func (r *runner) logOf(s suite) string {
	return r.checkout.relative(r.checkout.scratch("logs", s.name+".log"))
}

func (r *runner) row(d decision, result string, took time.Duration, passed, rest string) {
	duration := ""
	if took > 0 {
		duration = fmt.Sprintf("%.0f", took.Seconds())
	}
	fmt.Fprintf(r.out, "%-16s %-8s %8s  %-28s %s\n", d.suite.name, result, duration, passed, rest)
}

func lastPassed(kept entry) string {
	if kept.Passed.IsZero() {
		return "never here"
	}
	return strings.TrimSpace(kept.Passed.Format("2006-01-02 15:04") + " " + kept.Commit)
}

// keepRun counts the run for the suites that did not run in it. A run of named suites does not
// count for the rotation.
func (r *runner) keepRun(plan []decision) {
	for _, d := range plan {
		if kept := r.record.Suites[d.suite.name]; !r.outcomes[d.suite.name].ran && len(r.options.names) == 0 {
			kept.Missed++
			r.record.Suites[d.suite.name] = kept
		}
	}
	r.saveLocked()
}

func (r *runner) printDurations(all tally) {
	slices.SortFunc(all.slow, func(a, b timedTest) int { return cmp.Compare(b.duration, a.duration) })
	fmt.Fprintf(r.out, "\nslowest tests:\n")
	for _, t := range all.slow[:min(slowest, len(all.slow))] {
		fmt.Fprintf(r.out, "%8.1f s  %s\n", t.duration.Seconds(), t.name)
	}
	var builds []string
	for _, b := range r.builds {
		builds = append(builds, fmt.Sprintf("%s %s", b.what, seconds(b.duration)))
	}
	took := time.Since(r.began)
	fmt.Fprintf(r.out, "\nbuilds: %s\ntests: %s\n", strings.Join(builds, ", "), seconds(took))
	if limit := r.options.warnAfter; limit > 0 && took > limit {
		fmt.Fprintf(r.out, "warning: the tests took longer than %s; the slowest suites: %s\n", seconds(limit), r.slowSuites())
	}
}

func (r *runner) slowSuites() string {
	names := slices.SortedFunc(maps.Keys(r.outcomes), func(a, b string) int {
		return cmp.Compare(r.outcomes[b].duration, r.outcomes[a].duration)
	})
	var texts []string
	for _, name := range names[:min(3, len(names))] {
		texts = append(texts, fmt.Sprintf("%s %s", name, seconds(r.outcomes[name].duration)))
	}
	return strings.Join(texts, ", ")
}
