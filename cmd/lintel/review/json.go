package review

import (
	"io"
	"time"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// Report is the output of `lintel check -o json`. Its lists are never null.
type Report struct {
	Results []Result `json:"results"`
	Summary Summary  `json:"summary"`
}

// Result is what became of one object.
type Result struct {
	subject
	answers
}

// WhyReport is the output of `lintel why -o json`. Its lists are never null.
type WhyReport struct {
	Results []WhyResult `json:"results"`
	Summary Summary     `json:"summary"`
}

// WhyResult is a Result with what became of each policy.
type WhyResult struct {
	subject
	Matched    int `json:"matched"`
	NotMatched int `json:"notMatched"`
	answers
	Policies []PolicyAnswer `json:"policies"`
}

// subject is the object, and whether nothing denied it.
type subject struct {
	Object Object `json:"object"`
	// Request is the request of an AdmissionReview, or one with a user, a subresource or a dry
	// run.
	Request *Request `json:"request,omitempty"`
	Allowed bool     `json:"allowed"`
}

// Request is a request apart from its object.
type Request struct {
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	User        string `json:"user,omitempty"`
	DryRun      bool   `json:"dryRun,omitempty"`
}

type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// answers is all that policies say of an object.
type answers struct {
	Deny      []Finding             `json:"deny"`
	Warn      []Finding             `json:"warn"`
	Exempted  []Exempted            `json:"exempted"`
	Patch     []jsonpatch.Operation `json:"patch"`
	Undecided []engine.Undecided    `json:"undecided"`
	// As is the apiVersion to which the API server converts the object for the policies,
	// where it is another.
	As string `json:"as,omitempty"`
}

// Finding has a message alone where the API server itself refuses the object.
type Finding struct {
	Msg      string `json:"msg"`
	Policy   string `json:"policy"`
	Rule     string `json:"rule"`
	Location string `json:"location"`
}

// Exempted is a Finding without effect, with the PolicyException and the time until which that
// holds.
type Exempted struct {
	Finding
	Exception string    `json:"exception"`
	Until     time.Time `json:"until"`
}

// PolicyAnswer is what became of one policy.
type PolicyAnswer struct {
	Policy    string                `json:"policy"`
	Source    string                `json:"source"`
	Location  string                `json:"location"`
	Question  engine.Question       `json:"question"`
	Answer    engine.Answer         `json:"answer"`
	Condition string                `json:"condition,omitempty"`
	Reason    string                `json:"reason,omitempty"`
	Deny      []Finding             `json:"deny"`
	Warn      []Finding             `json:"warn"`
	Audit     []Finding             `json:"audit"`
	Exempted  []Exempted            `json:"exempted"`
	Changes   []jsonpatch.Operation `json:"changes"`
	Rules     []RuleAnswer          `json:"rules"`
}

// RuleAnswer is what became of one rule of an entry point.
type RuleAnswer struct {
	Rule       string      `json:"rule"`
	Location   string      `json:"location"`
	Gave       bool        `json:"gave"`
	Conditions []Condition `json:"conditions"`
}

type Condition struct {
	Text     string                  `json:"text"`
	Location string                  `json:"location"`
	Outcome  engine.ConditionOutcome `json:"outcome"`
	// Values are the values of its parts, as "text = value", of policies in CEL.
	Values []string `json:"values,omitempty"`
}

func writeJSON(w io.Writer, outcomes []outcome) error {
	all := Report{Results: []Result{}, Summary: summarise(outcomes)}
	for _, out := range outcomes {
		all.Results = append(all.Results, Result{out.subject(), out.answers()})
	}
	return report.WriteJSON(w, all)
}

func writeWhyJSON(w io.Writer, outcomes []outcome) error {
	all := WhyReport{Results: []WhyResult{}, Summary: summarise(outcomes)}
	for _, out := range outcomes {
		counts := out.counts()
		result := WhyResult{out.subject(), counts[engine.AnswerAsked], counts[engine.AnswerNotMatched], out.answers(), []PolicyAnswer{}}
		for _, e := range out.policies {
			result.Policies = append(result.Policies, PolicyAnswer{
				Policy: e.Policy.Package, Source: e.Policy.Source, Location: e.Policy.Location.String(),
				Question: e.Question, Answer: e.Answer, Condition: e.Condition, Reason: e.Reason,
				Deny:     findings(e.Decision.Denials, engine.Finding.Text),
				Warn:     findings(e.Decision.Warnings, warningText),
				Audit:    findings(e.Decision.Audits, engine.Finding.Text),
				Exempted: exemptions(e.Decision.Exempted),
				Changes:  append([]jsonpatch.Operation{}, e.Changes...),
				Rules:    ruleAnswers(e.Rules),
			})
		}
		all.Results = append(all.Results, result)
	}
	return report.WriteJSON(w, all)
}

func (out outcome) subject() subject {
	o := out.object
	var request *Request
	if out.request != "" {
		request = &Request{out.review.Operation, out.review.SubResource, out.review.Username, out.review.DryRun}
	}
	return subject{Object{o.Kind.GroupVersion().String(), o.Kind.Kind, o.Namespace, o.DisplayName()}, request, len(out.denials) == 0}
}

func (out outcome) answers() answers {
	return answers{
		Deny:      findings(out.denials, denialText),
		Warn:      findings(out.warnings, warningText),
		Exempted:  exemptions(out.exempted),
		Patch:     append([]jsonpatch.Operation{}, out.patch...),
		Undecided: append([]engine.Undecided{}, out.undecided...),
		As:        out.as,
	}
}

func findings(found []engine.Finding, text func(engine.Finding) string) []Finding {
	out := []Finding{}
	for _, f := range found {
		one := Finding{Msg: text(f), Policy: f.Policy, Rule: f.Rule}
		if f.Policy != "" {
			one.Location = f.Location.String()
		}
		out = append(out, one)
	}
	return out
}

func exemptions(found []engine.Finding) []Exempted {
	out := []Exempted{}
	for i, one := range findings(found, engine.Finding.Text) {
		out = append(out, Exempted{one, found[i].Exception, found[i].Expires.UTC()})
	}
	return out
}

func ruleAnswers(rules []engine.RuleOutcome) []RuleAnswer {
	out := []RuleAnswer{}
	for _, rule := range rules {
		one := RuleAnswer{rule.Rule, rule.Location.String(), rule.Gave, []Condition{}}
		for _, c := range rule.Conditions {
			one.Conditions = append(one.Conditions, Condition{c.Text, c.Location.String(), c.Outcome, c.Values})
		}
		out = append(out, one)
	}
	return out
}
