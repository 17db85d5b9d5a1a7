package plan

import (
	"math"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// OPA's planner repeats itself in two places, without a bound and without a way to stop it. A
// call under a `with` that replaces a function or a rule is planned again, with all that it
// calls: a chain of n rules with two such expressions each is 2^n plans. And the expressions
// after `data.a[x]`, if there are rules below data.a, are planned once for each of them: three
// such references to forty packages are 64,000 plans of the rest.

// Growth is what a plan of rules would come to.
type Growth struct {
	// Written counts the terms of the rules and of all that they call, Planned the same
	// as often as OPA would plan them. Both end at math.MaxInt32.
	Written, Planned int64
	// Again is how many of the planned are so beyond the first time: plans of several
	// compilers come together to no more of them than the sum.
	Again int64
	// Where is the expression that is planned most often, nil if none is more than once.
	Where *ast.Location
	times int64 // that it is
	// Uneven is a reference with a variable in the place of keys of which some are rules
	// and others have rules below them: OPA plans it for some of them only. It is nil
	// where there is none.
	Uneven *ast.Location
}

// Estimate counts what Rules would plan, without planning. It never counts too few of the
// repeated plans; it may count too many.
func Estimate(compiler *ast.Compiler, rules ...ast.Ref) Growth {
	g := &estimator{compiler: compiler, bodies: map[*ast.Rule]*ruleGrowth{}, below: map[*ast.Expr]int64{}}
	var start []*ast.Rule
	for _, ref := range rules {
		start = append(start, compiler.GetRulesExact(ref)...)
	}
	for _, rule := range g.reachable(start, true) {
		g.found.Written = plus(g.found.Written, g.of(rule).written)
	}
	g.found.Planned = g.planned(start)
	g.found.Again = g.found.Planned
	for _, rule := range g.reachable(start, false) {
		g.found.Again -= g.of(rule).written
	}
	return g.found
}

type estimator struct {
	compiler *ast.Compiler
	found    Growth
	bodies   map[*ast.Rule]*ruleGrowth
	below    map[*ast.Expr]int64 // the repeated plans of an expression with `with`
}

// ruleGrowth is the size of one rule by itself.
type ruleGrowth struct {
	written, planned int64
	calls            []*ast.Rule     // outside of `with`
	again            []repeatedUnder // expressions whose calls are planned again
}

type repeatedUnder struct {
	expr  *ast.Expr
	calls []*ast.Rule
	times int64 // that the expression itself is planned
}

func plus(a, b int64) int64 { return min(a+b, math.MaxInt32) }

func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt32/a {
		return math.MaxInt32
	}
	return a * b
}

// reachable are the rules that rules call, themselves included; with all those under a
// `with`, too.
func (g *estimator) reachable(start []*ast.Rule, all bool) []*ast.Rule {
	seen := map[*ast.Rule]bool{}
	var out []*ast.Rule
	for len(start) > 0 {
		rule := start[len(start)-1]
		start = start[:len(start)-1]
		if seen[rule] {
			continue
		}
		seen[rule] = true
		out = append(out, rule)
		of := g.of(rule)
		start = append(start, of.calls...)
		if all {
			for _, under := range of.again {
				start = append(start, under.calls...)
			}
		}
	}
	return out
}

// planned is the size of the plan of rules in a generation of their own.
func (g *estimator) planned(start []*ast.Rule) (total int64) {
	for _, rule := range g.reachable(start, false) {
		of := g.of(rule)
		total = plus(total, of.planned)
		for _, under := range of.again {
			below, known := g.below[under.expr]
			if !known {
				g.below[under.expr] = math.MaxInt32 // should it lead back here
				below = g.planned(under.calls)
				g.below[under.expr] = below
			}
			total = plus(total, times(under.times, below))
			g.notice(under.expr, below)
		}
	}
	return total
}

func (g *estimator) notice(expr *ast.Expr, times int64) {
	if times > 1 && (times > g.found.times || times == g.found.times && isBefore(expr.Location, g.found.Where)) {
		g.found.times, g.found.Where = times, expr.Location
	}
}

func isBefore(a, b *ast.Location) bool { return a != nil && a.Compare(b) < 0 }

func (g *estimator) of(rule *ast.Rule) *ruleGrowth {
	of := g.bodies[rule]
	if of != nil {
		return of
	}
	of = &ruleGrowth{}
	g.bodies[rule] = of
	for branch := rule; branch != nil; branch = branch.Else {
		often := g.body(of, branch.Body, 1)
		g.terms(of, often, branch.Head.Args, branch.Head.Reference, branch.Head.Key, branch.Head.Value)
	}
	return of
}

