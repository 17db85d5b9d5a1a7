package source

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// ruleGraph knows which rules come to which.
type ruleGraph struct {
	set       *engine.PolicySet
	graph     *ast.Graph
	byFile    map[string][]*ast.Rule // in the order of the text
	byPackage map[string][]*ast.Rule
	sums      map[string][sha256.Size]byte // by file
}

func newRuleGraph(set *engine.PolicySet) *ruleGraph {
	g := &ruleGraph{
		set: set, graph: set.Compiler().Graph,
		byFile: map[string][]*ast.Rule{}, byPackage: map[string][]*ast.Rule{}, sums: map[string][sha256.Size]byte{},
	}
	for name, module := range set.Compiler().Modules {
		g.byFile[name] = slices.SortedStableFunc(slices.Values(module.Rules), func(a, b *ast.Rule) int {
			return cmp.Compare(a.Location.Offset, b.Location.Offset)
		})
		g.byPackage[definition.PackageName(module)] = append(g.byPackage[definition.PackageName(module)], module.Rules...)
		g.sums[name] = sha256.Sum256([]byte(set.Files()[name]))
	}
	return g
}

// without are the rules of the policies that no check names.
func (g *ruleGraph) without(policies []matched, checks []ReferenceCheck) []*ast.Rule {
	checked := map[string]bool{}
	for _, check := range checks {
		for _, name := range check.Packages {
			checked[name] = true
		}
	}
	var rest []*ast.Rule
	for _, policy := range policies {
		if !checked[policy.Package] {
			rest = append(rest, g.byPackage[policy.Package]...)
		}
	}
	return rest
}

// replaced are the rules that can be asked with another input or other data, by `with`.
func (g *ruleGraph) replaced() map[*ast.Rule]bool {
	var roots []*ast.Rule
	for _, rules := range g.byFile {
		for _, rule := range rules {
			ast.WalkWiths(rule, func(*ast.With) bool {
				roots = append(roots, rule)
				return true
			})
		}
	}
	return policyset.ReachableRules(roots, g.graph)
}

// files are those of rules, with all that the rules in those files come to.
func (g *ruleGraph) files(rules map[*ast.Rule]bool) []string {
	known := map[string]bool{}
	for len(rules) > 0 {
		var more []*ast.Rule
		for rule := range rules {
			if file := rule.Module.Package.Location.File; !known[file] {
				known[file] = true
				more = append(more, g.byFile[file]...)
			}
		}
		rules = policyset.ReachableRules(more, g.graph)
		maps.DeleteFunc(rules, func(rule *ast.Rule, _ bool) bool { return known[rule.Module.Package.Location.File] })
	}
	return slices.Sorted(maps.Keys(known))
}

// ruleAt returns the rule at a location.
func (g *ruleGraph) ruleAt(at *ast.Location) *ast.Rule {
	var found *ast.Rule
	for _, rule := range g.byFile[at.File] {
		if rule.Location.Offset <= at.Offset {
			found = rule
		}
	}
	return found
}
