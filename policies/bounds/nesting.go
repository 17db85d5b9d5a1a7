package bounds

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// nestingStage refuses rules whose comprehensions, calls or else branches nest so deep
// that OPA would compile them for minutes or years. It is the first stage that knows all rules.
func (b Limits) nestingStage(work *Work) (ast.StageID, ast.CompilerStageDefinition) {
	return ast.StageResolveRefs, ast.CompilerStageDefinition{
		Name:       "BoundNesting",
		MetricName: "lintel_bound_nesting",
		Stage: func(c *ast.Compiler) *ast.Error {
			var first errorInText
			for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
				b.checkNesting(c.Modules[name], work, &first)
			}
			return first.error
		},
	}
}

// CheckNesting is the check of a module before it is compiled, which already takes long
// where terms nest deep: nil where all is within the bounds.
func (b Limits) CheckNesting(module *ast.Module) *ast.Error {
	var first errorInText
	b.checkNesting(module, &Work{}, &first)
	return first.error
}

func (b Limits) checkNesting(module *ast.Module, work *Work, first *errorInText) {
	all, ordering := 0, 0
	for _, rule := range module.Rules {
		if branchesOf(rule) > b.Branches {
			first.add(rule, "rule %s has more than %d else branches; look the value up in an object", b.Branches)
		}
	}
	ast.WalkRules(module, func(rule *ast.Rule) bool {
		if deeperThan(rule, b.Depth) {
			first.add(rule, "rule %s nests deeper than %d brackets, calls and operators; make the inner parts rules of their own", b.Depth)
			return false
		}
		if !standsForAnother(rule) {
			checks := b.checksOf(rule.Body) + b.checksWithin(rule.Head)
			if checks > b.Checks {
				first.add(rule, "checking rule %s takes more than %d steps: each comprehension within another doubles them; make the inner ones rules of their own", b.Checks)
			}
			if all += checks; all > b.AllChecks {
				first.add(rule, "checking the rules up to %s takes more than %d steps: each comprehension within another doubles them; make the inner ones rules of their own", b.AllChecks)
			}
		}
		if ordering = min(ordering+orderingOf(rule), b.Ordering+1); ordering > b.Ordering {
			first.add(rule, "putting the expressions of the rules up to %s in order takes more than %d steps, which grow with the cube of the length of a body; divide long ones", b.Ordering)
		}
		if hasHugeNumber(rule) {
			first.add(rule, "rule %s names a number of more than %d digits, or with an exponent beyond that, which takes long to compare; write a smaller one", terms.MaxNumberDigits)
		}
		if closuresOf(rule) > b.Closures {
			first.add(rule, "rule %s has more than %d comprehensions and every; make some of them rules of their own", b.Closures)
		}
		if callsOf(rule) > b.Calls {
			first.add(rule, "rule %s has more than %d calls within others; make some of them rules of their own", b.Calls)
		}
		if referencesOf(rule) > b.References {
			first.add(rule, "rule %s has more than %d references; make some of them rules of their own", b.References)
		}
		return false // else branches follow
	})
	work.Checks, work.Ordering = work.Checks+all, work.Ordering+ordering
}

// depthOfEvery is how many terms an every counts for: OPA goes through what it holds
// several times.
const depthOfEvery = 4

// deeperThan says whether the terms of a rule without its else branches stand in each
// other so many times.
func deeperThan(rule *ast.Rule, limit int) (deeper bool) {
	depth := 0
	depthOf := func(node any) int {
		switch node.(type) {
		case *ast.Term:
			return 1
		case *ast.Every:
			return depthOfEvery
		}
		return 0
	}
	visitor := ast.NewBeforeAfterVisitor(func(node any) bool {
		depth += depthOf(node)
		deeper = deeper || depth > limit
		return deeper
	}, func(node any) { depth -= depthOf(node) })
	visitor.Walk(rule.Head)
	visitor.Walk(rule.Body)
	return deeper
}

// orderingOf is the sum of the cubes of the lengths of the bodies of a rule without its
// else branches.
func orderingOf(rule *ast.Rule) (steps int) {
	add := func(body ast.Body) {
		n := len(body) + callsWithin(body)
		steps += n * n * n
	}
	add(rule.Body)
	within := func(closure any) bool {
		switch closure := closure.(type) {
		case *ast.ArrayComprehension:
			add(closure.Body)
		case *ast.SetComprehension:
			add(closure.Body)
		case *ast.ObjectComprehension:
			add(closure.Body)
		case *ast.Every:
			add(closure.Body)
		}
		return false
	}
	ast.WalkClosures(rule.Head, within)
	ast.WalkClosures(rule.Body, within)
	return steps
}

// closuresOf counts the comprehensions and every of a rule without its else branches.
func closuresOf(rule *ast.Rule) (closures int) {
	count := func(any) bool {
		closures++
		return false
	}
	ast.WalkClosures(rule.Head, count)
	ast.WalkClosures(rule.Body, count)
	return closures
}

// hasHugeNumber says whether a rule without its else branches names a number that takes long
// to compare.
func hasHugeNumber(rule *ast.Rule) (huge bool) {
	look := func(term *ast.Term) bool {
		number, isNumber := term.Value.(ast.Number)
		huge = huge || isNumber && terms.CheckNumber(string(number)) != nil
		return huge
	}
	ast.WalkTerms(rule.Head, look)
	ast.WalkTerms(rule.Body, look)
	return huge
}

func branchesOf(rule *ast.Rule) (branches int) {
	for ; rule.Else != nil; rule = rule.Else {
		branches++
	}
	return branches
}

// callsOf counts the calls in the terms of a rule without its else branches.
func callsOf(rule *ast.Rule) int { return callsWithin(rule.Head) + callsWithin(rule.Body) }

func callsWithin(node any) (calls int) {
	ast.WalkTerms(node, func(term *ast.Term) bool {
		if _, isCall := term.Value.(ast.Call); isCall {
			calls++
		}
		return false
	})
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

// checksOf counts the expressions of a body, and the variables that they declare, as
// often as OPA looks at them, up to just over what a rule may have.
func (b Limits) checksOf(body ast.Body) (checks int) {
	for _, expr := range body {
		checks = min(checks+1+b.checksWithin(expr), b.Checks+1)
		if declared, ok := expr.Terms.(*ast.SomeDecl); ok {
			checks = min(checks+len(declared.Symbols), b.Checks+1)
		}
	}
	return checks
}

func (b Limits) checksWithin(node any) (checks int) {
	twice := func(body ast.Body, terms ...*ast.Term) bool {
		again := b.checksOf(body)
		for _, term := range terms {
			again += b.checksWithin(term)
		}
		checks = min(checks+2*again, b.Checks+1)
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
			checks = min(checks+b.checksOf(closure.Body)+2*b.checksWithin(closure.Domain), b.Checks+1)
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
	return strings.HasPrefix(rule.Head.Ref().String(), ReservedPrefix)
}
