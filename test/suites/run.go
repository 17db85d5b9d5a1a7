package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// slots is how many suites run at the same time: most of them wait for servers.
const slots = 2

// outcome is what became of a suite.
type outcome struct {
	ran      bool
	err      error
	duration time.Duration
	tests    tally
	// notRun is why a chosen suite did not run.
	notRun string
	// flaky is the output of the tests that passed at the second attempt only. They make no
	// run red, but their suite has not passed: the next run repeats it.
	flaky string
	// touched is set where files of the suite changed while it ran: its pass says nothing.
	touched bool
}

// runner runs the suites of a plan.
type runner struct {
	checkout checkout
	options  options
	out      io.Writer
	began    time.Time
	before   inputs
	record   record

	mu       sync.Mutex
	outcomes map[string]outcome
	failures map[string]error // of builds, by program
	builds   []timedBuild
	linked   map[string]string // paths of linked test programs
	packages []string
}

type timedBuild struct {
	what     string
	duration time.Duration
}

func (r *runner) printf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

// run builds what the chosen suites need and runs them.
func (r *runner) run(ctx context.Context, plan []decision) {
	r.outcomes, r.failures, r.linked = map[string]outcome{}, map[string]error{}, map[string]string{}
	if err := os.RemoveAll(r.checkout.scratch("logs")); err != nil {
		r.printf("deleting the logs of the last run: %v", err)
	}
	chosen := slices.DeleteFunc(slices.Clone(plan), func(d decision) bool { return !d.run })
	r.build(ctx, chosen)
	free := make(chan struct{}, slots)
	var running sync.WaitGroup
	for _, d := range chosen {
		taken := 1
		if d.suite.alone {
			taken = slots
		}
		for range taken {
			free <- struct{}{}
		}
		release := func() {
			for range taken {
				<-free
			}
		}
		if why := r.refuses(ctx, d); why != "" {
			r.end(d, outcome{notRun: why})
			release()
			continue
		}
		running.Go(func() {
			defer release()
			r.runSuite(ctx, d)
		})
	}
	running.Wait()
}

// refuses is why a chosen suite does not start; empty if it does.
func (r *runner) refuses(ctx context.Context, d decision) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	estimate := r.record.estimate(d.suite)
	elapsed := time.Since(r.began)
	if r.options.budget > 0 && !d.must && elapsed+estimate > r.options.budget {
		return fmt.Sprintf("would take about %s of a budget of %s, of which %s are used", seconds(estimate), seconds(r.options.budget), seconds(elapsed))
	}
	return ""
}

func (r *runner) runSuite(ctx context.Context, d decision) {
	s := d.suite
	for _, need := range s.needs {
		if err := r.failures[need]; err != nil {
			r.end(d, outcome{ran: true, err: fmt.Errorf("building %s: %w", need, err)})
			return
		}
	}
	r.printf("start   %-16s %s", s.name, d.reason)
	start := time.Now()
	log, err := r.createLog(s.name)
	if err != nil {
		r.end(d, outcome{ran: true, err: err})
		return
	}
	defer log.Close()
	o := outcome{ran: true}
	var failed []error
	for _, st := range s.steps {
		counted, flaky, err := r.runStepTwice(ctx, s, st, log)
		o.tests.add(counted)
		o.flaky += flaky
		failed = append(failed, err)
		if ctx.Err() != nil {
			failed = append(failed, errors.New("interrupted"))
			break
		}
	}
	o.err = errors.Join(failed...)
	if o.err == nil && o.tests.passed+o.tests.cached+o.tests.flaky == 0 {
		o.err = errors.New("no test ran: the suite selects none")
	}
	o.duration = time.Since(start)
	if o.err == nil && s.tier == byInput && !r.untouched(ctx, s) {
		o.touched = true
		o.err = errors.New("its files changed while it ran, so its pass does not count")
	}
	r.end(d, o)
}

