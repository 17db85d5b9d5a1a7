package review

import (
	"cmp"
	"io"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/engine"
)

// The rules of findings that no policy has.
const (
	serverRule    = "api-server"
	undecidedRule = "undecided"
)

// writeSARIF writes all findings of policies, with the object and the location of the policy.
func (c *checker) writeSARIF(w io.Writer, outcomes []outcome) error {
	var all []report.Finding
	for _, out := range outcomes {
		about := report.Finding{Object: out.object.Title(), At: report.Place{File: out.object.File, Line: out.object.Line}}
		for _, f := range out.denials {
			all = append(all, c.finding(about, f, report.Denied, denialText(f)))
		}
		for _, f := range out.warnings {
			all = append(all, c.finding(about, f, report.Allowed, warningText(f)))
		}
		for _, u := range out.undecided {
			one := about
			one.Rule, one.Exit, one.Message = cmp.Or(u.Policy, undecidedRule), report.Error, undecidedText(u)
			all = append(all, one)
		}
	}
	return report.WriteSARIF(w, all)
}

// finding is what f says about an object.
func (c *checker) finding(about report.Finding, f engine.Finding, exit report.Exit, message string) report.Finding {
	about.Exit, about.Message = exit, message
	if f.Field != "" {
		about.Message += "\nfield " + f.Field
	}
	about.Rule = serverRule
	if f.Policy != "" {
		about.Rule, about.Title = f.Policy+"/"+f.Rule, c.titles[f.Source+"/"+f.Policy]
	}
	if s, ok := c.sources[f.Source]; ok {
		about.Policy.File, about.Policy.Line = s.Place(f.Location)
	}
	return about
}

// writeJUnit writes each object as a test: one that is denied has failed.
func writeJUnit(w io.Writer, outcomes []outcome) error {
	var cases []report.Case
	for _, out := range outcomes {
		one := report.Case{Suite: cmp.Or(out.object.File, "standard input"), Class: out.object.Kind.GroupKind().String(), Name: out.object.Title()}
		for _, f := range out.denials {
			one.Messages = append(one.Messages, denialText(f))
		}
		for _, u := range out.undecided {
			one.Messages = append(one.Messages, undecidedText(u))
		}
		for _, f := range out.warnings {
			one.Output += warningText(f) + "\n"
		}
		switch {
		case len(out.denials) > 0:
			one.Exit = report.Denied
		case len(out.undecided) > 0:
			one.Exit = report.Error
		}
		cases = append(cases, one)
	}
	return report.WriteJUnit(w, cases)
}
