package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// writeWhyText writes, for each object, the verdict, the policies that match with what
// they say, and those that do not with the condition.
func writeWhyText(w io.Writer, all []explained) error {
	var b strings.Builder
	for i, one := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		writeExplained(&b, one)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func writeExplained(b *strings.Builder, one explained) {
	fmt.Fprintf(b, "%s: %s; %s\n", printable(title(one.object)), whyVerdict(one), one.countWords())
	if len(one.policies) == 0 || one.refused {
		for _, f := range one.denials {
			writeFinding(b, "deny", denialText(f), f)
		}
	}
	for _, u := range one.undecided {
		if u.Policy == "" {
			writeEntry(b, "undecided", undecidedText(u))
		}
	}
	if one.as != "" {
		writeEntry(b, "as", one.as+", to which the API server converts it for the policies")
	}
	for _, part := range []struct {
		answer engine.Answer
		title  string
	}{
		{engine.AnswerAsked, "matched"},
		{engine.AnswerCannotBeAsked, "could not be asked"},
		{engine.AnswerNotMatched, "did not match"},
	} {
		policies := slices.DeleteFunc(slices.Clone(one.policies), func(e engine.Explanation) bool { return e.Answer != part.answer })
		if len(policies) > 0 {
			fmt.Fprintf(b, "\n  %s\n", part.title)
			writePolicies(b, policies)
		}
	}
}

// writePolicies aligns names and conditions; what policies say stands below them.
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
		fmt.Fprintf(b, "    %s\n", printable(fmt.Sprintf("%-*s  %-*s  %s", names, e.Policy.Package, sources, e.Policy.Source, reason)))
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
		writeFinding(&words, "warn", f.WarningText(), f)
	}
	for _, f := range e.Decision.Audits {
		writeFinding(&words, "audit", f.Text(), f)
	}
	for _, op := range e.Changes {
		writeEntry(&words, "patch", operationLine(op))
	}
	if words.Len() == 0 {
		writeUnmet(&words, e.Rules)
	}
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
		first, _, more := strings.Cut(rule.Conditions[i].Text, "\n")
		if more {
			first += " …"
		}
		writeEntry(b, "no "+rule.Rule, fmt.Sprintf("%s does not hold: %s", rule.Conditions[i].Location, first))
	}
	if shown > maxUnmet {
		writeEntry(b, "", fmt.Sprintf("and %d more rules; all are in -o json", shown-maxUnmet))
	}
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
	case len(e.Changes) > 0:
		return what + "changes the object"
	case e.Question == engine.QuestionMutate:
		return what + "changes nothing"
	default:
		return what + "has nothing against it"
	}
}

// counts counts policies by the most that became of them.
func (e explained) counts() map[engine.Answer]int {
	best := map[string]engine.Answer{}
	for _, one := range e.policies {
		key := one.Policy.Source + "/" + one.Policy.Package
		if before, ok := best[key]; !ok || before == engine.AnswerNotMatched || one.Answer == engine.AnswerAsked {
			best[key] = one.Answer
		}
	}
	counts := map[engine.Answer]int{}
	for _, answer := range best {
		counts[answer]++
	}
	return counts
}

// countWords is such as "2 policies matched, 3 did not".
func (e explained) countWords() string {
	counts := e.counts()
	words := fmt.Sprintf("%d policies matched", counts[engine.AnswerAsked])
	if counts[engine.AnswerAsked] == 1 {
		words = "1 policy matched"
	}
	if n := counts[engine.AnswerCannotBeAsked]; n > 0 {
		words += fmt.Sprintf(", %d could not be asked", n)
	}
	return words + fmt.Sprintf(", %d did not", counts[engine.AnswerNotMatched])
}

// whyVerdict is the verdict with the policies that deny.
func whyVerdict(one explained) string {
	if len(one.denials) == 0 {
		return verdict(one.outcome)
	}
	var names []string
	for _, f := range one.denials {
		names = append(names, cmp.Or(f.Policy, "the API server"))
	}
	slices.Sort(names)
	return "denied by " + strings.Join(slices.Compact(names), ", ")
}

