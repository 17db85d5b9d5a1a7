package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"
)

// Case is one test case for a tool that shows results of tests.
type Case struct {
	// Suite is the group of the case, such as its file.
	Suite string
	// Class and Name are the case itself.
	Class, Name string
	Duration    time.Duration
	// Exit is Allowed for a case that passed, Denied for one that failed, Error for one that was
	// not evaluated, and Unknown for one that was skipped.
	Exit Exit
	// Messages say why it did not pass, one a line.
	Messages []string
	// Output is the text that the case printed.
	Output string
}

// WriteJUnit writes cases as XML of JUnit's form, those of one suite together.
func WriteJUnit(w io.Writer, cases []Case) error {
	suites := map[string]*junit.Testsuite{}
	var order []*junit.Testsuite
	durations := map[string]time.Duration{}
	for _, c := range cases {
		if suites[c.Suite] == nil {
			suites[c.Suite] = &junit.Testsuite{Name: c.Suite, ID: len(order)}
			order = append(order, suites[c.Suite])
		}
		durations[c.Suite] += c.Duration
		suites[c.Suite].Time = seconds(durations[c.Suite])
		suites[c.Suite].AddTestcase(testcase(c))
	}
	all := junit.Testsuites{Name: "lintel"}
	for _, suite := range order {
		all.AddSuite(*suite)
	}
	if err := Write(w, xml.Header); err != nil {
		return err
	}
	if err := all.WriteXML(w); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func testcase(c Case) junit.Testcase {
	out := junit.Testcase{Name: Printable(c.Name), Classname: Printable(c.Class), Time: seconds(c.Duration)}
	if c.Output != "" {
		out.SystemOut = &junit.Output{Data: printableLines(c.Output)}
	}
	result := &junit.Result{Data: printableLines(strings.Join(c.Messages, "\n"))}
	result.Message, _, _ = strings.Cut(result.Data, "\n")
	switch c.Exit {
	case Denied:
		out.Failure = result
	case Error:
		out.Error = result
	case Unknown:
		out.Skipped = result
	}
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// printableLines leaves no character that XML cannot hold.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Printable(line)
	}
	return strings.Join(lines, "\n")
}
