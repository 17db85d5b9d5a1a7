package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// toy is a checkout of a module with one package for each suite.
func toy(t *testing.T) checkout {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module " + modulePath + "\n\ngo 1.26\n",
		"green/a_test.go": "package green\n\nimport \"testing\"\n\nfunc TestGreen(t *testing.T) {}\n",
		"red/a_test.go":   "package red\n\nimport \"testing\"\n\nfunc TestRed(t *testing.T) { t.Fatal(\"two is not three\") }\n",
		"none/a_test.go":  "package none\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		require.NoError(t, exec.Command("git", append([]string{"-C", root}, args...)...).Run())
	}
	return checkout{root: root, git: filepath.Join(root, ".git")}
}

func toySuite(name string, tier tier) suite {
	return suite{name: name, tier: tier, inputs: []string{name + "/"}, steps: []step{{packages: []string{"./" + name}, timeout: time.Minute}}}
}

// runToy runs suites and returns the output.
func runToy(t *testing.T, c checkout, o options, suites ...suite) (printed string, err error) {
	t.Helper()
	r, plan, out := begin(t, c, o, suites...)
	r.run(t.Context(), plan)
	err = r.report(plan)
	return out.String(), err
}

func TestAPassIsRecordedAndAFailureIsNot(t *testing.T) {
	c := toy(t)
	out, err := runToy(t, c, options{warnAfter: time.Hour}, toySuite("green", byInput), toySuite("red", byInput))
	require.ErrorIs(t, err, errRed)
	require.Regexp(t, `(?m)^ok      green `, out)
	require.Regexp(t, `(?m)^FAIL    red `, out)
	require.Contains(t, out, "two is not three")
	require.Contains(t, out, "\n1 passed, 1 failed, 0 skipped\n")

	kept, err := loadRecord(c.recordPath())
	require.NoError(t, err)
	require.Contains(t, kept.Suites["green"].Inputs, "green/a_test.go")
	require.True(t, kept.Suites["red"].Failed)
	require.True(t, kept.Suites["red"].Passed.IsZero())

	out, err = runToy(t, c, options{warnAfter: time.Hour}, toySuite("green", byInput), toySuite("red", byInput))
	require.ErrorIs(t, err, errRed)
	require.Regexp(t, `(?m)^green +skipped .* unchanged$`, out)
	require.Regexp(t, `(?m)^red +FAILED `, out)
}

// TestGoReusesResultsOfTheSameRecordOnly: without a record, and with other tools, tests
// really run.
func TestGoReusesResultsOfTheSameRecordOnly(t *testing.T) {
	c := toy(t)
	run := func() string {
		out, err := runToy(t, c, options{}, toySuite("green", everyRun))
		require.NoError(t, err, out)
		return out
	}
	require.Contains(t, run(), " 1 passed\n")
	require.Contains(t, run(), " 0 passed, 1 unchanged\n")
	kept, err := loadRecord(c.recordPath())
	require.NoError(t, err)
	kept.Environment = "other tools"
	require.NoError(t, kept.save(c.recordPath()))
	require.Contains(t, run(), " 1 passed\n")
	require.Contains(t, run(), " 0 passed, 1 unchanged\n")
	require.NoError(t, os.Remove(c.recordPath()))
	require.Contains(t, run(), " 1 passed\n")
}

func TestASuiteThatSelectsNoTestFails(t *testing.T) {
	out, err := runToy(t, toy(t), options{}, toySuite("none", everyRun))
	require.ErrorIs(t, err, errRed)
	require.Contains(t, out, "no test ran")
}

func TestTheBudgetLeavesOutWhatNoChangeNeeds(t *testing.T) {
	c := toy(t)
	due, must := toySuite("red", byInput), toySuite("green", everyRun)
	due.usual = time.Hour
	out, err := runToy(t, c, options{budget: time.Minute, warnAfter: time.Nanosecond}, due, must)
	require.NoError(t, err, out)
	require.Regexp(t, `(?m)^red +not run .* would take about 3600 s of a budget of 60 s`, out)
	require.Contains(t, out, "warning: the tests took longer than 0 s; the slowest suites: green ")
	kept, err := loadRecord(c.recordPath())
	require.NoError(t, err)
	require.Equal(t, 1, kept.Suites["red"].Missed)
}