// whyJSON is the output of -o json. Its lists are never null.
type whyJSON struct {
	Results []whyResult `json:"results"`
	Summary summary     `json:"summary"`
}

type whyResult struct {
	Object     jsonObject            `json:"object"`
	Allowed    bool                  `json:"allowed"`
	Matched    int                   `json:"matched"`
	NotMatched int                   `json:"notMatched"`
	Deny       []jsonFinding         `json:"deny"`
	Warn       []jsonFinding         `json:"warn"`
	Patch      []jsonpatch.Operation `json:"patch"`
	Undecided  []engine.Undecided    `json:"undecided"`
	As         string                `json:"as,omitempty"`
	Policies   []whyPolicy           `json:"policies"`
}

type whyPolicy struct {
	Policy    string                `json:"policy"`
	Source    string                `json:"source"`
	Location  string                `json:"location"`
	Question  engine.Question       `json:"question"`
	Answer    engine.Answer         `json:"answer"`
	Condition string                `json:"condition,omitempty"`
	Reason    string                `json:"reason,omitempty"`
	Deny      []jsonFinding         `json:"deny"`
	Warn      []jsonFinding         `json:"warn"`
	Audit     []jsonFinding         `json:"audit"`
	Changes   []jsonpatch.Operation `json:"changes"`
	Rules     []whyRule             `json:"rules"`
}

// whyRule is what became of one rule of an entry point.
type whyRule struct {
	Rule       string         `json:"rule"`
	Location   string         `json:"location"`
	Gave       bool           `json:"gave"`
	Conditions []whyCondition `json:"conditions"`
}

type whyCondition struct {
	Text     string                  `json:"text"`
	Location string                  `json:"location"`
	Outcome  engine.ConditionOutcome `json:"outcome"`
}

func whyRules(rules []engine.RuleOutcome) []whyRule {
	out := []whyRule{}
	for _, rule := range rules {
		one := whyRule{rule.Rule, rule.Location.String(), rule.Gave, []whyCondition{}}
		for _, c := range rule.Conditions {
			one.Conditions = append(one.Conditions, whyCondition{c.Text, c.Location.String(), c.Outcome})
		}
		out = append(out, one)
	}
	return out
}

func writeWhyJSON(w io.Writer, all []explained) error {
	report := whyJSON{Results: []whyResult{}, Summary: summarise(outcomesOf(all))}
	for _, one := range all {
		counts := one.counts()
		result := whyResult{
			Object:  jsonObjectOf(one.object),
			Allowed: len(one.denials) == 0,
			Matched: counts[engine.AnswerAsked], NotMatched: counts[engine.AnswerNotMatched],
			Deny:      jsonFindings(one.denials, denialText),
			Warn:      jsonFindings(one.warnings, engine.Finding.WarningText),
			Patch:     append([]jsonpatch.Operation{}, one.patch...),
			Undecided: append([]engine.Undecided{}, one.undecided...),
			As:        one.as,
			Policies:  []whyPolicy{},
		}
		for _, e := range one.policies {
			result.Policies = append(result.Policies, whyPolicy{
				Policy: e.Policy.Package, Source: e.Policy.Source, Location: e.Policy.Location.String(),
				Question: e.Question, Answer: e.Answer, Condition: e.Condition, Reason: e.Reason,
				Deny:    jsonFindings(e.Decision.Denials, engine.Finding.Text),
				Warn:    jsonFindings(e.Decision.Warnings, engine.Finding.WarningText),
				Audit:   jsonFindings(e.Decision.Audits, engine.Finding.Text),
				Changes: append([]jsonpatch.Operation{}, e.Changes...),
				Rules:   whyRules(e.Rules),
			})
		}
		report.Results = append(report.Results, result)
	}
	return writeIndented(w, report)
}

// writeIndented writes JSON that people read, too.
func writeIndented(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
