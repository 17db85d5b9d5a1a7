package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// text is the report for a terminal.
func (r *Report) text() string {
	var b strings.Builder
	for _, outcome := range changes {
		r.writeExamples(&b, outcome)
	}
	for _, one := range r.Undecided {
		about := one.Reason
		if one.Policy != "" {
			about = "policy " + one.Policy + ": " + one.Reason
		}
		writeEntry(&b, "undecided", fmt.Sprintf("%s; %s, first %s", about, countRequests(one.Requests), one.First))
	}
	for _, one := range r.Skipped {
		writeEntry(&b, "skipped", fmt.Sprintf("%s: %s; %s", one.First, one.Reason, report.CountedAs(int(one.Requests), "record", "records")))
	}
	if len(r.Undecided)+len(r.Skipped) > 0 {
		b.WriteString("\n")
	}
	for _, table := range r.tables() {
		r.writeTable(&b, table)
	}
	b.WriteString(r.summaryLine() + "\n")
	return b.String()
}

// table is the groups of one kind.
type table struct {
	title  string
	groups []core.Group
}

func (r *Report) tables() (tables []table) {
	for _, one := range []table{{"policy", r.Policies}, {"namespace", r.Namespaces}, {"user", r.Users}, {"workload", r.Workloads}} {
		if len(one.groups) > 0 {
			tables = append(tables, one)
		}
	}
	return tables
}

// columns are the outcomes that occur.
func (r *Report) columns() (columns []core.Outcome) {
	for _, outcome := range changes {
		if r.Summary.Get(outcome) > 0 {
			columns = append(columns, outcome)
		}
	}
	return columns
}

func (r *Report) limited(groups []core.Group) (shown []core.Group, omitted int) {
	if r.options.limit == 0 || len(groups) <= r.options.limit {
		return groups, 0
	}
	return groups[:r.options.limit], len(groups) - r.options.limit
}

func (r *Report) writeTable(b *strings.Builder, t table) {
	columns := r.columns()
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s", t.title)
	for _, outcome := range columns {
		fmt.Fprintf(w, "\t%s", outcomeTitles[outcome])
	}
	fmt.Fprintln(w)
	shown, omitted := r.limited(t.groups)
	for _, g := range shown {
		fmt.Fprint(w, nameOf(g))
		for _, outcome := range columns {
			fmt.Fprintf(w, "\t%d", g.Get(outcome))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a strings.Builder never fails
	if omitted > 0 {
		fmt.Fprintf(b, "and %d more: see --limit\n", omitted)
	}
	b.WriteString("\n")
}

func nameOf(g core.Group) string {
	if g.Name == "" {
		return "(none)"
	}
	return report.Printable(g.Name)
}

func (r *Report) writeExamples(b *strings.Builder, outcome core.Outcome) {
	first := true
	for _, example := range r.Examples {
		if example.Outcome != outcome || outcome == core.Undecided {
			continue
		}
		if first {
			fmt.Fprintf(b, "%s: %s, for example\n", outcomeTitles[outcome], countRequests(r.Summary.Get(outcome)))
			first = false
		}
		fmt.Fprintf(b, "  %s\n", report.Printable(example.Title()))
		writeEntry(b, "  by", fmt.Sprintf("%s at %s", example.User, example.Time.UTC().Format(time.RFC3339)))
		labels, found := findings(example)
		for i, f := range found {
			writeEntry(b, "  "+labels[i], fmt.Sprintf("%s [%s %s, %s, %s]", f.Msg, f.Policy, f.Rule, f.Location, f.Source))
			if f.Field != "" {
				writeEntry(b, "", "field "+f.Field)
			}
		}
		if outcome == core.PatchChanged {
			writeEntry(b, "  patched", operations(example.PatchBefore))
			writeEntry(b, "  patches", operations(example.PatchAfter))
		}
	}
	if !first {
		b.WriteString("\n")
	}
}

// operations are a JSON Patch in one line.
func operations(patch any) string {
	text, err := json.Marshal(patch)
	if err != nil || string(text) == "null" {
		return "nothing"
	}
	return string(text)
}

// writeEntry writes a label and a text, whose further lines are below the first.
func writeEntry(b *strings.Builder, label, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(b, "  %-9s  %s\n", label, report.Printable(strings.TrimSuffix(line, "\n")))
		label = ""
	}
}

func countRequests(n int64) string { return report.CountedAs(int(n), "request", "requests") }

func (r *Report) summaryLine() string {
	s := r.Summary
	requests := countRequests(s.Requests)
	if s.Evaluated < s.Requests {
		requests += " in " + report.CountedAs(int(s.Records), "record", "records")
	}
	line := fmt.Sprintf("%s from %s to %s: ", requests, r.Since.Format(time.RFC3339), r.Until.Format(time.RFC3339))
	var parts []string
	for _, outcome := range changes {
		if n := s.Get(outcome); n > 0 || outcome == core.NewlyDenied {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcomeTitles[outcome]))
		}
	}
	parts = append(parts, fmt.Sprintf("%d the same", s.Same))
	if s.NewWarnings > 0 {
		parts = append(parts, fmt.Sprintf("%d with new warnings", s.NewWarnings))
	}
	if s.Skipped > 0 {
		parts = append(parts, report.CountedAs(int(s.Skipped), "record skipped", "records skipped"))
	}
	if cost := r.cost(); cost != "" {
		parts = append(parts, cost)
	}
	return line + strings.Join(parts, ", ")
}
