package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// first is a time of a pass; later ones are minutes after it.
var first = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

func someSuites() []suite {
	return []suite{
		{name: "unit", tier: everyRun, usual: time.Minute},
		{name: "a", tier: byInput, inputs: []string{"a/"}, usual: 4 * time.Minute},
		{name: "b", tier: byInput, inputs: []string{"b/"}, usual: 4 * time.Minute},
		{name: "c", tier: byInput, inputs: []string{"c/", "!c/not/"}, usual: 4 * time.Minute},
		{name: "d", tier: byInput, inputs: []string{"d/"}, usual: 4 * time.Minute},
		{name: "long", tier: onlyLong},
	}
}

func someInputs(change ...string) inputs {
	in := inputs{files: map[string]string{"a/1": "1", "b/1": "1", "c/1": "1", "c/not/1": "1", "d/1": "1"}}
	for _, name := range change {
		in.files[name] = "changed"
	}
	return in
}

// passedAll is the record after all suites passed, one minute after the other.
func passedAll(missed int) record {
	r := newRecord()
	for i, s := range someSuites() {
		r.Suites[s.name] = entry{Passed: first.Add(time.Duration(i) * time.Minute), Inputs: someInputs().of(s), Missed: missed}
	}
	return r
}

// names are the suites that run, in their order, and those among them that must.
func names(plan []decision) (run, must []string) {
	for _, d := range plan {
		if d.run {
			run = append(run, d.suite.name)
		}
		if d.must {
			must = append(must, d.suite.name)
		}
	}
	return run, must
}

func reasonOf(plan []decision, name string) string {
	for _, d := range plan {
		if d.suite.name == name {
			return d.reason
		}
	}
	return "not in the plan"
}

func TestWithoutARecordEverythingRunsButTheLongSuites(t *testing.T) {
	plan := choose(someSuites(), someInputs(), newRecord(), options{})
	run, must := names(plan)
	require.Equal(t, []string{"unit", "a", "b", "c", "d"}, run)
	require.Equal(t, []string{"unit"}, must, "a budget may leave out what no change asks for")
	require.Equal(t, "runs with make test-long", reasonOf(plan, "long"))
}

func TestAChangeRunsTheSuitesThatDependOnIt(t *testing.T) {
	for name, change := range map[string]func(inputs){
		"edited":  func(in inputs) { in.files["b/1"] = "2" },
		"added":   func(in inputs) { in.files["b/2"] = "1" },
		"deleted": func(in inputs) { delete(in.files, "b/1") },
	} {
		t.Run(name, func(t *testing.T) {
			now := someInputs()
			change(now)
			_, must := names(choose(someSuites(), now, passedAll(0), options{}))
			require.Equal(t, []string{"unit", "b"}, must)
		})
	}
	_, must := names(choose(someSuites(), someInputs("c/not/1"), passedAll(0), options{}))
	require.Equal(t, []string{"unit"}, must, "the file is excluded")
	plan := choose(someSuites(), someInputs("d/1", "d/2"), passedAll(0), options{})
	require.Equal(t, "d/1 and 1 more changed", reasonOf(plan, "d"))
}

// TestWhatAChangeNeedsCountsForTheRotation: a run that is long by its change is not made
// longer.
func TestWhatAChangeNeedsCountsForTheRotation(t *testing.T) {
	suites := someSuites()
	for i := range suites {
		suites[i].usual = time.Minute
	}
	run, _ := names(choose(suites, someInputs("b/1"), passedAll(0), options{}))
	require.Equal(t, []string{"unit", "b"}, run)
	run, _ = names(choose(suites, someInputs(), passedAll(0), options{}))
	require.Len(t, run, 2, "unit, and the next in the rotation")
	run, _ = names(choose(suites, someInputs("b/1"), passedAll(rotation-1), options{}))
	require.Len(t, run, 5, "what is due runs all the same")
}

