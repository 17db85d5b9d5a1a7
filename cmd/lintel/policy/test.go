package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/suite"
)

type testOptions struct {
	policies sources.One
	coverage bool
	external sources.External
	format   report.Format
}

func newTestCommand() *cobra.Command {
	var options testOptions
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
		Args: options.policies.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.format.Check(cmd); err != nil {
				return err
			}
			return test(cmd.Context(), options, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.policies.AddFlag(cmd)
	cmd.Flags().BoolVar(&options.coverage, "coverage", false, "say which lines of the policies the tests reach")
	options.external.AddFlag(cmd)
	options.format.AddFlag(cmd, "text", "json", "sarif", "junit")
	return cmd
}

// test runs the tests and reports. The verdict is a report.Exit; any other error says why
// there is none.
func test(ctx context.Context, options testOptions, stdout, stderr io.Writer) error {
	tested, err := options.policies.Read()
	if err != nil {
		return err
	}
	tester, err := sources.NewTester()
	if err != nil {
		return err
	}
	given, err := options.external.JSON()
	if err != nil {
		return err
	}
	results, err := tester.Test(ctx, tested.Source, suite.Options{Coverage: options.coverage, External: given})
	if err != nil {
		return tested.CompileError(err)
	}
	unread, err := definition.UnreadTests(tested.Source)
	if err != nil {
		return tested.CompileError(err)
	}
	if len(results.Cases) == 0 {
		return tested.Without("tests", "write rules named test_ into files named _test.rego, or a Suite, and give the folder that has them", unread)
	}
	for _, one := range tested.InFolder(unread) {
		fmt.Fprintf(stderr, "note: %v\n", one)
	}
	if !options.format.Is("json") {
		results.In(tested.Folder)
	}
	write := map[string]func(io.Writer, suite.Results) error{
		"text":  writeTestText,
		"json":  func(w io.Writer, results suite.Results) error { return report.WriteJSON(w, results) },
		"sarif": writeTestSARIF,
		"junit": writeTestJUnit,
	}[options.format.Name()]
	if err := write(stdout, results); err != nil {
		return err
	}
	if results.Totals.Failed > 0 {
		return report.Denied
	}
	return nil
}

// writeTestText prints the tests that did not pass, the output of tests, the coverage, and the
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
	fmt.Fprintf(&b, "%s, %s, %s: %d passed, %d failed", report.Counted(t.Suites, "suite"), report.Counted(t.Tests, "test"), report.Counted(t.Cases, "case"), t.Passed, t.Failed)
	if t.Skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", t.Skipped)
	}
	b.WriteString("\n")
	return report.Write(w, b.String())
}

func writeTestSARIF(w io.Writer, results suite.Results) error {
	var findings []report.Finding
	for _, c := range results.Cases {
		if c.Failed() {
			findings = append(findings, report.Finding{
				Rule: "policy-test", Title: "The tests of policies pass", Exit: report.Denied, Message: caseName(c) + ": " + c.Message,
				Object: caseName(c), At: report.Place{File: c.File, Line: c.Line},
			})
		}
	}
	return report.WriteSARIF(w, findings)
}

// caseExits are the outcomes of cases, as reports know them.
var caseExits = map[suite.Outcome]report.Exit{
	suite.Passed: report.Allowed, suite.Failed: report.Denied, suite.Errored: report.Error, suite.Skipped: report.Unknown,
}

func writeTestJUnit(w io.Writer, results suite.Results) error {
	var cases []report.Case
	for _, c := range results.Cases {
		cases = append(cases, report.Case{
			Suite: cmp.Or(c.File, c.Suite), Class: c.Suite, Name: cmp.Or(joined(c.Test, c.Name), caseName(c)), Duration: c.Duration,
			Exit: caseExits[c.Outcome], Messages: []string{c.Message}, Output: c.Output,
		})
	}
	return report.WriteJUnit(w, cases)
}

// joined has a slash between the parts that are not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " / ")
}

// caseName says which case it is.
func caseName(c suite.Case) string { return cmp.Or(joined(c.Suite, c.Test, c.Name), "the tests") }

// testTitle says which case it is, and where it stands.
func testTitle(c suite.Case) string {
	name := caseName(c)
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
