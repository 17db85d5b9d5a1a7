package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
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

// conditionedRule is a rule of an entry point as it was written, with the order in which
// its conditions are evaluated.
type conditionedRule struct {
	entry      string
	rule       *ast.Rule
	conditions []*ast.Expr
	order      []int // the positions of the conditions in the evaluation order
}

// readConditions finds the rules of the entry points in the modules as they were parsed,
// and the order of their conditions in those that were compiled.
func readConditions(parsed []*ast.Module, compiled map[string]*ast.Module, entryOf func(*ast.Rule) string) (found []conditionedRule) {
	bodies := map[string][]ast.Body{} // by file
	for _, name := range slices.Sorted(maps.Keys(compiled)) {
		ast.WalkRules(compiled[name], func(rule *ast.Rule) bool {
			bodies[rule.Location.File] = append(bodies[rule.Location.File], rule.Body)
			return false
		})
	}
	for _, module := range parsed {
		for _, rule := range module.Rules {
			entry := entryOf(rule)
			if entry == "" || rule.Default {
				continue
			}
			for branch := rule; branch != nil; branch = branch.Else {
				if entry == definition.EntryViolation {
					entry = definition.EntryDeny // as findings call it
				}
				found = append(found, conditionedRule{entry: entry, rule: branch})
				one := &found[len(found)-1]
				for _, expr := range branch.Body {
					if isWritten(expr) {
						one.conditions = append(one.conditions, expr)
					}
				}
				one.orderBy(bodies[rule.Location.File])
			}
		}
	}
	return found
}

// isWritten reports whether an expression is a condition in the source text, not a body that OPA
// adds to a rule without one, nor a declaration of variables.
func isWritten(expr *ast.Expr) bool {
	if declared, ok := expr.Terms.(*ast.SomeDecl); ok {
		if _, isIn := declared.Symbols[0].Value.(ast.Call); !isIn {
			return false
		}
	}
	return expr.Location != nil && len(expr.Location.Text) > 0 && string(expr.Location.Text) != "true"
}

// orderBy finds the compiled body of the rule. A condition is evaluated where the last of its
// parts is. A condition without compiled parts keeps its own position.
func (r *conditionedRule) orderBy(bodies []ast.Body) {
	r.order = make([]int, len(r.conditions))
	for i, condition := range r.conditions {
		r.order[i] = i
		for _, body := range bodies {
			for at, expr := range body {
				if l := expr.Location; l != nil && (eval.Place{File: l.File, Line: l.Row, Column: l.Col}).IsWithin(condition.Location) {
					r.order[i] = at
				}
			}
		}
	}
}

// outcome says what became of a rule, by what its evaluation came to.
func (r *conditionedRule) outcome(coverage *eval.Coverage) RuleOutcome {
	out := RuleOutcome{Rule: r.entry, Location: definition.LocationOf(r.rule.Location)}
	out.Gave = coverage.Has(r.rule.Head.Location, func(o eval.Outcome) bool { return o.Gave })
	furthest := -1 // that was reached, in the order of evaluation
	there := make([]bool, len(r.conditions))
	for i, condition := range r.conditions {
		if there[i] = coverage.Has(condition.Location, func(eval.Outcome) bool { return true }); there[i] {
			furthest = max(furthest, r.order[i])
		}
	}
	alone := len(slices.DeleteFunc(slices.Clone(there), func(reached bool) bool { return !reached })) == 1
	for i, condition := range r.conditions {
		one := Condition{Text: strings.TrimSpace(string(condition.Location.Text)), Location: definition.LocationOf(condition.Location), Outcome: ConditionNotReached}
		switch {
		case out.Gave, there[i] && r.order[i] < furthest, !there[i] && r.order[i] < furthest && !alone:
			one.Outcome = ConditionHeld
		case there[i]:
			one.Outcome = ConditionDidNotHold
		}
		out.Conditions = append(out.Conditions, one)
	}
	return out
}

// outcomesOf are those of the rules of some entry points.
func (p *compiledPolicy) outcomesOf(coverage *eval.Coverage, entries ...string) (out []RuleOutcome) {
	if coverage == nil {
		return nil
	}
	for i := range p.conditioned {
		if rule := &p.conditioned[i]; slices.Contains(entries, rule.entry) {
			out = append(out, rule.outcome(coverage))
		}
	}
	return out
}

// coverageOf returns the coverage that an evaluation of the policy records, or nil.
func (e *evaluation) coverageOf(p *compiledPolicy) *eval.Coverage {
	if e.covered == nil {
		return e.options.Coverage
	}
	if e.covered[p] == nil {
		e.covered[p] = &eval.Coverage{}
	}
	return e.covered[p]
}