// body adds a body that is planned so often, and is how often what follows it is.
func (g *estimator) body(of *ruleGrowth, body ast.Body, often int64) int64 {
	for _, expr := range body {
		often = g.expression(of, expr, often)
	}
	return often
}

// expression adds an expression, and is how often what follows it is planned.
func (g *estimator) expression(of *ruleGrowth, expr *ast.Expr, often int64) int64 {
	g.notice(expr, often)
	into := of
	if g.replaces(expr) {
		into = &ruleGrowth{}
	}
	parts := []any{}
	switch terms := expr.Terms.(type) {
	case *ast.Every:
		parts = append(parts, terms.Key, terms.Value, terms.Domain)
		g.body(into, terms.Body, often)
	case *ast.Term:
		parts = append(parts, terms)
	case []*ast.Term:
		for _, term := range terms {
			parts = append(parts, term)
		}
	}
	for _, with := range expr.With {
		parts = append(parts, with.Value)
	}
	after := g.terms(into, often, parts...)
	if into != of {
		of.again = append(append(of.again, repeatedUnder{expr, into.calls, often}), into.again...)
		of.written, of.planned = plus(of.written, into.written), plus(of.planned, into.planned)
	}
	if expr.Negated {
		return often
	}
	return after
}

// terms adds terms that are planned so often, and is how often what follows them is.
func (g *estimator) terms(of *ruleGrowth, often int64, parts ...any) int64 {
	after := often
	add := func() { of.written, of.planned = plus(of.written, 1), plus(of.planned, after) }
	closure := func(body ast.Body, heads ...*ast.Term) {
		inner := g.body(of, body, often)
		for _, head := range heads {
			g.terms(of, inner, head)
		}
	}
	for _, part := range parts {
		if term, ok := part.(*ast.Term); ok && term == nil {
			continue
		}
		ast.WalkTerms(part, func(term *ast.Term) (enough bool) {
			add()
			switch value := term.Value.(type) {
			case ast.Ref:
				after = times(after, g.reference(of, value))
			case *ast.ArrayComprehension:
				closure(value.Body, value.Term)
				return true
			case *ast.SetComprehension:
				closure(value.Body, value.Term)
				return true
			case *ast.ObjectComprehension:
				closure(value.Body, value.Key, value.Value)
				return true
			}
			return false
		})
	}
	return after
}

// replaces says whether an expression has a `with` under which all is planned again: of a
// function, or of a part of data where rules stand.
func (g *estimator) replaces(expr *ast.Expr) bool {
	for _, with := range expr.With {
		target, ok := with.Target.Value.(ast.Ref)
		if !ok || target.HasPrefix(ast.InputRootRef) {
			continue
		}
		if !target.HasPrefix(ast.DefaultRootRef) {
			return true // a function of OPA
		}
		node := g.compiler.RuleTree
		for _, element := range target {
			if node != nil {
				node = node.Child(element.Value)
			}
		}
		if node != nil {
			return true
		}
	}
	return false
}

// reference notes the rules that a reference may call, and is how often what follows it
// is planned.
func (g *estimator) reference(of *ruleGrowth, ref ast.Ref) int64 {
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return 1
	}
	nodes, often := []*ast.TreeNode{g.compiler.RuleTree}, int64(1)
	for i, element := range ref {
		var below []*ast.TreeNode
		children := int64(0)
		for _, node := range nodes {
			if _, isVariable := element.Value.(ast.Var); isVariable && i > 0 {
				for _, child := range node.Children {
					children++
					below = append(below, child)
				}
			} else if child := node.Child(element.Value); child != nil {
				below = append(below, child)
			}
		}
		if children > 0 {
			often = times(often, children+1)
		}
		if rules := slices.ContainsFunc(below, hasRules); children > 0 && rules && !all(below, hasRules) && (g.found.Uneven == nil || isBefore(ref[0].Location, g.found.Uneven)) {
			g.found.Uneven = ref[0].Location
		}
		nodes = below[:0]
		for _, node := range below {
			if hasRules(node) { // the values below are part of the values of the rules
				g.callsAll(of, node)
				continue
			}
			nodes = append(nodes, node)
		}
		if len(nodes) == 0 {
			return often
		}
	}
	for _, node := range nodes {
		g.callsAll(of, node)
	}
	return often
}

func hasRules(node *ast.TreeNode) bool { return len(node.Values) > 0 }

func all(nodes []*ast.TreeNode, is func(*ast.TreeNode) bool) bool {
	return !slices.ContainsFunc(nodes, func(node *ast.TreeNode) bool { return !is(node) })
}

// callsAll notes the rules at a place and below.
func (g *estimator) callsAll(of *ruleGrowth, node *ast.TreeNode) {
	node.DepthFirst(func(node *ast.TreeNode) bool {
		of.calls = append(of.calls, node.Values...)
		return false
	})
}
