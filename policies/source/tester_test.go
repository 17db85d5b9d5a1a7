package source

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/suite"
)

func runTests(t *testing.T, timeout time.Duration, tests string) (suite.Results, error) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	source := engine.Source{Name: "s", Files: map[string]string{"p_test.rego": "package p_test\n\nimport rego.v1\n\n" + tests}}
	return NewTester(program, timeout).Test(t.Context(), source, suite.Options{})
}

func TestTestsRunApart(t *testing.T) {
	results, err := runTests(t, time.Minute, "test_it if 1 + 1 == 2")
	require.NoError(t, err)
	require.Equal(t, suite.Totals{Suites: 1, Tests: 1, Cases: 1, Passed: 1}, results.Totals)

	_, err = runTests(t, time.Minute, "test_it if {")
	require.ErrorAs(t, err, new(engine.CompileErrors))
}

// endless would take 10^15 steps, and can be stopped between any two.
const endless = `test_it if {
	some a in numbers.range(1, 1000)
	some b in numbers.range(1, 1000)
	some c in numbers.range(1, 1000)
	some d in numbers.range(1, 1000)
	some e in numbers.range(1, 1000)
	a + b + c + d + e < 0
}
`

func TestATestThatNeverEndsFails(t *testing.T) {
	results, err := runTests(t, 2*time.Minute, endless+"\ntest_other if true\n")
	require.NoError(t, err)
	require.Equal(t, 1, results.Totals.Failed)
	require.Equal(t, 1, results.Totals.Passed, "the others run all the same")
	require.Contains(t, results.Cases[0].Message, "it takes longer than 5s")
}

func TestAllTestsTogetherAreBounded(t *testing.T) {
	var results suite.Results
	// On a busy machine the child may get too little of the processor for a verdict.
	require.Eventually(t, func() bool {
		var err error
		results, err = runTests(t, time.Second, endless)
		return err == nil
	}, 2*time.Minute, time.Millisecond)
	require.Equal(t, 1, results.Totals.Failed)
	require.Contains(t, results.Cases[0].Message, "the tests take longer than 1s together")
}

func TestATestThatEatsMemoryFails(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	tester := NewTester(program, 2*time.Minute)
	tester.bytes = 48 << 20
	results, err := tester.Test(t.Context(), engine.Source{Name: "s", Files: map[string]string{"p_test.rego": `package p_test

import rego.v1

test_it if {
	rows := [row | some a in numbers.range(1, 9000); row := [sprintf("%900d %d", [a, b]) | some b in numbers.range(1, 1000)]]
	count(rows) == 9000
}
`}}, suite.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, results.Totals.Failed)
	require.Contains(t, results.Cases[0].Message, "the tests take more than 48 MiB of memory together")
}

func TestResultsOfTestsAreKept(t *testing.T) {
	tester := NewTester(os.Args[0], time.Minute)
	tested := engine.Source{Name: "s", Files: map[string]string{"p_test.rego": "package p_test\ntest_it if true"}}
	first, err := tester.Test(t.Context(), tested, suite.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, first.Totals.Passed)
	tester.program = "nothing-that-starts"
	again, err := tester.Test(t.Context(), tested, suite.Options{})
	require.NoError(t, err)
	require.Equal(t, first, again)
	tested.Files["p_test.rego"] = "package p_test\ntest_other if true"
	_, err = tester.Test(t.Context(), tested, suite.Options{})
	require.Error(t, err, "other files are tested")
	none, err := tester.Test(t.Context(), engine.Source{Name: "none", Files: map[string]string{"p.rego": good}}, suite.Options{})
	require.NoError(t, err, "nothing is started without tests")
	require.Zero(t, none.Totals.Cases)
}

// TestWhatFailedIsTestedAgain: it may have been for want of time.
func TestWhatFailedIsTestedAgain(t *testing.T) {
	tester := NewTester(os.Args[0], time.Minute)
	tested := engine.Source{Name: "s", Files: map[string]string{"p_test.rego": "package p_test\ntest_it if true"}}
	key := testKey{tested.Identity(), suite.Options{}}
	tester.kept.Add(key, testsRun{suite.Stopped("the tests take longer"), time.Now().Add(time.Minute)})
	results, err := tester.Test(t.Context(), tested, suite.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, results.Totals.Failed, "not each time that somebody looks")
	tester.kept.Add(key, testsRun{suite.Stopped("the tests take longer"), time.Now()})
	results, err = tester.Test(t.Context(), tested, suite.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, results.Totals.Passed)
}
