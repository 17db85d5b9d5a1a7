package restriction

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// This file is about a fault of OPA 1.4.2. Once a negated expression has a result, every negation
// that OPA evaluates before it leaves the expression fails. OPA caches the values of rules that
// it evaluates in that time, and uses them everywhere. So such a rule may lack a value that it
// has, and no proof holds for the OPA of gateways.

// wrongNegation returns a negated expression of a policy that may cause this fault, nil if there
// is none.
func wrongNegation(p *sidecar.Policy) *ast.Expr {
	g := readNames(p)
	var found *ast.Expr
	for _, rule := range p.AllRules() {
		ast.WalkExprs(rule, func(expr *ast.Expr) bool {
			if found == nil && expr.Negated && g.mayCache(expr) {
				found = expr
			}
			return found != nil
		})
	}
	return found
}

// describeNegation returns why there is no proof about the policies, "" if there is no reason.
func describeNegation(policies []*sidecar.Policy) string {
	for _, p := range policies {
		if expr := wrongNegation(p); expr != nil {
			return fmt.Sprintf("%s:%d: after the first result of this negation, OPA %s evaluates other rules with negations wrongly: negate a rule that does not reference such rules, or whose values are all the same", p.Name, expr.Location.Row, sidecar.Version)
		}
	}
	return ""
}

// ruleReferences are the references between the rules of a policy, by name.
type ruleReferences struct {
	policy *sidecar.Policy
	rules  map[string][]*ast.Rule
	// all are the references of a name; open those in whose evaluation the rest of the rule is
	// evaluated. The others are complete before.
	all, open map[string]map[string]bool
	negating  map[string]bool // the rules of the name, or rules that they reference, have negations
}

func readNames(p *sidecar.Policy) *ruleReferences {
	g := &ruleReferences{p, map[string][]*ast.Rule{}, map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}}
	for _, rule := range p.AllRules() {
		if name, ok := rule.Head.Ref()[0].Value.(ast.Var); ok {
			g.rules[string(name)] = append(g.rules[string(name)], rule)
		}
	}
	own := map[string]bool{}
	for name, rules := range g.rules {
		g.all[name], g.open[name] = map[string]bool{}, map[string]bool{}
		for _, rule := range rules {
			g.references(rule, g.all[name], g.open[name])
			ast.WalkExprs(rule, func(expr *ast.Expr) bool {
				own[name] = own[name] || expr.Negated
				return false
			})
		}
	}
	for name := range g.rules {
		for reached := range g.reach(g.all, name) {
			g.negating[name] = g.negating[name] || own[reached]
		}
	}
	return g
}

// references adds the names that a node references.
func (g *ruleReferences) references(node any, all, open map[string]bool) {
	closed := 0
	var visit func(node any)
	visit = func(node any) {
		ast.NewGenericVisitor(func(x any) bool {
			switch x := x.(type) {
			case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.Every:
				if x == node {
					return false
				}
				closed++
				visit(x)
				closed--
				return true
			case *ast.Expr:
				if !x.Negated || x == node {
					return false
				}
				closed++
				visit(x)
				closed--
				return true
			case ast.Ref:
				if name, ok := g.policy.RuleName(x); ok {
					all[name] = true
					if closed == 0 && !g.isWhole(name, x) {
						open[name] = true
					}
				}
			}
			return false
		}).Walk(node)
	}
	visit(node)
}

// isWhole reports whether a reference is to all of a set or object that rules make.
func (g *ruleReferences) isWhole(name string, ref ast.Ref) bool {
	return len(ref) == len(g.policy.Ref(name)) && g.isPartial(name)
}

func (g *ruleReferences) isPartial(name string) bool {
	return slices.ContainsFunc(g.rules[name], func(rule *ast.Rule) bool {
		return rule.Head.RuleKind() == ast.MultiValue || len(rule.Head.Ref()) > 1
	})
}

// reach are a name and those that it references, directly or not.
func (g *ruleReferences) reach(by map[string]map[string]bool, from ...string) map[string]bool {
	reached := map[string]bool{}
	for len(from) > 0 {
		name := from[0]
		if from = from[1:]; !reached[name] {
			reached[name] = true
			from = append(from, slices.Collect(maps.Keys(by[name]))...)
		}
	}
	return reached
}

// mayCache reports whether rules with negations may be evaluated and cached after the first
// result of a negated expression, and are read elsewhere.
func (g *ruleReferences) mayCache(expr *ast.Expr) bool {
	all, open := map[string]bool{}, map[string]bool{}
	positive := *expr
	positive.Negated = false
	g.references(&positive, all, open)
	if iterates(&positive) && g.isRead(all, "") {
		return true
	}
	for name := range g.reach(g.open, slices.Collect(maps.Keys(open))...) {
		if !g.stopsEarly(name) && g.isRead(g.all[name], name) {
			return true
		}
	}
	return false
}

// stopsEarly reports whether OPA evaluates the rules of a name up to the first result.
func (g *ruleReferences) stopsEarly(name string) bool {
	if g.isPartial(name) {
		return false
	}
	chains, _ := chainsOf(g.rules[name])
	return sameConstant(chains)
}

// iterates reports whether an expression may have several results of its own.
func iterates(expr *ast.Expr) bool {
	found := false
	ast.WalkRefs(expr, func(ref ast.Ref) bool {
		found = found || !ref[1:].IsGround()
		return found
	})
	return found
}

// isRead reports whether one of the rules with negations that are reached from some names is read
// by other rules than these and those of the evaluated name.
func (g *ruleReferences) isRead(from map[string]bool, evaluated string) bool {
	affected := map[string]bool{}
	for name := range g.reach(g.all, slices.Collect(maps.Keys(from))...) {
		if g.negating[name] {
			affected[name] = true
		}
	}
	for name := range affected {
		if name != evaluated && slices.Contains(g.policy.Decisions, name) && sidecar.OrderOf(name) != sidecar.Unordered {
			return true
		}
		for reader, read := range g.all {
			if read[name] && !affected[reader] && reader != evaluated {
				return true
			}
		}
	}
	// Functions and collections are not cached as a whole, so they may be evaluated again.
	again := evaluated == "" || g.isPartial(evaluated) || len(g.rules[evaluated][0].Head.Args) > 0
	return again && len(affected) > 0
}
