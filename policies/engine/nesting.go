package engine

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxRuleChecks is how many expressions OPA's compiler may look at for one rule: those
// within a comprehension once for each comprehension around it, and once more.
const maxRuleChecks = 5_000

// maxRuleCalls is how many calls a rule may have within others, maxRuleReferences how many
// references, and maxBranches how many else branches: what they take to compile grows
// faster than they do.
const (
	maxRuleCalls      = 5_000
	maxRuleReferences = 10_000
	maxBranches       = 1_000
)

// nestingStage refuses rules whose comprehensions, calls or else branches nest so deep
// that OPA would compile them for minutes or years. It is the first stage that knows all rules.
func nestingStage() (ast.StageID, ast.CompilerStageDefinition) {
	return ast.StageResolveRefs, ast.CompilerStageDefinition{
		Name:       "BoundNesting",
		MetricName: "lintel_bound_nesting",
		Stage: func(c *ast.Compiler) *ast.Error {
			var first errorInText
			for _, module := range c.Modules {
				for _, rule := range module.Rules {
					if branchesOf(rule) > maxBranches {
						first.add(rule, "rule %s has more than %d else branches; look the value up in an object", maxBranches)
					}
				}
				ast.WalkRules(module, func(rule *ast.Rule) bool {
					if !standsForAnother(rule) && checksOf(rule.Body)+checksWithin(rule.Head) > maxRuleChecks {
						first.add(rule, "checking rule %s takes more than %d steps: each comprehension within another doubles them; make the inner ones rules of their own", maxRuleChecks)
					}
					if callsOf(rule) > maxRuleCalls {
						first.add(rule, "rule %s has more than %d calls within others; make some of them rules of their own", maxRuleCalls)
					}
					if referencesOf(rule) > maxRuleReferences {
						first.add(rule, "rule %s has more than %d references; make some of them rules of their own", maxRuleReferences)
					}
					return false // else branches follow
				})
			}
			return first.error
		},
	}
}

func branchesOf(rule *ast.Rule) (branches int) {
	for ; rule.Else != nil; rule = rule.Else {
		branches++
	}
	return branches
}

// callsOf counts the calls in the terms of a rule without its else branches.
func callsOf(rule *ast.Rule) (calls int) {
	count := func(term *ast.Term) bool {
		if _, isCall := term.Value.(ast.Call); isCall {
			calls++
		}
		return false
	}
	ast.WalkTerms(rule.Head, count)
	ast.WalkTerms(rule.Body, count)
	return calls
}

// referencesOf counts the references of a rule without its else branches.
func referencesOf(rule *ast.Rule) (references int) {
	count := func(ast.Ref) bool {
		references++
		return false
	}
	ast.WalkRefs(rule.Head, count)
	ast.WalkRefs(rule.Body, count)
	return references
}

// checksOf counts the expressions of a body as often as OPA looks at them, up to just
// over maxRuleChecks.
func checksOf(body ast.Body) (checks int) {
	for _, expr := range body {
		checks = min(checks+1+checksWithin(expr), maxRuleChecks+1)
	}
	return checks
}

func checksWithin(node any) (checks int) {
	twice := func(body ast.Body, terms ...*ast.Term) bool {
		again := checksOf(body)
		for _, term := range terms {
			again += checksWithin(term)
		}
		checks = min(checks+2*again, maxRuleChecks+1)
		return true // its parts have been counted
	}
	ast.WalkClosures(node, func(closure any) bool {
		switch closure := closure.(type) {
		case *ast.ArrayComprehension:
			return twice(closure.Body, closure.Term)
		case *ast.SetComprehension:
			return twice(closure.Body, closure.Term)
		case *ast.ObjectComprehension:
			return twice(closure.Body, closure.Key, closure.Value)
		case *ast.Every:
			checks = min(checks+checksOf(closure.Body)+2*checksWithin(closure.Domain), maxRuleChecks+1)
			return true
		}
		return false
	})
	return checks
}

// errorInText is the first error in the text of those that were added: rules come in any
// order.
type errorInText struct{ error *ast.Error }

// add adds an error about a rule, whose name and a limit are the arguments of the format.
func (e *errorInText) add(rule *ast.Rule, format string, limit int) {
	err := ast.NewError(ast.CompileErr, rule.Location, format, rule.Head.Ref(), limit)
	if e.error == nil || err.Location.Compare(e.error.Location) < 0 {
		e.error = err
	}
}

// standsForAnother says whether a rule was made of another one, which is as deep and as large.
func standsForAnother(rule *ast.Rule) bool {
	return strings.HasPrefix(rule.Head.Ref().String(), twinPrefix)
}