// begin reads the checkout as a run does, which has not started its suites.
func begin(t *testing.T, c checkout, o options, suites ...suite) (*runner, []decision, *bytes.Buffer) {
	t.Helper()
	kept, err := loadRecord(c.recordPath())
	require.NoError(t, err)
	before, err := c.inputs(t.Context())
	require.NoError(t, err)
	kept.useEnvironment(before.environment)
	out := new(bytes.Buffer)
	return &runner{checkout: c, options: o, out: out, began: time.Now(), before: before, record: kept}, choose(suites, before, kept, o), out
}

func (c checkout) writeToy(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(c.root, name)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(c.root, name), []byte(text), 0o644))
}

const (
	passing = "package green\n\nimport \"testing\"\n\nfunc TestGreen(t *testing.T) {}\n"
	failing = "package green\n\nimport \"testing\"\n\nfunc TestGreen(t *testing.T) { t.Fatal(\"broken\") }\n"
)

// TestFilesThatChangeMeanwhileMakeNoPass: edited before the suite starts, and edited and
// restored.
func TestFilesThatChangeMeanwhileMakeNoPass(t *testing.T) {
	for name, edit := range map[string]func(checkout){
		"edited":   func(c checkout) { c.writeToy(t, "green/b_test.go", "package green\n") },
		"restored": func(c checkout) { c.writeToy(t, "green/a_test.go", passing) },
	} {
		c := toy(t)
		r, plan, out := begin(t, c, options{}, toySuite("green", byInput))
		edit(c)
		r.run(t.Context(), plan)
		require.ErrorIs(t, r.report(plan), errRed, name)
		require.Contains(t, out.String(), "its files changed while it ran", name)
		kept, err := loadRecord(c.recordPath())
		require.NoError(t, err)
		require.True(t, kept.Suites["green"].Passed.IsZero(), name)
	}
}

// TestAKilledRunLeavesNoPassForOtherFiles: a pass is of the files at its end, although the
// run has not reported.
func TestAKilledRunLeavesNoPassForOtherFiles(t *testing.T) {
	c := toy(t)
	c.writeToy(t, "green/a_test.go", failing)
	r, plan, _ := begin(t, c, options{}, toySuite("green", byInput))
	c.writeToy(t, "green/a_test.go", passing)
	r.run(t.Context(), plan)
	c.writeToy(t, "green/a_test.go", failing)
	out, err := runToy(t, c, options{}, toySuite("green", byInput))
	require.ErrorIs(t, err, errRed, out)
}

// TestWhatHasNotPassedMustRunOnceOthersHave: else a budget would hide that it is broken.
func TestWhatHasNotPassedMustRunOnceOthersHave(t *testing.T) {
	c := toy(t)
	slow := toySuite("red", byInput)
	slow.usual = time.Hour
	_, err := runToy(t, c, options{budget: time.Minute}, slow, toySuite("green", everyRun))
	require.NoError(t, err)
	out, err := runToy(t, c, options{budget: time.Minute}, slow, toySuite("green", everyRun))
	require.ErrorIs(t, err, errRed, out)
}

// TestAnotherSelectionIsAChange: what passed was another set of tests.
func TestAnotherSelectionIsAChange(t *testing.T) {
	c := toy(t)
	c.writeToy(t, "green/b_test.go", "package green\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) { t.Fatal(\"broken\") }\n")
	s := toySuite("green", byInput)
	s.steps[0].run = "^TestGreen$"
	_, err := runToy(t, c, options{}, s)
	require.NoError(t, err)
	s.steps[0].run = ""
	out, err := runToy(t, c, options{}, s)
	require.ErrorIs(t, err, errRed, out)
	require.Contains(t, out, "its selection changed")
}

