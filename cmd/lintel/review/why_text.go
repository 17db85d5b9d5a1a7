package review

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/engine"
)

// writeWhyText writes, for each object, the verdict, the policies that match with their
// findings, and those that do not with the condition.
func writeWhyText(w io.Writer, outcomes []outcome) error {
	var b strings.Builder
	for i, out := range outcomes {
		if i > 0 {
			b.WriteString("\n")
		}
		writeExplained(&b, out)
	}
	return report.Write(w, b.String())
}

func writeExplained(b *strings.Builder, out outcome) {
	fmt.Fprintf(b, "%s: %s; %s\n", report.Printable(out.object.Title()), whyVerdict(out), out.countWords())
	if len(out.policies) == 0 || out.refused {
		for _, f := range out.denials {
			writeFinding(b, "deny", denialText(f), f)
		}
	}
	for _, u := range out.undecided {
		if u.Policy == "" {
			writeEntry(b, "undecided", undecidedText(u))
		}
	}
	writeRequest(b, out)
	writeVersion(b, out)
	for _, part := range []struct {
		answer engine.Answer
		title  string
	}{
		{engine.AnswerAsked, "matched"},
		{engine.AnswerCannotBeAsked, "could not be asked"},
		{engine.AnswerNotMatched, "did not match"},
	} {
		policies := slices.DeleteFunc(slices.Clone(out.policies), func(e engine.Explanation) bool { return e.Answer != part.answer })
		if len(policies) > 0 {
			fmt.Fprintf(b, "\n  %s\n", part.title)
			writePolicies(b, policies)
		}
	}
}

// writePolicies aligns names and conditions, and writes the findings below them.
func writePolicies(b *strings.Builder, policies []engine.Explanation) {
	var names, sources, conditions int
	for _, e := range policies {
		names, sources, conditions = max(names, len(e.Policy.Package)), max(sources, len(e.Policy.Source)), max(conditions, len(e.Condition))
	}
	for _, e := range policies {
		reason := strings.TrimSpace(fmt.Sprintf("%-*s  %s", conditions, e.Condition, e.Reason))
		if e.Answer == engine.AnswerAsked {
			reason = said(e)
		}
		fmt.Fprintf(b, "    %s\n", report.Printable(fmt.Sprintf("%-*s  %-*s  %s", names, e.Policy.Package, sources, e.Policy.Source, reason)))
		if e.Answer == engine.AnswerAsked {
			writeWords(b, e)
		}
	}
}

// writeWords writes what a policy said, below its name.
func writeWords(b *strings.Builder, e engine.Explanation) {
	var words strings.Builder
	for _, f := range e.Decision.Denials {
		writeFinding(&words, "deny", f.Text(), f)
	}
	for _, f := range e.Decision.Warnings {
		writeFinding(&words, "warn", warningText(f), f)
	}
	for _, f := range e.Decision.Audits {
		writeFinding(&words, "audit", f.Text(), f)
	}
	for _, f := range e.Decision.Exempted {
		writeFinding(&words, "exempt", exemptedText(f), f)
	}
	for _, op := range e.Changes {
		writeEntry(&words, "patch", operationLine(op))
	}
	if words.Len() == 0 {
		writeUnmet(&words, e.Rules)
	}
	writeCauses(&words, e.Rules)
	for line := range strings.Lines(words.String()) {
		b.WriteString("    " + line)
	}
}

// maxUnmet is how many rules of a policy are shown that had nothing to say.
const maxUnmet = 10

// writeUnmet writes the condition of each rule that did not hold.
func writeUnmet(b *strings.Builder, rules []engine.RuleOutcome) {
	shown := 0
	for _, rule := range rules {
		i := slices.IndexFunc(rule.Conditions, func(c engine.Condition) bool { return c.Outcome == engine.ConditionDidNotHold })
		if i < 0 {
			continue
		}
		if shown++; shown > maxUnmet {
			continue
		}
		if last := len(rule.Conditions) - 1; rule.Conditions[last].Values != nil { // the parts of an expression follow it
			i = last
		}
		writeEntry(b, "no "+rule.Rule, fmt.Sprintf("%s does not hold: %s", rule.Conditions[i].Location, conditionText(rule.Conditions[i])))
	}
	if shown > maxUnmet {
		writeEntry(b, "", fmt.Sprintf("and %d more rules; all are in -o json", shown-maxUnmet))
	}
}

// writeCauses writes the parts of expressions because of which a policy denies.
func writeCauses(b *strings.Builder, rules []engine.RuleOutcome) {
	shown := 0
	for _, rule := range rules {
		if !rule.Gave || len(rule.Conditions) == 0 || rule.Conditions[0].Outcome != engine.ConditionDidNotHold {
			continue
		}
		parts := rule.Conditions
		if len(parts) > 1 {
			parts = parts[1:]
		}
		for _, part := range parts {
			if shown++; shown > maxUnmet {
				continue
			}
			value := "false"
			if part.Outcome == engine.ConditionHeld {
				value = "true"
			}
			writeEntry(b, value, fmt.Sprintf("%s: %s", part.Location, conditionText(part)))
		}
	}
	if shown > maxUnmet {
		writeEntry(b, "", fmt.Sprintf("and %d more parts; all are in -o json", shown-maxUnmet))
	}
}

// conditionText is the first line of a condition, with the values of its parts.
func conditionText(c engine.Condition) string {
	text, _, more := strings.Cut(c.Text, "\n")
	if more {
		text += " …"
	}
	if len(c.Values) > 0 {
		text += "; " + strings.Join(c.Values, "; ")
	}
	return text
}

// said is what a policy that was asked answered, in a word or two.
func said(e engine.Explanation) string {
	what := ""
	if e.Question == engine.QuestionTemplate {
		what = "Pod template: "
	}
	switch {
	case len(e.Decision.Denials) > 0:
		return what + "denies"
	case len(e.Decision.Warnings) > 0:
		return what + "warns"
	case len(e.Decision.Audits) > 0:
		return what + "notes"
	case len(e.Decision.Exempted) > 0:
		return what + "exempts the object"
	case len(e.Changes) > 0:
		return what + "changes the object"
	case e.Question == engine.QuestionMutate:
		return what + "changes nothing"
	default:
		return what + "has nothing against it"
	}
}

// counts counts policies by the most that became of them.
func (out outcome) counts() map[engine.Answer]int {
	counts := map[engine.Answer]int{}
	for _, answer := range bestAnswers(out.policies) {
		counts[answer]++
	}
	return counts
}

// countWords is such as "2 policies matched, 3 did not".
func (out outcome) countWords() string {
	counts := out.counts()
	words := report.CountedAs(counts[engine.AnswerAsked], "policy", "policies") + " matched"
	if n := counts[engine.AnswerCannotBeAsked]; n > 0 {
		words += fmt.Sprintf(", %d could not be asked", n)
	}
	return words + fmt.Sprintf(", %d did not", counts[engine.AnswerNotMatched])
}

// whyVerdict is the verdict with the policies that deny.
func whyVerdict(out outcome) string {
	if len(out.denials) == 0 {
		return verdict(out)
	}
	var names []string
	for _, f := range out.denials {
		names = append(names, cmp.Or(f.Policy, "the API server"))
	}
	slices.Sort(names)
	return "denied by " + strings.Join(slices.Compact(names), ", ")
}