func TestAToolOfAnotherVersionIsAChange(t *testing.T) {
	s := suite{name: "a", tier: byInput, inputs: []string{"a/"}, tools: []string{"puppet"}}
	in := someInputs()
	in.tools = map[string]string{"puppet": "7"}
	r := newRecord()
	r.Suites["a"] = entry{Passed: first, Inputs: in.of(s)}
	require.False(t, decide(s, in, r, options{}).must)
	in.tools = map[string]string{"puppet": "8"}
	require.Equal(t, "tool puppet changed", decide(s, in, r, options{}).reason)
}

func TestAFailedSuiteRunsAgainAlthoughNothingChanged(t *testing.T) {
	r := passedAll(0)
	failed := r.Suites["c"]
	failed.Failed = true
	r.Suites["c"] = failed
	plan := choose(someSuites(), someInputs(), r, options{})
	_, must := names(plan)
	require.Equal(t, []string{"unit", "c"}, must)
	require.Equal(t, "failed in an earlier run", reasonOf(plan, "c"))
}

// TestEachSuiteRunsOnceInFourRuns follows unchanged suites of very different durations
// through many runs.
func TestEachSuiteRunsOnceInFourRuns(t *testing.T) {
	suites := someSuites()
	suites[1].usual = 20 * time.Minute
	suites[2].usual = time.Second
	r := passedAll(0)
	last := map[string]int{}
	for run := 1; run <= 40; run++ {
		plan := choose(suites, someInputs(), r, options{})
		skipped := 0
		for _, d := range plan {
			e := r.Suites[d.suite.name]
			if d.run {
				e.Passed, e.Missed = first.Add(time.Duration(run)*time.Hour), 0
				last[d.suite.name] = run
			} else {
				e.Missed++
				skipped++
			}
			r.Suites[d.suite.name] = e
			if d.suite.tier == byInput {
				require.Less(t, run-last[d.suite.name], rotation, "%s in run %d", d.suite.name, run)
			}
		}
		require.Greater(t, skipped, 1, "run %d is no full run", run)
	}
}

func TestTheOldestRunsFirst(t *testing.T) {
	run, _ := names(choose(someSuites(), someInputs(), passedAll(rotation), options{}))
	require.Equal(t, []string{"unit", "a", "b", "c", "d"}, run)
	r := passedAll(rotation)
	oldest := r.Suites["d"]
	oldest.Passed = first.Add(-time.Hour)
	r.Suites["d"] = oldest
	never := r.Suites["b"]
	never.Passed = time.Time{}
	r.Suites["b"] = never
	run, _ = names(choose(someSuites(), someInputs(), r, options{}))
	require.Equal(t, []string{"unit", "b", "d", "a", "c"}, run)
}

func TestAllLongAndNamed(t *testing.T) {
	_, must := names(choose(someSuites(), someInputs(), passedAll(0), options{all: true}))
	require.ElementsMatch(t, []string{"unit", "a", "b", "c", "d"}, must)
	_, must = names(choose(someSuites(), someInputs(), passedAll(0), options{long: true}))
	require.ElementsMatch(t, []string{"unit", "a", "b", "c", "d", "long"}, must)
	run, must := names(choose(someSuites(), someInputs("a/1"), passedAll(0), options{names: []string{"c"}}))
	require.Equal(t, []string{"c"}, must)
	require.Equal(t, must, run)
}

func TestSuitesThatRunAloneComeFirst(t *testing.T) {
	suites := someSuites()
	suites[5].alone = true
	run, _ := names(choose(suites, someInputs(), newRecord(), options{long: true}))
	require.Equal(t, "long", run[0])
}

func TestPatterns(t *testing.T) {
	patterns := []string{"config/", "!config/chart/", "!*/*.md", "go.mod", "test/e2e/zopp_*.go", "config/chart/README.md"}
	for name, want := range map[string]bool{
		"config/a.yaml": true, "config/b/c.yaml": true, "config/chart/a.yaml": false, "config/README.md": false,
		"go.mod": true, "test/go.mod": false, "test/e2e/zopp_test.go": true, "test/e2e/orloj_test.go": false,
		"config/chart/README.md": true, "configure": false,
	} {
		require.Equal(t, want, matches(patterns, name), name)
	}
	require.True(t, matches(nil, "anything"))
}