// TestNoProcessOutlivesItsSuite: what a test leaves behind ends, in the group of the test
// program and in a session of its own, when the suite passes and when the run is interrupted.
func TestNoProcessOutlivesItsSuite(t *testing.T) {
	t.Parallel()
	const (
		session = "c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}"
		pause   = "time.Sleep(time.Hour)"
	)
	for name, tt := range map[string]struct{ attributes, then string }{
		"in the group":              {"", ""},
		"in a session":              {session, ""},
		"interrupted, in the group": {"", pause},
		"interrupted, in a session": {session, pause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, file := toy(t), filepath.Join(t.TempDir(), "pid")
			c.writeToy(t, "green/a_test.go", `package green

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

var _ syscall.Signal

func TestGreen(t *testing.T) {
	time.Sleep(0)
	c := exec.Command("sleep", "600")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	`+tt.attributes+`
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("`+file+`~", fmt.Append(nil, c.Process.Pid), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("`+file+`~", "`+file+`"); err != nil {
		t.Fatal(err)
	}
	`+tt.then+`
}
`)
			s := toySuite("green", byInput)
			s.steps[0].linked = true
			r, plan, out := begin(t, c, options{}, s)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				r.run(ctx, plan)
			}()
			require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, 2*time.Minute, 10*time.Millisecond)
			began := time.Now()
			if tt.then != "" {
				interrupt()
			}
			<-ended
			require.Less(t, time.Since(began), 5*time.Minute, "it holds up no suite")
			require.Equal(t, tt.then != "", r.report(plan) != nil, out)
			pid, err := os.ReadFile(file)
			require.NoError(t, err)
			command, _ := os.ReadFile(filepath.Join("/proc", string(pid), "cmdline"))
			require.Empty(t, string(command), "it has ended")
		})
	}
}

// TestASecondAttempt is for a few tests that start servers. Where it passes, the run is
// green, names the tests, and the suite has not passed.
func TestASecondAttempt(t *testing.T) {
	t.Parallel()
	const head = "package green\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestGreen(t *testing.T) {}\n\n" +
		"// once fails where no earlier attempt has left a file.\nfunc once(t *testing.T, name string) {\n" +
		"\tif _, err := os.Stat(name); err != nil {\n\t\tos.WriteFile(name, nil, 0o644)\n\t\tt.Fatal(\"too early\")\n\t}\n}\n\n"
	for name, c := range map[string]struct {
		tests   string
		options options
		alone   bool // without servers
		want    string
	}{
		"flaky":     {tests: "func TestOne(t *testing.T) { once(t, \"one\") }\n", want: "1 passed, 1 flaky"},
		"broken":    {tests: "func TestOne(t *testing.T) { t.Fatal(\"too early\") }\n"},
		"skipped":   {tests: "func TestOne(t *testing.T) { once(t, \"one\"); t.Skip() }\n"},
		"servers":   {tests: "func TestOne(t *testing.T) { once(t, \"one\") }\n", alone: true},
		"long":      {tests: "func TestOne(t *testing.T) { once(t, \"one\") }\n", options: options{long: true}},
		"panic":     {tests: "func TestOne(t *testing.T) { defer func() { if t.Failed() { panic(1) } }(); once(t, \"one\") }\n"},
		"exit":      {tests: "func TestOne(t *testing.T) { defer func() { if t.Failed() { os.Exit(1) } }(); once(t, \"one\") }\n"},
		"goroutine": {tests: "func TestOne(t *testing.T) { once(t, \"one\") }\n\nfunc TestTwo(t *testing.T) { go func() { panic(1) }(); select {} }\n"},
		"many": {tests: "func TestOne(t *testing.T) { once(t, \"1\") }\n\nfunc TestTwo(t *testing.T) { once(t, \"2\") }\n\n" +
			"func TestThree(t *testing.T) { once(t, \"3\") }\n\nfunc TestFour(t *testing.T) { once(t, \"4\") }\n"},
	} {
		for _, linked := range []bool{true, false} {
			if !linked && c.want == "" {
				continue
			}
			t.Run(fmt.Sprintf("%s, linked %t", name, linked), func(t *testing.T) {
				t.Parallel()
				folder := toy(t)
				folder.writeToy(t, ".gitignore", "/green/[a-z0-9]*\n!/green/*.go\n")
				folder.writeToy(t, "green/a_test.go", head+c.tests)
				s := toySuite("green", byInput)
				s.steps[0].servers, s.steps[0].linked, s.steps[0].fresh = !c.alone, linked, true
				out, err := runToy(t, folder, c.options, s)
				kept, loading := loadRecord(folder.recordPath())
				require.NoError(t, loading)
				require.True(t, kept.Suites["green"].Passed.IsZero())
				require.True(t, kept.Suites["green"].Failed)
				if c.want == "" {
					require.ErrorIs(t, err, errRed, out)
					return
				}
				require.NoError(t, err, out)
				require.Contains(t, out, "too early")
				require.Regexp(t, `(?m)^green +flaky .* `+c.want+`, log: `, out)
				require.Contains(t, out, "warning: flaky tests, which passed at the second attempt only: 1;")
				require.Contains(t, out, "\n2 passed, 0 failed, 0 skipped\n")
			})
		}
	}
}

