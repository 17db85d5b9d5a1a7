package audit

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/admission"
	core "github.com/lintel-policy/lintel/policies/audit"
)

// Rules of findings that are about no policy.
const (
	notAuditedRule = "not-audited"
	undecidedRule  = "undecided"
)

// writeJUnit writes each policy as a test: one with violations has failed, and one of which
// exceptions exempt all violations is skipped.
func (w *writer) writeJUnit(to io.Writer) error {
	var cases []report.Case
	for _, policy := range w.report.Policies {
		one := report.Case{Suite: policy.Source, Class: policy.Source, Name: policy.Policy}
		results := w.counted(policy)
		shown, omitted := w.limited(results)
		for _, r := range shown {
			text := r.Object.Title() + ": " + r.Result.Message
			switch r.Result.Outcome {
			case core.Fail, core.Error:
				one.Messages = append(one.Messages, text)
			case core.Skip:
				one.Output += fmt.Sprintf("%s: %s (%s)\n", core.Skip, text, exemptionOf(r.Result))
			default:
				one.Output += string(r.Result.Outcome) + ": " + text + "\n"
			}
		}
		if omitted > 0 {
			one.Messages = append(one.Messages, fmt.Sprintf("and %d more results", omitted))
		}
		one.Exit = w.exitOf(policy, results, &one)
		cases = append(cases, one)
	}
	for _, n := range w.report.NotAudited {
		cases = append(cases, report.Case{Suite: notAuditedRule, Name: cmp.Or(n.Resource, "files"), Exit: report.Error, Messages: []string{n.Reason}})
	}
	for _, u := range w.report.Undecided {
		if u.Policy == "" {
			cases = append(cases, report.Case{Suite: undecidedRule, Name: u.First.Title(), Exit: report.Error, Messages: []string{u.Reason}})
		}
	}
	return report.WriteJUnit(to, cases)
}

// exitOf is the result of the test of a policy.
func (w *writer) exitOf(policy PolicyCount, results []Result, into *report.Case) report.Exit {
	exit, skipped := report.Allowed, 0
	for _, n := range w.report.NotAuditable {
		if n.Policy == policy.Policy && n.Source == policy.Source && n.Rule == "" {
			into.Messages = append(into.Messages, "not auditable: depends on "+n.Reference)
			exit = report.Unknown
		}
	}
	for _, u := range w.report.Undecided {
		if u.Policy == policy.Policy {
			into.Messages = append(into.Messages, u.Reason)
			exit = report.Error
		}
	}
	for _, r := range results {
		switch r.Result.Outcome {
		case core.Fail:
			return report.Denied
		case core.Error:
			exit = report.Error
		case core.Skip:
			skipped++
		}
	}
	if exit == report.Allowed && skipped > 0 {
		into.Messages = append(into.Messages, report.CountedAs(skipped, "result is exempt by an exception", "results are exempt by exceptions"))
		exit = report.Unknown
	}
	return exit
}

// writeSARIF writes the results at their objects, and the kinds and files that were not audited.
func (w *writer) writeSARIF(to io.Writer) error {
	exits := map[core.Outcome]report.Exit{core.Fail: report.Denied, core.Warn: report.Allowed, core.Error: report.Error, core.Skip: report.Denied}
	var all []report.Finding
	for _, policy := range w.report.Policies {
		for _, r := range w.counted(policy) {
			one := report.Finding{
				Rule: r.Result.Policy + "/" + r.Result.Rule, Title: policy.Title, Exit: exits[r.Result.Outcome],
				Message: r.Result.Message, Object: r.Object.Title(), At: report.Place{File: r.file, Line: r.line}, Policy: w.place(r),
			}
			if r.Result.Field != "" {
				one.Message += "\nfield " + r.Result.Field
			}
			if r.Result.Outcome == core.Skip {
				one.Suppression = exemptionOf(r.Result)
			}
			all = append(all, one)
		}
	}
	for _, u := range w.report.Undecided {
		all = append(all, report.Finding{Rule: cmp.Or(u.Policy, undecidedRule), Exit: report.Error, Message: fmt.Sprintf("%s (%s)", u.Reason, report.Counted(u.Objects, "object")), Object: u.First.Title()})
	}
	for _, n := range w.report.NotAudited {
		all = append(all, report.Finding{Rule: notAuditedRule, Exit: report.Error, Message: n.Reason, Object: n.Resource})
	}
	return report.WriteSARIF(to, all)
}

// writeOpenReports writes Reports and ClusterReports as YAML, as the cluster would have them, with
// all results.
func (w *writer) writeOpenReports(to io.Writer) error {
	now := time.Now()
	groups := map[core.GroupKey]*core.Group{}
	var order []core.GroupKey
	for _, r := range w.report.Results {
		key := core.GroupKey{Namespace: r.Object.Namespace, Source: r.Result.Source}
		if groups[key] == nil {
			groups[key] = &core.Group{GroupKey: key, Counts: core.Counts{}}
			order = append(order, key)
		}
		kind := schema.FromAPIVersionAndKind(r.Object.APIVersion, r.Object.Kind)
		g := groups[key]
		g.Counts[r.Result.Outcome]++
		g.Details = append(g.Details, core.Detail{
			Object: core.Object{Kind: admission.GroupVersionKind(kind), Namespace: r.Object.Namespace, Name: r.Object.Name, UID: r.Object.UID},
			Result: r.Result, Since: now,
		})
	}
	slices.SortFunc(order, func(a, b core.GroupKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Source, b.Source))
	})
	for i, key := range order {
		built, err := core.Build(*groups[key], len(w.report.Results), core.OpenReports)
		if err != nil {
			return err
		}
		for j, one := range built {
			text, err := yaml.Marshal(one.Object)
			if err != nil {
				return fmt.Errorf("writing the report: %w", err)
			}
			if i+j > 0 {
				text = append([]byte("---\n"), text...)
			}
			if err := report.Write(to, string(text)); err != nil {
				return err
			}
		}
	}
	return nil
}
