// Command suites runs the tests of the repository: those that every change needs, and
// of the slower suites those whose inputs have changed since they last passed in this
// checkout. The other suites run in rotation, each at least once in four runs.
//
// The invariant: a suite that did not run is never reported as passed, and a pass counts
// only for exactly the files that it was reached with.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	all, long bool
	// budget is the time from the start after which no suite starts that neither the
	// change nor every run needs; 0 for none.
	budget time.Duration
	// warnAfter is the duration of a run above which it prints a warning; 0 for none.
	warnAfter time.Duration
	names     []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := execute(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case errors.Is(err, errRed):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

// errRed says that a suite failed; the report has named it.
var errRed = errors.New("a suite failed")

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("suites", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: suites [flags] [suite…]\n\nWithout names, the suites are chosen by what changed.\n\n")
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.all, "all", false, "run every suite but the long ones")
	flags.BoolVar(&o.long, "long", false, "run every suite, with long properties, fuzzing, and the suites of e2e and of the chart against a manager with the race detector")
	flags.DurationVar(&o.budget, "budget", 0, "start no suite that is only due in rotation if it would end later than this; 0 for no limit")
	flags.DurationVar(&o.warnAfter, "warn-after", 25*time.Minute, "print a warning when the run takes longer; 0 for none")
	if err := flags.Parse(args); err != nil {
		return o, flag.ErrHelp
	}
	o.names = flags.Args()
	for _, name := range o.names {
		if !slices.ContainsFunc(catalog, func(s suite) bool { return s.name == name }) {
			return o, fmt.Errorf("no suite %q; the suites are %s", name, strings.Join(suiteNames(), ", "))
		}
	}
	return o, nil
}

func execute(ctx context.Context, args []string, out io.Writer) error {
	began := time.Now()
	o, err := parse(args)
	if err != nil {
		return err
	}
	c, err := findCheckout()
	if err != nil {
		return err
	}
	unlock, err := lockRecord(ctx, c.recordPath(), out)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := c.inputs(ctx)
	if err != nil {
		return err
	}
	kept, err := loadRecord(c.recordPath())
	if err != nil {
		fmt.Fprintf(out, "the record of earlier runs is unusable, so every suite runs: %v\n", err)
		kept = newRecord()
	}
	kept.useEnvironment(before.environment)
	plan := choose(catalog, before, kept, o)
	printPlan(out, plan)

	r := &runner{checkout: c, options: o, out: out, began: began, before: before, record: kept}
	r.run(ctx, plan)
	return r.report(plan)
}