// maxFlaky is how many failed tests of a step get a second attempt: more are a fault.
const maxFlaky = 3

// runStepTwice runs a step, and then once more those of its tests that start servers and
// have failed, if they are few. flaky is the output of the first attempt where the second
// one passes. In a long run, nothing is tried again: the race detector does not find a race
// every time.
func (r *runner) runStepTwice(ctx context.Context, s suite, st step, log io.Writer) (counted tally, flaky string, err error) {
	counted, err = r.runStep(ctx, s, st, log)
	failed := (*failures)(nil)
	if !st.servers || r.options.long || ctx.Err() != nil || !errors.As(err, &failed) || !failed.complete || len(failed.tests) > maxFlaky {
		return counted, "", err
	}
	r.printf("again   %-16s %s failed:\n%s", s.name, strings.Join(failed.tests, ", "), indent(failed.text))
	st.run = "^(" + strings.Join(failed.tests, "|") + ")$"
	if !st.linked {
		st.packages = failed.packages
	}
	second, err := r.runStep(ctx, s, st, log)
	switch {
	case err != nil:
		return counted, "", fmt.Errorf("%w\nand again at the second attempt:\n%w", failed, err)
	case second.passed < len(failed.tests):
		return counted, "", fmt.Errorf("%w\nand %d of %d tests passed at the second attempt", failed, second.passed, len(failed.tests))
	}
	counted.failed -= len(failed.tests)
	counted.flaky += len(failed.tests)
	return counted, failed.text, nil
}

// untouched says that the files of a suite are as they were when the run began and built
// what its suites share.
func (r *runner) untouched(ctx context.Context, s suite) bool {
	now, err := r.checkout.inputs(context.WithoutCancel(ctx))
	return err == nil && now.unchangedSince(r.before, s)
}

// end reports the outcome of a suite and records it.
func (r *runner) end(d decision, o outcome) {
	name := d.suite.name
	switch {
	case !o.ran:
		r.printf("not run %-16s %s", name, o.notRun)
	case o.err != nil:
		r.printf("FAIL    %-16s %s  %s\n%s", name, seconds(o.duration), o.tests, indent(o.err.Error()))
	case o.flaky != "":
		r.printf("flaky   %-16s %s  %s", name, seconds(o.duration), o.tests)
	default:
		r.printf("ok      %-16s %s  %s", name, seconds(o.duration), o.tests)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[name] = o
	if !o.ran {
		return
	}
	kept := r.record.Suites[name]
	kept.Missed = 0
	kept.Failed = o.err != nil || o.flaky != ""
	if !kept.Failed {
		kept.Seconds = o.duration.Seconds()
		kept.Passed, kept.Commit, kept.Inputs = time.Now().UTC().Truncate(time.Second), r.checkout.commit(), r.before.of(d.suite)
	}
	r.record.Suites[name] = kept
	r.saveLocked()
}

// saveLocked writes the results so far: a run that is killed loses no pass.
func (r *runner) saveLocked() {
	if err := r.record.save(r.checkout.recordPath()); err != nil {
		fmt.Fprintf(r.out, "the result is not recorded, so the next run repeats it: %v\n", err)
	}
}

func (r *runner) createLog(name string) (*os.File, error) {
	if err := os.MkdirAll(r.checkout.scratch("logs"), 0o755); err != nil {
		return nil, fmt.Errorf("creating the folder of logs: %w", err)
	}
	log, err := os.Create(r.checkout.scratch("logs", name+".log"))
	if err != nil {
		return nil, fmt.Errorf("creating the log: %w", err)
	}
	return log, nil
}

// seconds is a duration as reports have it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

func indent(text string) string {
	return "        " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n        ")
}

// relative is a path as a reader of the report can open it.
func (c checkout) relative(name string) string {
	if short, err := filepath.Rel(c.root, name); err == nil {
		return short
	}
	return name
}
