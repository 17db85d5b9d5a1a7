package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// needRaced are Lintel's programs with the race detector.
const needRaced = "Lintel's programs with the race detector"

// withoutSymbols leaves out what only debuggers read: linking takes a third less time.
const withoutSymbols = "-ldflags=-s -w"

// link identifies the test program of a step.
func (st step) link() string {
	return "the tests of " + filepath.Join(st.module, st.packages[0])
}

// build builds what the chosen suites need, before a time limit of a test runs.
func (r *runner) build(ctx context.Context, chosen []decision) {
	var needs []string
	links := map[string]step{}
	for _, d := range chosen {
		for _, need := range d.suite.needs {
			if need == needPrograms && r.options.long {
				need = needRaced
			}
			needs = append(needs, need)
		}
		for _, st := range d.suite.steps {
			if st.linked {
				links[st.link()] = st
				needs = append(needs, st.link())
			}
		}
	}
	slices.Sort(needs)
	for _, need := range slices.Compact(needs) {
		if ctx.Err() != nil {
			return
		}
		st, isLink := links[need]
		start := time.Now()
		var err error
		switch {
		case isLink:
			err = r.link(ctx, st)
		case need == needCluster:
			err = r.goCommand(ctx, false, "run", "-C", "test/cluster", ".", "build")
		case need == needNodes:
			err = r.goCommand(ctx, false, "run", "-C", "test/cluster", ".", "build", "--nodes=real")
		default:
			err = r.buildPrograms(ctx, need)
		}
		took := time.Since(start)
		r.builds = append(r.builds, timedBuild{need, took})
		if err != nil {
			r.failures[need] = err
			if need == needRaced {
				r.failures[needPrograms] = err
			}
			r.printf("FAIL    build %s\n%s", need, indent(err.Error()))
			continue
		}
		r.printf("built   %s, %s", need, seconds(took))
	}
	packages, err := r.listPackages(ctx)
	if err != nil {
		r.printf("FAIL    %v", err)
	}
	r.packages = packages
}

func (r *runner) link(ctx context.Context, st step) error {
	program := r.checkout.scratch("programs", strings.NewReplacer("/", "-", ".", "").Replace(filepath.Join(st.module, st.packages[0]))+".test")
	if err := r.goCommand(ctx, st.race, "test", "-C", filepath.Join(r.checkout.root, st.module), "-c", withoutSymbols, "-o", program, st.packages[0]); err != nil {
		return err
	}
	r.linked[st.link()] = program
	return nil
}

func (r *runner) buildPrograms(ctx context.Context, need string) error {
	race := need == needRaced
	folder := r.checkout.scratch("programs", "plain")
	args := []string{"build"}
	if race {
		folder = r.checkout.scratch("programs", "race")
		args = append(args, "-race")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("creating the folder of programs: %w", err)
	}
	if err := r.goCommand(ctx, race, append(args, "-o", folder+string(filepath.Separator), "./cmd/...")...); err != nil {
		return err
	}
	r.linked[need] = folder
	return nil
}

// goCommand runs the go command in the checkout; its progress goes to standard error.
func (r *runner) goCommand(ctx context.Context, race bool, args ...string) error {
	problems := &tail{limit: 16 << 10}
	cmd := command("go", args...)
	cmd.Dir, cmd.Env = r.checkout.root, append(os.Environ(), r.goEnvironment(race)...)
	cmd.Stdout, cmd.Stderr = problems, problems
	if args[0] == "run" {
		cmd.Stderr = io.MultiWriter(os.Stderr, problems)
	}
	if err := cmd.start(ctx); err != nil {
		return err
	}
	if err := cmd.wait(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, problems)
	}
	return nil
}

// listPackages are the packages of the main module.
func (r *runner) listPackages(ctx context.Context) ([]string, error) {
	var listed strings.Builder
	problems := &tail{limit: 16 << 10}
	cmd := command("go", "list", "./...")
	cmd.Dir, cmd.Env = r.checkout.root, append(os.Environ(), r.goEnvironment(false)...)
	cmd.Stdout, cmd.Stderr = &listed, problems
	if err := cmd.start(ctx); err != nil {
		return nil, err
	}
	if err := cmd.wait(); err != nil {
		return nil, fmt.Errorf("listing packages: %w\n%s", err, problems)
	}
	return strings.Fields(listed.String()), nil
}
