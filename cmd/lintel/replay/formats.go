package replay

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// markdown is the report for a comment on a pull request. Names and messages come from users.
func (r *Report) markdown() string {
	var b strings.Builder
	s := r.Summary
	fmt.Fprintf(&b, "### Replay: %s newly denied\n\n", countRequests(s.NewlyDenied))
	fmt.Fprintf(&b, "%s\n\n", code(r.summaryLine()))
	for _, t := range r.tables() {
		columns := r.columns()
		fmt.Fprintf(&b, "| %s |", t.title)
		for _, outcome := range columns {
			fmt.Fprintf(&b, " %s |", outcomeTitles[outcome])
		}
		b.WriteString("\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
		shown, omitted := r.limited(t.groups)
		for _, g := range shown {
			fmt.Fprintf(&b, "| %s |", code(nameOf(g)))
			for _, outcome := range columns {
				fmt.Fprintf(&b, " %d |", g.Get(outcome))
			}
			b.WriteString("\n")
		}
		if omitted > 0 {
			fmt.Fprintf(&b, "\nand %d more\n", omitted)
		}
		b.WriteString("\n")
	}
	for _, outcome := range changes {
		var details strings.Builder
		r.writeExamples(&details, outcome)
		if details.Len() > 0 {
			fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n%s\n</details>\n\n", outcomeTitles[outcome], fenced(details.String()))
		}
	}
	for _, one := range r.Undecided {
		fmt.Fprintf(&b, "- undecided: %s, %s\n", code(strings.TrimPrefix(one.Policy+": "+one.Reason, ": ")), countRequests(one.Requests))
	}
	for _, one := range r.Skipped {
		fmt.Fprintf(&b, "- skipped: %s, %s\n", code(one.Reason), report.CountedAs(int(one.Requests), "record", "records"))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// code is a text as inline code in a table. The text may contain any characters.
func code(text string) string {
	text = strings.NewReplacer("`", "'", "|", "\\|", "\n", " ").Replace(report.Printable(text))
	return "`" + text + "`"
}

// fenced is a text as a block of code, with a fence that the text does not contain.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// writeJUnit writes each policy of the candidate as a test: one that newly denies requests has
// failed.
func (r *Report) writeJUnit(to io.Writer) error {
	var cases []report.Case
	groups := map[string]core.Group{}
	for _, g := range r.Policies {
		groups[g.Name] = g
	}
	seen := map[string]bool{}
	add := func(source, policy string) {
		name := source + "/" + policy
		if seen[name] {
			return
		}
		seen[name] = true
		one := report.Case{Suite: source, Class: source, Name: policy}
		g := groups[name]
		if g.NewlyDenied > 0 {
			one.Exit = report.Denied
			one.Messages = append(one.Messages, countRequests(g.NewlyDenied)+" newly denied")
		}
		for _, example := range r.Examples {
			labels, found := findings(example)
			for i, f := range found {
				if f.Source != source || f.Policy != policy {
					continue
				}
				text := fmt.Sprintf("%s by %s at %s: %s: %s", example.Title(), example.User, example.Time.UTC().Format(time.RFC3339), labels[i], f.Msg)
				if example.Outcome == core.NewlyDenied {
					one.Messages = append(one.Messages, text)
				} else {
					one.Output += text + "\n"
				}
			}
		}
		for _, u := range r.Undecided {
			if u.Policy == policy {
				one.Messages = append(one.Messages, fmt.Sprintf("undecided: %s; %s, first %s", u.Reason, countRequests(u.Requests), u.First))
				one.Exit = cmp.Or(one.Exit, report.Error)
			}
		}
		cases = append(cases, one)
	}
	for _, info := range r.infos {
		add(info.Source, info.Package)
	}
	for _, g := range r.Policies { // also those that the candidate no longer has
		if source, policy, ok := strings.Cut(g.Name, "/"); ok && g.Undecided == 0 {
			add(source, policy)
		}
	}
	for _, u := range r.Undecided {
		if u.Policy == "" {
			cases = append(cases, report.Case{Suite: "undecided", Name: u.First, Exit: report.Error, Messages: []string{u.Reason}})
		}
	}
	for _, one := range r.Skipped {
		cases = append(cases, report.Case{Suite: "skipped", Name: one.First, Exit: report.Error, Messages: []string{one.Reason}})
	}
	return report.WriteJUnit(to, cases)
}

// writeSARIF writes the examples at the rules that make the difference.
func (r *Report) writeSARIF(to io.Writer) error {
	var all []report.Finding
	for _, example := range r.Examples {
		exit := report.Allowed
		if example.Outcome == core.NewlyDenied {
			exit = report.Denied
		}
		labels, found := findings(example)
		for i, f := range found {
			message := fmt.Sprintf("%s: %s by %s at %s: %s: %s", outcomeTitles[example.Outcome], example.Title(), example.User, example.Time.UTC().Format(time.RFC3339), labels[i], f.Msg)
			place := r.place(f)
			all = append(all, report.Finding{Rule: f.Policy + "/" + f.Rule, Exit: exit, Message: message, Object: example.Title(), At: place, Policy: place})
		}
		if example.Outcome == core.PatchChanged {
			all = append(all, report.Finding{Rule: "patch", Exit: exit, Object: example.Title(), Message: outcomeTitles[example.Outcome] + ": " + operations(example.PatchAfter)})
		}
	}
	for _, u := range r.Undecided {
		all = append(all, report.Finding{Rule: cmp.Or(u.Policy, "undecided"), Exit: report.Error, Message: fmt.Sprintf("%s (%s)", u.Reason, countRequests(u.Requests)), Object: u.First})
	}
	for _, one := range r.Skipped {
		all = append(all, report.Finding{Rule: "skipped", Exit: report.Error, Message: one.Reason, Object: one.First})
	}
	return report.WriteSARIF(to, all)
}
