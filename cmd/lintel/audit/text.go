package audit

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	core "github.com/lintel-policy/lintel/policies/audit"
)

// writer writes a report.
type writer struct {
	report  *Report
	limit   int // of results per policy; 0 is for all
	sources map[string]sources.Source
}

func (w *writer) write(to io.Writer, format string) error {
	switch format {
	case "json":
		return report.WriteJSON(to, w.report)
	case "junit":
		return w.writeJUnit(to)
	case "sarif":
		return w.writeSARIF(to)
	case "openreports":
		return w.writeOpenReports(to)
	default:
		return report.Write(to, w.text())
	}
}

// counted are the results that count: with a baseline, violations are left out unless they are new.
func (w *writer) counted(policy PolicyCount) []Result {
	return slices.DeleteFunc(slices.Clone(w.of(policy)), func(r Result) bool {
		return w.report.Summary.New != nil && r.isViolation() && !r.New
	})
}

// of are the results of a policy.
func (w *writer) of(policy PolicyCount) []Result {
	is := func(r Result) bool { return r.Result.Source == policy.Source && r.Result.Policy == policy.Policy }
	start := slices.IndexFunc(w.report.Results, is)
	if start < 0 {
		return nil
	}
	end := start
	for end < len(w.report.Results) && is(w.report.Results[end]) {
		end++
	}
	return w.report.Results[start:end]
}

func (w *writer) limited(results []Result) (shown []Result, omitted int) {
	if w.limit == 0 || len(results) <= w.limit {
		return results, 0
	}
	return results[:w.limit], len(results) - w.limit
}

// text groups the results by policy, and those of one object.
func (w *writer) text() string {
	var b strings.Builder
	for _, policy := range w.report.Policies {
		if results := w.counted(policy); len(results) > 0 {
			fmt.Fprintf(&b, "%s (%s): %s\n", report.Printable(policy.Policy), report.Printable(policy.Source), countWords(results))
			w.writeResults(&b, results)
			b.WriteString("\n")
		}
	}
	writeNotAuditable(&b, w.report.NotAuditable)
	for _, one := range w.report.Undecided {
		about := "policy " + one.Policy + ": "
		if one.Policy == "" {
			about = ""
		}
		writeEntry(&b, "undecided", fmt.Sprintf("%s%s; %s, first %s", about, one.Reason, report.Counted(one.Objects, "object"), one.First.Title()))
	}
	for _, one := range w.report.NotAudited {
		about := one.Reason
		if one.Resource != "" {
			about = one.Resource + ": " + one.Reason
		}
		writeEntry(&b, "not audited", about)
	}
	if len(w.report.NotAuditable)+len(w.report.Undecided)+len(w.report.NotAudited) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(w.summaryLine() + "\n")
	return b.String()
}

func (w *writer) writeResults(b *strings.Builder, results []Result) {
	shown, omitted := w.limited(results)
	var last Object
	for _, result := range shown {
		if result.Object != last {
			fmt.Fprintf(b, "  %s\n", report.Printable(result.Object.Title()))
			last = result.Object
			if result.At != "" {
				writeEntry(b, "  at", result.At)
			}
		}
		writeEntry(b, "  "+string(result.Result.Outcome), result.Result.Message)
		if result.Result.Field != "" {
			writeEntry(b, "", "field "+result.Result.Field)
		}
		if result.Result.Outcome == core.Skip {
			writeEntry(b, "", exemptionOf(result.Result))
		}
	}
	if omitted > 0 {
		fmt.Fprintf(b, "  and %s: see --limit\n", report.CountedAs(omitted, "more result", "more results"))
	}
}

// exemptionOf names the exception of a skip, and its end.
func exemptionOf(result core.Result) string {
	return fmt.Sprintf("exempt by PolicyException %s, until %s", result.Exception, result.ExceptionExpires.Format(time.RFC3339))
}

// writeNotAuditable writes each policy and reference once, with the number of rules.
func writeNotAuditable(b *strings.Builder, all []NotAuditable) {
	rules := map[NotAuditable]int{}
	var order []NotAuditable
	for _, one := range all {
		isRule := one.Rule != ""
		one.Rule = ""
		if _, known := rules[one]; !known {
			order = append(order, one)
		}
		if isRule {
			rules[one]++
		} else {
			rules[one] = 0
		}
	}
	for _, one := range order {
		who := "the policy depends"
		if n := rules[one]; n > 0 {
			who = report.CountedAs(n, "rule depends", "rules depend")
		}
		writeEntry(b, "not auditable", fmt.Sprintf("%s (%s): %s on %s", one.Policy, one.Source, who, one.Reference))
	}
}

// writeEntry writes a label and a text, whose further lines are below the first.
func writeEntry(b *strings.Builder, label, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(b, "  %-13s  %s\n", label, report.Printable(strings.TrimSuffix(line, "\n")))
		label = ""
	}
}

// outcomeWords are the words for the numbers of results, the most severe first.
var outcomeWords = []struct {
	outcome   core.Outcome
	one, many string
}{
	{core.Fail, "violation", "violations"}, {core.Error, "error", "errors"},
	{core.Warn, "warning", "warnings"}, {core.Skip, "skipped by an exception", "skipped by exceptions"},
}

func countWords(results []Result) string {
	counts := core.Counts{}
	for _, r := range results {
		counts[r.Result.Outcome]++
	}
	var parts []string
	for _, w := range outcomeWords {
		if n := counts[w.outcome]; n > 0 {
			parts = append(parts, report.CountedAs(n, w.one, w.many))
		}
	}
	return strings.Join(parts, ", ")
}

func (w *writer) summaryLine() string {
	s := w.report.Summary
	line := fmt.Sprintf("%s of %s, %s: ", report.Counted(s.Objects, "object"), report.Counted(s.Kinds, "kind"), report.CountedAs(s.Policies, "policy", "policies"))
	if s.New != nil {
		line += fmt.Sprintf("%s, %d new", report.Counted(s.Violations, "violation"), *s.New)
	} else {
		line += report.Counted(s.Violations, "violation")
	}
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{s.Warnings, "warning", "warnings"},
		{s.Errors, "error", "errors"},
		{s.Skipped, "skipped by an exception", "skipped by exceptions"},
		{len(w.report.Undecided), "reason for undecided objects", "reasons for undecided objects"},
		{len(w.report.NotAudited), "kind or file not audited", "kinds or files not audited"},
	} {
		if part.n > 0 {
			line += ", " + report.CountedAs(part.n, part.one, part.many)
		}
	}
	return line
}
