package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// Outcome is the result of a rule for an object.
type Outcome string

// The outcomes that are reported.
const (
	Fail  Outcome = "fail"  // a denial of a policy that enforces deny or audit
	Warn  Outcome = "warn"  // a warning
	Error Outcome = "error" // the policy could not be evaluated
	Skip  Outcome = "skip"  // an exception lets the object through
)

// AllOutcomes are all outcomes in the order of their severity.
var AllOutcomes = []Outcome{Error, Fail, Warn, Skip}

// Result is one finding of a policy about a stored object.
type Result struct {
	// Source and Revision are those of the policy, Scope is its scope as level/name, and Rule
	// the entry point or, for an error, the rule in which it occurred.
	Source   string `json:"source"`
	Revision string `json:"revision,omitempty"`
	Scope    string `json:"scope"`
	Policy   string `json:"policy"`
	Rule     string `json:"rule"`
	// Constraint is the constraint of a Gatekeeper template: nil for other policies.
	Constraint *Constraint `json:"constraint,omitempty"`
	// Location is the location of the rule.
	Location definition.Location `json:"location"`
	Outcome  Outcome             `json:"outcome"`
	// Enforcement is that of the policy at admission.
	Enforcement definition.Enforcement `json:"enforcement"`
	// Message contains the policy's own words, at most engine.MaxWordsBytes.
	Message string `json:"message"`
	// Field and Code are what the policy adds, and Severity and Category what its METADATA say.
	Field    string `json:"field,omitempty"`
	Code     int    `json:"code,omitempty"`
	Severity string `json:"severity,omitempty"`
	Category string `json:"category,omitempty"`
	// Exception is the name of the exception of a Skip, and ExceptionExpires when it ends, in UTC.
	Exception        string    `json:"exception,omitempty"`
	ExceptionExpires time.Time `json:"exceptionExpiresAt,omitzero"`
}

// Constraint names a constraint of Gatekeeper.
type Constraint struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// PolicyKey names a policy.
type PolicyKey struct{ Source, Policy string }

// Key names the policy of a result.
func (r Result) Key() PolicyKey { return PolicyKey{r.Source, r.Policy} }

func (k PolicyKey) compare(other PolicyKey) int {
	return cmp.Or(cmp.Compare(k.Source, other.Source), cmp.Compare(k.Policy, other.Policy))
}

// compare orders by policy, outcome and text.
func (r Result) compare(other Result) int {
	return cmp.Or(
		r.Key().compare(other.Key()),
		cmp.Compare(slices.Index(AllOutcomes, r.Outcome), slices.Index(AllOutcomes, other.Outcome)),
		cmp.Compare(r.Message, other.Message),
		cmp.Compare(r.Location.String(), other.Location.String()),
	)
}

// same reports whether results are equal. Constraints are compared by their values.
func (r Result) same(other Result) bool {
	if (r.Constraint == nil) != (other.Constraint == nil) || r.Constraint != nil && *r.Constraint != *other.Constraint {
		return false
	}
	r.Constraint, other.Constraint = nil, nil
	return r == other
}

// constraintOf reads the name of the policy of a template.
func constraintOf(info engine.PolicyInfo) *Constraint {
	kind, name, ok := strings.Cut(info.Package, "/")
	if !info.AnyVersion || !ok {
		return nil
	}
	return &Constraint{Kind: kind, Name: name}
}