// TestTwoRunsInACheckout: the second one would write its record over that of the first.
func TestTwoRunsInACheckout(t *testing.T) {
	c := toy(t)
	unlock, err := lockRecord(t.Context(), c.recordPath(), io.Discard)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var out bytes.Buffer
	_, err = lockRecord(ctx, c.recordPath(), &out)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "another run uses this checkout: waiting for it to end\n", out.String())
	unlock()
	unlock, err = lockRecord(t.Context(), c.recordPath(), io.Discard)
	require.NoError(t, err)
	unlock()
}

func TestAnInterruptedRunIsRed(t *testing.T) {
	c := toy(t)
	before, err := c.inputs(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	r := &runner{checkout: c, out: &out, began: time.Now(), before: before, record: newRecord()}
	plan := choose([]suite{toySuite("green", everyRun)}, before, newRecord(), options{})
	r.run(ctx, plan)
	require.ErrorIs(t, r.report(plan), errRed)
	require.Regexp(t, `(?m)^green +not run .*interrupted$`, out.String())
}

func TestRecordsThatCannotBeReadAreErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "record.json")
	r, err := loadRecord(name)
	require.NoError(t, err)
	require.Empty(t, r.Suites)
	for _, text := range []string{"", `{"version":1,"suites":`, `{"version":0}`, `{"version":1,"salt":-1,"suites":{}}`, `[]`} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		_, err = loadRecord(name)
		require.Error(t, err, text)
	}
	require.NoError(t, passedAll(1).save(name))
	r, err = loadRecord(name)
	require.NoError(t, err)
	require.Equal(t, passedAll(1), r)
}

func TestWithoutGitAllFilesCount(t *testing.T) {
	c := toy(t)
	require.NoError(t, os.RemoveAll(c.git))
	c.git = gitFolder(c.root)
	require.Empty(t, c.git)
	require.NoError(t, os.MkdirAll(filepath.Join(c.root, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(c.root, "bin", "built"), nil, 0o755))
	in, err := c.inputs(t.Context())
	require.NoError(t, err)
	require.Contains(t, in.files, "green/a_test.go")
	require.NotContains(t, in.files, "bin/built")
	_, err = runToy(t, c, options{}, toySuite("green", byInput))
	require.NoError(t, err)
}

func TestArguments(t *testing.T) {
	_, err := parse([]string{"unti"})
	require.ErrorContains(t, err, `no suite "unti"; the suites are unit, race, `)
	o, err := parse([]string{"--budget=5m", "unit"})
	require.NoError(t, err)
	require.Equal(t, 5*time.Minute, o.budget)
}
