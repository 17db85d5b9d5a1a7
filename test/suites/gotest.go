package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tally counts tests. Only tests without a parent count, as `go test` lists them.
type tally struct {
	passed, failed, skipped int
	// flaky counts the tests that passed at the second attempt only.
	flaky int
	// cached counts the tests of packages whose result Go reused.
	cached int
	slow   []timedTest
}

type timedTest struct {
	name     string
	duration time.Duration
}

func (t *tally) add(other tally) {
	t.passed += other.passed
	t.failed += other.failed
	t.flaky += other.flaky
	t.skipped += other.skipped
	t.cached += other.cached
	t.slow = append(t.slow, other.slow...)
}

func (t tally) String() string {
	text := fmt.Sprintf("%d passed", t.passed)
	if t.cached > 0 {
		text += fmt.Sprintf(", %d unchanged", t.cached)
	}
	if t.failed > 0 {
		text += fmt.Sprintf(", %d failed", t.failed)
	}
	if t.flaky > 0 {
		text += fmt.Sprintf(", %d flaky", t.flaky)
	}
	if t.skipped > 0 {
		text += fmt.Sprintf(", %d skipped", t.skipped)
	}
	return text
}

// failures is the error of a step whose tests failed.
type failures struct {
	// text is the output of what failed.
	text string
	// tests are the names of the failed tests without a parent, packages those that they
	// are in.
	tests, packages []string
	// complete is set where every test has run, and nothing failed but these tests.
	complete bool
}

func (f *failures) Error() string { return f.text }

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64
}

// runStep runs one step and logs its output.
func (r *runner) runStep(ctx context.Context, s suite, st step, log io.Writer) (tally, error) {
	if st.fuzz != "" {
		return r.runFuzz(ctx, st, log)
	}
	name, args, folder := "go", []string(nil), filepath.Join(r.checkout.root, st.module)
	var converter *process
	packages := st.packages
	if st.listed != nil {
		if packages = st.listed(r.packages); len(packages) == 0 {
			return tally{}, nil
		}
	}
	if st.linked {
		program, ok := r.linked[st.link()]
		if !ok {
			return tally{}, r.failures[st.link()]
		}
		converter = command("go", "tool", "test2json", "-t", "-p", path.Join(st.module, packages[0]))
		name, args = program, []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + st.timeout.String()}
		if st.run != "" {
			args = append(args, "-test.run="+st.run)
		}
		if st.skip != "" {
			args = append(args, "-test.skip="+st.skip)
		}
		folder = filepath.Join(folder, packages[0])
	} else {
		args = []string{"test", "-json", withoutSymbols, "-timeout=" + (st.timeout + r.record.Salt).String()}
		if st.run != "" {
			args = append(args, "-run="+st.run)
		}
		if st.skip != "" {
			args = append(args, "-skip="+st.skip)
		}
		if st.race {
			args = append(args, "-race")
		}
		if st.fresh {
			args = append(args, "-count=1")
		}
		args = append(args, packages...)
	}
	cmd := command(name, args...)
	cmd.Dir, cmd.Env = folder, r.environment(st)
	return r.follow(ctx, cmd, converter, log)
}

// environment is that of a step's command.
func (r *runner) environment(st step) []string {
	env := append(os.Environ(), r.goEnvironment(st.race)...)
	env = append(env, "GORACE=atexit_sleep_ms=50") // not a second for each program that a test starts
	programs := needPrograms
	if r.options.long {
		env = append(env, "LINTEL_RACE=1")
		programs = needRaced
	}
	if folder, ok := r.linked[programs]; ok {
		env = append(env, "LINTEL_PROGRAMS="+folder)
	}
	return append(env, st.env...)
}

// goEnvironment is one flavour of builds for everything, and another with the race
// detector: a further one would compile all packages again.
func (r *runner) goEnvironment(race bool) []string {
	cgo := "CGO_ENABLED=0"
	if race {
		cgo = "CGO_ENABLED=1"
	}
	return []string{cgo, "GOFLAGS=-trimpath -buildvcs=false"}
}

// leftover is how long output is read after a test program has ended.
const leftover = 10 * time.Second

// follow runs a command, counts its tests and logs their output. The command prints events,
// unless there is a converter, which creates them from its output. The error holds the output
// of the tests that failed.
func (r *runner) follow(ctx context.Context, cmd, converter *process, log io.Writer) (tally, error) {
	printing, wait, read := cmd, cmd.wait, make(chan struct{})
	defer close(read)
	if converter != nil {
		out, in, err := os.Pipe()
		if err != nil {
			return tally{}, err
		}
		defer in.Close()
		defer out.Close()
		cmd.Stdout, cmd.Stderr, converter.Stdin = in, in, out
		printing = converter
	}
	output, err := printing.StdoutPipe()
	if err != nil {
		return tally{}, err
	}
	problems := &tail{limit: 64 << 10}
	printing.Stderr = io.MultiWriter(log, problems)
	if err := cmd.start(ctx); err != nil {
		return tally{}, err
	}
	if converter != nil {
		cmd.Stdout.(*os.File).Close() // so that the output ends with the command
		if err := converter.start(context.WithoutCancel(ctx)); err != nil {
			return tally{}, errors.Join(err, cmd.kill())
		}
		defer converter.wait()
		ended := make(chan error, 1)
		go func() {
			ended <- cmd.wait()
			select {
			case <-read:
			case <-time.After(leftover): // what a test has started in a session of its own holds the output
				_ = converter.kill()
			}
		}()
		wait = func() error { return <-ended }
	}
	c := newCounter(log)
	lines := bufio.NewReaderSize(output, 1<<20)
	for {
		line, readErr := lines.ReadString('\n')
		if line != "" {
			c.line(line)
		}
		if readErr != nil {
			break
		}
	}
	err = wait()
	counted, failed := c.result()
	if failed == nil {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, problems)
		}
		return counted, err
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		failed.complete = false
	}
	return counted, failed
}

