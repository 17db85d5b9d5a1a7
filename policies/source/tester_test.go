//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package source

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/suite"
)

func runTests(t *testing.T, timeout time.Duration, tests string) (suite.Results, error) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	source := definition.Source{Name: "s", Files: map[string]string{"p_test.rego": "package p_test\n\nimport rego.v1\n\n" + tests}}
	tester := NewTester(program, timeout)
	tester.fair = time.Nanosecond // however busy the machine is
	return tester.Test(t.Context(), source, suite.Options{})
}

func TestTestsRunApart(t *testing.T) {
	results, err := runTests(t, patience, "test_it if 1 + 1 == 2")
	require.NoError(t, err)
	require.Equal(t, suite.Totals{Suites: 1, Tests: 1, Cases: 1, Passed: 1}, results.Totals)

	_, err = runTests(t, patience, "test_it if {")
	require.ErrorAs(t, err, new(definition.CompileErrorList))
}

// endless would take 10^15 steps.
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
	results, err := runTests(t, patience, endless+"\ntest_other if true\n")
	require.NoError(t, err)
	require.Equal(t, 1, results.Totals.Failed)
	require.Equal(t, 1, results.Totals.Passed, "the others run all the same")
	require.Contains(t, results.Cases[0].Message, "it took more than 1000000 steps")
}

func TestAllTestsTogetherAreBounded(t *testing.T) {
	var many strings.Builder
	for i := range 500 {
		many.WriteString(strings.Replace(endless, "test_it", fmt.Sprint("test_", i), 1))
	}
	results, err := runTests(t, time.Second, many.String())
	require.NoError(t, err)
	require.Positive(t, results.Totals.Failed)
	require.Contains(t, results.Cases[0].Message, "the tests take longer than 1s together")
}

func TestTestsOfTooMuchMemoryFail(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	tester := NewTester(program, patience)
	tester.bytes = 48 << 20
	results, err := tester.Test(t.Context(), definition.Source{Name: "s", Files: map[string]string{
		"p_test.rego": "package p_test\n\nimport rego.v1\n\ntest_it if count(data.list) == 1000000\n",
		"data.json":   `{"list": [1` + strings.Repeat(",1", 999_999) + `]}`,
	}}, suite.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, results.Totals.Failed)
	require.Contains(t, results.Cases[0].Message, "the tests take more than 48 MiB of memory together")
}

func TestResultsOfTestsAreKept(t *testing.T) {
	tester := NewTester(os.Args[0], patience)
	tested := definition.Source{Name: "s", Files: map[string]string{"p_test.rego": "package p_test\ntest_it if true"}}
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
	none, err := tester.Test(t.Context(), definition.Source{Name: "none", Files: map[string]string{"p.rego": good}}, suite.Options{})
	require.NoError(t, err, "nothing is started without tests")
	require.Zero(t, none.Totals.Cases)
}

// TestWhatFailedIsTestedAgain: it may have been for want of time.
func TestWhatFailedIsTestedAgain(t *testing.T) {
	tester := NewTester(os.Args[0], patience)
	tested := definition.Source{Name: "s", Files: map[string]string{"p_test.rego": "package p_test\ntest_it if true"}}
	key := testKey{tested.Identity(), suite.Options{}}
	tester.kept.Add(key, suite.Stopped("the tests take longer"), time.Minute)
	results, err := tester.Test(t.Context(), tested, suite.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, results.Totals.Failed, "not each time that somebody looks")
	tester.kept.Add(key, suite.Stopped("the tests take longer"), -time.Second)
	results, err = tester.Test(t.Context(), tested, suite.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, results.Totals.Passed)
}
