package review

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// writeText writes the report for people: verdict, reasons and patch of each object,
// then the sum.
func writeText(w io.Writer, outcomes []outcome) error {
	var b strings.Builder
	for _, out := range outcomes {
		writeOutcome(&b, out)
	}
	if slices.ContainsFunc(outcomes, lacksObjects) {
		b.WriteString("\nUndecided policies need objects of the cluster: give them with --cluster <folder>;\na Namespace can also be among the manifests.\n")
	}
	fmt.Fprintf(&b, "\n%s\n", summaryLine(outcomes))
	return report.Write(w, b.String())
}

// lacksObjects reports whether a policy could not be evaluated for want of objects of the cluster.
// All other reasons contain their next step, or have none.
func lacksObjects(out outcome) bool {
	return len(out.denials) == 0 && slices.ContainsFunc(out.undecided, func(one engine.Undecided) bool { return one.Lacks != "" })
}

func writeOutcome(b *strings.Builder, out outcome) {
	fmt.Fprintf(b, "%s: %s\n", report.Printable(out.object.Title()), verdict(out))
	if len(out.denials)+len(out.undecided) > 0 {
		writeEntry(b, "at", out.object.Origin)
	}
	writeRequest(b, out)
	writeVersion(b, out)
	for _, f := range out.denials {
		writeFinding(b, "deny", denialText(f), f)
	}
	for _, f := range out.warnings {
		writeFinding(b, "warn", warningText(f), f)
	}
	for _, f := range out.exempted {
		writeFinding(b, "exempt", exemptedText(f), f)
	}
	for _, u := range out.undecided {
		writeEntry(b, "undecided", undecidedText(u))
	}
	for _, op := range out.patch {
		writeEntry(b, "patch", operationLine(op))
	}
}

// writeRequest writes the request, unless it is an operation on the object alone.
func writeRequest(b *strings.Builder, out outcome) {
	if out.request != "" {
		writeEntry(b, "request", out.request)
	}
}

// writeVersion writes the version in which the policies see the object, where it is another.
func writeVersion(b *strings.Builder, out outcome) {
	if out.as != "" {
		writeEntry(b, "as", out.as+", to which the API server converts it for the policies")
	}
}

func undecidedText(u engine.Undecided) string {
	if u.Policy == "" {
		return u.Reason
	}
	return fmt.Sprintf("policy %s: %s", u.Policy, u.Reason)
}

// writeFinding writes a message, with the field that it is about where the policy
// names one.
func writeFinding(b *strings.Builder, label, text string, f engine.Finding) {
	writeEntry(b, label, text)
	if f.Field != "" {
		writeEntry(b, "", "field "+f.Field)
	}
}

// writeEntry writes a label and a text, whose further lines are aligned with the first.
func writeEntry(b *strings.Builder, label, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(b, "  %-9s  %s\n", label, report.Printable(strings.TrimSuffix(line, "\n")))
		label = ""
	}
}

func verdict(out outcome) string {
	switch {
	case len(out.denials) > 0:
		return "denied"
	case len(out.undecided) > 0:
		return "undecided"
	case len(out.warnings) > 0:
		return "admitted with warnings"
	default:
		return "admitted"
	}
}

func operationLine(op jsonpatch.Operation) string {
	line := op.Op + " " + op.Path
	if op.From != "" {
		line += " from " + op.From
	}
	if op.Value != nil {
		line += " = " + plainJSON(op.Value)
	}
	return line
}

// plainJSON undoes the escapes that JSON has for the sake of HTML.
func plainJSON(text []byte) string {
	value := jsontext.Value(bytes.Clone(text))
	if err := value.Format(jsontext.PreserveRawStrings(false)); err != nil {
		return string(text)
	}
	return string(value)
}

func summaryLine(outcomes []outcome) string {
	s := summarise(outcomes)
	parts := []string{}
	for _, part := range []struct {
		count int
		word  string
	}{
		{s.Denied, "denied"},
		{s.undecided, "undecided"},
		{s.Objects - s.Denied - s.undecided, "admitted"},
		{s.Warned, "with warnings"},
		{s.Patched, "patched"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.word))
		}
	}
	return report.Counted(s.Objects, "object") + ": " + strings.Join(parts, ", ")
}
