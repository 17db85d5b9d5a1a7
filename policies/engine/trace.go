package engine

import (
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// ConditionOutcome is what became of a condition of a rule.
type ConditionOutcome string

// The outcomes of a condition.
const (
	ConditionHeld       ConditionOutcome = "held" // with at least one choice of variables
	ConditionDidNotHold ConditionOutcome = "did not hold"
	ConditionNotReached ConditionOutcome = "not reached" // one before it did not hold
)

// Condition is one line of the body of a rule.
type Condition struct {
	Text     string // as it is written
	Location definition.Location
	Outcome  ConditionOutcome
	// Values are the values of its parts, as "text = value". Only policies in CEL have them.
	Values []string
}

// RuleOutcome is what became of one rule of an entry point.
type RuleOutcome struct {
	Rule     string // the entry point: deny (violation, in a template), warn, patch or defaults
	Location definition.Location
	// Gave says that the rule had something to say: all its conditions held.
	Gave bool
	// Conditions are in their order in the file.
	Conditions []Condition
}

// outcomeOf returns the outcome of a rule, from the locations that its evaluation reached.
func outcomeOf(r *policyset.RuleBody, coverage *eval.Coverage) RuleOutcome {
	out := RuleOutcome{Rule: r.Entry, Location: definition.LocationOf(r.Rule.Location)}
	out.Gave = coverage.Has(r.Rule.Head.Location, func(o eval.Outcome) bool { return o.Gave })
	furthest := -1 // that was reached, in the order of evaluation
	there := make([]bool, len(r.Conditions))
	for i, condition := range r.Conditions {
		if there[i] = coverage.Has(condition.Location, func(eval.Outcome) bool { return true }); there[i] {
			furthest = max(furthest, r.Order[i])
		}
	}
	alone := len(slices.DeleteFunc(slices.Clone(there), func(reached bool) bool { return !reached })) == 1
	for i, condition := range r.Conditions {
		one := Condition{Text: strings.TrimSpace(string(condition.Location.Text)), Location: definition.LocationOf(condition.Location), Outcome: ConditionNotReached}
		switch {
		case out.Gave, there[i] && r.Order[i] < furthest, !there[i] && r.Order[i] < furthest && !alone:
			one.Outcome = ConditionHeld
		case there[i]:
			one.Outcome = ConditionDidNotHold
		}
		out.Conditions = append(out.Conditions, one)
	}
	return out
}

// ruleOutcomes returns the outcomes of the rules of some entry points.
func (p *policy) ruleOutcomes(coverage *eval.Coverage, entries ...string) (out []RuleOutcome) {
	if coverage == nil {
		return nil
	}
	for i := range p.Bodies {
		if rule := &p.Bodies[i]; slices.Contains(entries, rule.Entry) {
			out = append(out, outcomeOf(rule, coverage))
		}
	}
	return out
}
