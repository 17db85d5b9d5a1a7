package audit

import (
	"cmp"
	"slices"

	core "github.com/lintel-policy/lintel/policies/audit"
)

// reportVersion is the apiVersion of the JSON reports.
const reportVersion = "lintel.dev/audit-report/v1"

// Report is the output of `lintel audit -o json`, and a baseline for later runs. Its lists are
// never null.
type Report struct {
	APIVersion string `json:"apiVersion"`
	// Summary counts what the lists contain, or would contain without --limit.
	Summary Summary `json:"summary"`
	// Policies are all that deny or warn, sorted by source and name.
	Policies []PolicyCount `json:"policies"`
	// Results are sorted by policy, object and message.
	Results []Result `json:"results"`
	// NotAuditable are the rules that depend on a request.
	NotAuditable []NotAuditable `json:"notAuditable"`
	// NotAudited are kinds and files that could not be read completely.
	NotAudited []NotAudited `json:"notAudited"`
	// Undecided are policies that could not be evaluated for some objects.
	Undecided []Undecided `json:"undecided"`
}

// Summary counts the objects that were evaluated, and the results.
type Summary struct {
	Objects    int `json:"objects"`
	Kinds      int `json:"kinds"`
	Policies   int `json:"policies"`
	Violations int `json:"violations"`
	Warnings   int `json:"warnings"`
	Errors     int `json:"errors"`
	Skipped    int `json:"skipped"`
	// New are the violations that the baseline does not have: null without a baseline.
	New *int `json:"new,omitempty"`
}

// PolicyCount is one policy with the number of its results by outcome.
type PolicyCount struct {
	Source      string      `json:"source"`
	Policy      string      `json:"policy"`
	Title       string      `json:"title,omitempty"`
	Enforcement string      `json:"enforcement"`
	Counts      core.Counts `json:"counts"`
}

// Result is what a policy finds about an object.
type Result struct {
	// Key identifies the result in other runs.
	Key    string      `json:"key"`
	Object Object      `json:"object"`
	At     string      `json:"at,omitempty"` // file:line, for objects of files
	Result core.Result `json:"result"`
	New    bool        `json:"new,omitempty"` // a violation that the baseline does not have
	file   string
	line   int
}

// Object names an object.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
}

// Title is "Pod shop/web".
func (o Object) Title() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// NotAuditable is a policy, or a rule of it, with the reference that makes it depend on a request.
type NotAuditable struct {
	Source    string `json:"source"`
	Policy    string `json:"policy"`
	Rule      string `json:"rule,omitempty"` // its location; empty for the whole policy
	Reference string `json:"reference"`
}

// NotAudited is a kind of the cluster, as resource.group, that could not be read completely, or a
// file, which the reason begins with.
type NotAudited struct {
	Resource string `json:"resource,omitempty"`
	Group    string `json:"group,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Reason   string `json:"reason"`
}

// Undecided is why a policy could not be evaluated. Policy is empty if the objects themselves
// cannot be evaluated.
type Undecided struct {
	Policy  string `json:"policy,omitempty"`
	Reason  string `json:"reason"`
	Objects int    `json:"objects"`
	First   Object `json:"first"`
}

// isViolation reports whether the result makes an audit fail.
func (r Result) isViolation() bool { return r.Result.Outcome == core.Fail }

func compareResults(a, b Result) int {
	return cmp.Or(
		cmp.Compare(a.Result.Source, b.Result.Source), cmp.Compare(a.Result.Policy, b.Result.Policy),
		cmp.Compare(slices.Index(core.AllOutcomes, a.Result.Outcome), slices.Index(core.AllOutcomes, b.Result.Outcome)),
		compareObjects(a.Object, b.Object), cmp.Compare(a.Result.Message, b.Result.Message), cmp.Compare(a.Key, b.Key),
	)
}

func compareObjects(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
}

// isComplete reports whether every policy that can be audited was evaluated for all objects.
func (r *Report) isComplete() bool {
	return len(r.NotAudited)+len(r.Undecided)+r.Summary.Errors == 0
}
