package main

import (
	"bytes"
	"context"
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

// runToy runs suites and is what was printed.
func runToy(t *testing.T, c checkout, o options, suites ...suite) (printed string, err error) {
	t.Helper()
	kept, err := loadRecord(c.recordPath())
	require.NoError(t, err)
	before, err := c.inputs(t.Context())
	require.NoError(t, err)
	kept.useEnvironment(before.environment)
	var out bytes.Buffer
	r := &runner{checkout: c, options: o, out: &out, began: time.Now(), before: before, record: kept}
	plan := choose(suites, before, kept, o)
	r.run(t.Context(), plan)
	err = r.report(t.Context(), plan)
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

func TestFilesThatChangeMeanwhileMakeNoPass(t *testing.T) {
	c := toy(t)
	before, err := c.inputs(t.Context())
	require.NoError(t, err)
	var out bytes.Buffer
	r := &runner{checkout: c, out: &out, began: time.Now(), before: before, record: newRecord()}
	plan := choose([]suite{toySuite("green", byInput)}, before, newRecord(), options{})
	r.run(t.Context(), plan)
	require.NoError(t, os.WriteFile(filepath.Join(c.root, "green", "b_test.go"), []byte("package green\n"), 0o644))
	require.NoError(t, r.report(t.Context(), plan))
	require.Contains(t, out.String(), "files of green changed while it ran")
	kept, err := loadRecord(c.recordPath())
	require.NoError(t, err)
	require.True(t, kept.Suites["green"].Passed.IsZero())
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
	require.ErrorIs(t, r.report(ctx, plan), errRed)
	require.Regexp(t, `(?m)^green +not run .*interrupted$`, out.String())
}

func TestRecordsThatCannotBeReadAreErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "record.json")
	r, err := loadRecord(name)
	require.NoError(t, err)
	require.Empty(t, r.Suites)
	for _, text := range []string{"", `{"version":1,"suites":`, `{"version":0}`, `[]`} {
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