// counter reads events.
type counter struct {
	log    io.Writer
	output map[string]*tail // of tests and packages that may still fail
	cached map[string]bool  // packages whose result was reused
	tests  map[string][]timedTest
	tally  tally
	failed []string
	builds map[string]*tail
	// wrong are the names of failed tests without a parent, by package, and ended the
	// packages whose last test has ended.
	wrong map[string][]string
	ended map[string]bool
	// otherwise is set where a package failed without a failed test, or before its end.
	otherwise bool
}

func newCounter(log io.Writer) *counter {
	return &counter{log: log, output: map[string]*tail{}, cached: map[string]bool{}, tests: map[string][]timedTest{}, builds: map[string]*tail{},
		wrong: map[string][]string{}, ended: map[string]bool{}}
}

func (c *counter) line(text string) {
	var e event
	if json.Unmarshal([]byte(text), &e) != nil || e.Action == "" {
		fmt.Fprint(c.log, text)
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		fmt.Fprint(c.log, e.Output)
		if e.Test == "" && e.Output == "FAIL\n" { // printed by package testing, and not by a program that panics
			c.ended[e.Package] = true
		}
		if e.Test == "" && strings.HasSuffix(strings.TrimSpace(e.Output), "(cached)") {
			c.cached[e.Package] = true
		}
		c.keep(c.output, key, e.Output)
	case "build-output":
		fmt.Fprint(c.log, e.Output)
		c.keep(c.builds, e.ImportPath, e.Output)
	case "pass", "fail", "skip":
		c.verdict(e, key)
	}
}

func (c *counter) keep(in map[string]*tail, key, text string) {
	if in[key] == nil {
		in[key] = &tail{limit: 32 << 10}
	}
	_, _ = in[key].Write([]byte(text))
}

func (c *counter) verdict(e event, key string) {
	if e.Test == "" {
		c.packageEnded(e, key)
		return
	}
	if e.Action == "fail" {
		c.failed = append(c.failed, fmt.Sprintf("%s in %s:\n%s", e.Test, shortPackage(e.Package), c.output[key]))
	}
	delete(c.output, key)
	if strings.Contains(e.Test, "/") {
		return
	}
	took := timedTest{shortPackage(e.Package) + " " + e.Test, time.Duration(e.Elapsed * float64(time.Second))}
	switch e.Action {
	case "pass":
		c.tests[e.Package] = append(c.tests[e.Package], took)
	case "fail":
		c.wrong[e.Package] = append(c.wrong[e.Package], e.Test)
		c.tally.failed++
		c.tally.slow = append(c.tally.slow, took)
	case "skip":
		c.tally.skipped++
	}
}

// packageEnded counts the tests of a package once it is known whether they were cached.
func (c *counter) packageEnded(e event, key string) {
	if c.cached[e.Package] {
		c.tally.cached += len(c.tests[e.Package])
	} else {
		c.tally.passed += len(c.tests[e.Package])
		c.tally.slow = append(c.tally.slow, c.tests[e.Package]...)
	}
	delete(c.tests, e.Package)
	if e.Action == "fail" {
		c.otherwise = c.otherwise || len(c.wrong[e.Package]) == 0 || !c.ended[e.Package]
		text := c.output[key].String()
		if build := c.builds[e.FailedBuild]; build != nil {
			text = build.String() + text
		}
		c.failed = append(c.failed, fmt.Sprintf("package %s:\n%s", shortPackage(e.Package), text))
	}
	delete(c.output, key)
}

// result is the count, and what failed; nil if nothing did. A package that ended without a
// verdict, as one that was killed, is counted by its tests so far.
func (c *counter) result() (tally, *failures) {
	for _, pkg := range slices.Sorted(maps.Keys(c.tests)) {
		c.tally.passed += len(c.tests[pkg])
		c.tally.slow = append(c.tally.slow, c.tests[pkg]...)
		c.otherwise = true
	}
	if len(c.failed) == 0 {
		return c.tally, nil
	}
	failed := &failures{text: strings.Join(c.failed, "\n"), complete: !c.otherwise}
	for _, pkg := range slices.Sorted(maps.Keys(c.wrong)) {
		failed.packages = append(failed.packages, pkg)
		failed.tests = append(failed.tests, c.wrong[pkg]...)
	}
	return c.tally, failed
}

func shortPackage(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, modulePath), "/")
}

// tail keeps the end of the text that is written to it.
type tail struct {
	limit int
	text  []byte
	cut   bool
}

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	if over := len(t.text) - t.limit; over > t.limit {
		t.text, t.cut = slices.Clone(t.text[over:]), true
	}
	return len(text), nil
}

func (t *tail) String() string {
	if t == nil {
		return ""
	}
	text := t.text
	if over := len(text) - t.limit; over > 0 {
		text = text[over:]
	}
	if t.cut || len(text) < len(t.text) {
		return "…" + string(text)
	}
	return string(text)
}
