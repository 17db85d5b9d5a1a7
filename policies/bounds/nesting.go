package bounds

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// nestingStage returns errors for rules whose comprehensions, calls or `else` branches are nested
// so deeply that OPA would compile them for minutes or years. It is the first stage that knows
// all rules.
func (b Limits) nestingStage(work *Work) (ast.StageID, ast.CompilerStageDefinition) {
	return stage(ast.StageResolveRefs, "nesting", func(c *ast.Compiler, first *errorInText) {
		for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
			b.checkNesting(c.Modules[name], work, first)
		}
	})
}

// CheckNesting is the check of a module before it is compiled, which already takes long
// where terms nest deep: nil if all is within the bounds.
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
		counts := countsOf(rule)
		if ordering = min(ordering+counts.ordering, b.Ordering+1); ordering > b.Ordering {
			first.add(rule, "putting the expressions of the rules up to %s in order takes more than %d steps, which grow with the cube of the length of a body; divide long ones", b.Ordering)
		}
		if counts.hugeNumber {
			first.add(rule, "rule %s names a number of more than %d digits, or with an exponent beyond that, which takes long to compare; write a smaller one", terms.MaxNumberDigits)
		}
		if counts.closures > b.Closures {
			first.add(rule, "rule %s has more than %d comprehensions and every; make some of them rules of their own", b.Closures)
		}
		if counts.calls > b.Calls {
			first.add(rule, "rule %s has more than %d calls within others; make some of them rules of their own", b.Calls)
		}
		if counts.references > b.References {
			first.add(rule, "rule %s has more than %d references; make some of them rules of their own", b.References)
		}
		return false // else branches follow
	})
	work.Checks, work.Ordering = work.Checks+all, work.Ordering+ordering
}

// depthOfEvery is the number of terms that an every counts for: OPA visits its body several
// times.
const depthOfEvery = 4

// deeperThan reports whether the terms of a rule, without its else branches, are nested deeper
// than the limit.
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
	visitor.Walk(withoutElse(rule))
	return deeper
}

func withoutElse(rule *ast.Rule) *ast.Rule { return &ast.Rule{Head: rule.Head, Body: rule.Body} }

// counts are the counts of a rule without its else branches.
type counts struct {
	closures, calls, references int
	hugeNumber                  bool // one that takes long to compare
	ordering                    int  // the sum of the cubes of the lengths of its bodies
}

func countsOf(rule *ast.Rule) counts {
	found := counts{ordering: cubeOf(rule.Body)}
	ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case ast.Ref:
			found.references++
		case ast.Call:
			found.calls++
		case ast.Number:
			found.hugeNumber = found.hugeNumber || terms.CheckNumber(string(node)) != nil
		}
		if body, _, isClosure := partsOf(node); isClosure {
			found.closures++
			found.ordering += cubeOf(body)
		}
		return false
	}).Walk(withoutElse(rule))
	return found
}

// partsOf are the body of a comprehension or every, and its terms: those that the body
// gives values to, or the domain of the every.
func partsOf(node any) (body ast.Body, terms []*ast.Term, isClosure bool) {
	switch closure := node.(type) {
	case *ast.ArrayComprehension:
		return closure.Body, []*ast.Term{closure.Term}, true
	case *ast.SetComprehension:
		return closure.Body, []*ast.Term{closure.Term}, true
	case *ast.ObjectComprehension:
		return closure.Body, []*ast.Term{closure.Key, closure.Value}, true
	case *ast.Every:
		return closure.Body, []*ast.Term{closure.Domain}, true
	}
	return nil, nil, false
}

// cubeOf is the cube of the length of a body, the calls in its terms counted in.
func cubeOf(body ast.Body) int {
	n := len(body)
	ast.NewGenericVisitor(func(node any) bool {
		if _, isCall := node.(ast.Call); isCall {
			n++
		}
		return false
	}).Walk(body)
	return n * n * n
}

func branchesOf(rule *ast.Rule) (branches int) {
	for ; rule.Else != nil; rule = rule.Else {
		branches++
	}
	return branches
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
	ast.WalkClosures(node, func(closure any) bool {
		body, terms, _ := partsOf(closure)
		inBody, inTerms := b.checksOf(body), 0
		for _, term := range terms {
			inTerms += b.checksWithin(term)
		}
		if _, isEvery := closure.(*ast.Every); !isEvery {
			inBody *= 2
		}
		checks = min(checks+inBody+2*inTerms, b.Checks+1)
		return true // its parts have been counted
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

// standsForAnother reports whether a rule was generated from another one, which has the same
// depth and size.
func standsForAnother(rule *ast.Rule) bool {
	return strings.HasPrefix(rule.Head.Ref().String(), ReservedPrefix)
}
