package audit

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
)

// newDiffCommand is `lintel audit diff`.
func newDiffCommand() *cobra.Command {
	var format report.Format
	cmd := &cobra.Command{
		Use:   "diff <before> <after>",
		Short: "Compare the violations of two runs of lintel audit",
		Long: `Compare the violations of two runs of 'lintel audit -o json'. A violation that the
second run did not evaluate again is unknown, and not fixed.

Exit codes:
  0  no violation is new
  1  a violation is new
  2  the usage or an input is wrong, or a violation is unknown and none is new`,
		Example: `  lintel audit -p policies/ -o json > monday.json
  lintel audit -p policies/ -o json > friday.json
  lintel audit diff monday.json friday.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage.Errorf(cmd, "got %s: give two reports of 'lintel audit -o json'", report.Counted(len(args), "file"))
			}
			return format.Check(cmd)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := readReport(args[0])
			if err != nil {
				return err
			}
			after, err := readReport(args[1])
			if err != nil {
				return err
			}
			return diffReports(before, after).print(cmd.OutOrStdout(), format)
		},
	}
	format.AddFlag(cmd, "text", "json")
	return cmd
}

// print writes the difference. The error is a report.Exit, or that of the writer.
func (d Diff) print(w io.Writer, format report.Format) error {
	var err error
	if format.Is("json") {
		err = report.WriteJSON(w, d)
	} else {
		err = report.Write(w, d.text())
	}
	switch {
	case err != nil:
		return err
	case len(d.New) > 0:
		return report.Denied
	case len(d.Unknown) > 0:
		return report.Error
	}
	return nil
}

func (d Diff) text() string {
	var b strings.Builder
	for _, section := range []struct {
		label   string
		results []Result
	}{{"new", d.New}, {"fixed", d.Fixed}, {"exempt", d.Exempt}, {"unknown", d.Unknown}} {
		for _, result := range section.results {
			writeEntry(&b, section.label, result.Result.Policy+": "+result.Object.Title()+": "+result.Result.Message)
		}
	}
	fmt.Fprintf(&b, "%d new, %d fixed, %d unchanged", len(d.New), len(d.Fixed), d.Unchanged)
	if len(d.Exempt) > 0 {
		fmt.Fprintf(&b, ", %d exempt", len(d.Exempt))
	}
	if len(d.Unknown) > 0 {
		fmt.Fprintf(&b, ", %d unknown: the second run did not evaluate them", len(d.Unknown))
	}
	b.WriteString("\n")
	return b.String()
}
