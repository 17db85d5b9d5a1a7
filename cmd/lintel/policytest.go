package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/suite"
)

// testsTimeout bounds all tests of a folder together.
const testsTimeout = 10 * time.Minute

// errTestsFailed is said already.
var errTestsFailed = errors.New("a test failed")

type policyTestOptions struct {
	policies ownPolicies
	coverage bool
	output   string
}

func newPolicyTestCommand() *cobra.Command {
	var options policyTestOptions
	cmd := &cobra.Command{
		Use:   "test -p <policies>",
		Short: "Run the tests of a folder of policies",
		Long: `Run the tests of a folder of policies: the rules named test_ in its _test.rego
files, and Gatekeeper's Suites in its YAML files, as gator verify reads them. The
gate runs the same tests, in the same way, before a revision goes live.

Exit codes:
  0  every test passed
  1  a test failed
  2  the usage is wrong, or the policies cannot be read, do not compile or have no tests`,
		Example: `  # Run them all
  lintel policy test -p policies/

  # Show which lines no test reaches
  lintel policy test -p policies/ --coverage`,
		Args: options.policies.args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.output != "text" && options.output != "json" {
				return usageError(cmd, "--output %s is not text or json", options.output)
			}
			return policyTest(cmd.Context(), options.policies.path, options, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.policies.addFlag(cmd.Flags())
	cmd.Flags().BoolVar(&options.coverage, "coverage", false, "say which lines of the policies the tests reach")
	cmd.Flags().StringVarP(&options.output, "output", "o", "text", "`format` of the report: text or json")
	return cmd
}

// policyTest runs the tests and reports: errTestsFailed is the verdict, any other
// error says why there is none.
func policyTest(ctx context.Context, path string, options policyTestOptions, stdout, stderr io.Writer) error {
	tested, err := readOwnPolicies(path)
	if err != nil {
		return err
	}
	program, err := thisProgram()
	if err != nil {
		return err
	}
	results, err := source.NewTester(program, testsTimeout).Test(ctx, tested.Source, suite.Options{Coverage: options.coverage})
	if err != nil {
		return tested.compileError(err)
	}
	unread, err := definition.UnreadTests(tested.Source)
	if err != nil {
		return tested.compileError(err)
	}
	if len(results.Cases) == 0 {
		return tested.without("tests", "write rules named test_ into files named _test.rego, or a Suite, and give the folder that has them", unread)
	}
	for _, one := range tested.inFolder(unread) {
		fmt.Fprintf(stderr, "note: %v\n", one)
	}
	if options.output == "json" {
		err = writeTestJSON(stdout, results)
	} else {
		results.In(tested.folder)
		err = writeTestText(stdout, results)
	}
	if err != nil {
		return err
	}
	if results.Totals.Failed > 0 {
		return errTestsFailed
	}
	return nil
}

func writeTestJSON(w io.Writer, results suite.Results) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(results)
}

// writeTestText prints what did not pass, what was printed, the coverage, and the
// totals.
func writeTestText(w io.Writer, results suite.Results) error {
	var b strings.Builder
	for _, c := range results.Cases {
		if !c.Failed() && c.Output == "" {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", testTitle(c), c.Outcome)
		for line := range strings.Lines(c.Message) {
			fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\n"))
		}
		for line := range strings.Lines(c.Output) {
			fmt.Fprintf(&b, "  printed: %s\n", strings.TrimRight(line, "\n"))
		}
	}
	for _, file := range results.Coverage {
		fmt.Fprintf(&b, "%s: %.4g %% of the lines are covered%s\n", file.File, file.Percent, uncovered(file.NotCovered))
	}
	t := results.Totals
	fmt.Fprintf(&b, "%s, %s, %s: %d passed, %d failed", counted(t.Suites, "suite"), counted(t.Tests, "test"), counted(t.Cases, "case"), t.Passed, t.Failed)
	if t.Skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", t.Skipped)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// testTitle says which case it is, and where it stands.
func testTitle(c suite.Case) string {
	var parts []string
	for _, part := range []string{c.Suite, c.Test, c.Name} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	name := cmp.Or(strings.Join(parts, " / "), "the tests")
	switch {
	case c.File == "":
		return name
	case c.Line == 0:
		return c.File + ": " + name
	default:
		return fmt.Sprintf("%s:%d: %s", c.File, c.Line, name)
	}
}

func uncovered(lines []suite.Lines) string {
	if len(lines) == 0 {
		return ""
	}
	var parts []string
	for _, one := range lines {
		if one.From == one.To {
			parts = append(parts, fmt.Sprint(one.From))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d-%d", one.From, one.To))
	}
	return "; not " + strings.Join(parts, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
