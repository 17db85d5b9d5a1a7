package policyset

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ReachableRules are the rules and those that they come to.
func ReachableRules(rules []*ast.Rule, graph *ast.Graph) map[*ast.Rule]bool {
	reached := map[*ast.Rule]bool{}
	rules = slices.Clone(rules) // the caller keeps its own
	for len(rules) > 0 {
		rule := rules[len(rules)-1]
		rules = rules[:len(rules)-1]
		if reached[rule] {
			continue
		}
		reached[rule] = true
		for dependency := range graph.Dependencies(rule) {
			if other, ok := dependency.(*ast.Rule); ok {
				rules = append(rules, other)
			}
		}
	}
	return reached
}

// readInput reports whether a rule can read a field of input. If the text does not decide that,
// the answer is true.
func readInput(field string, rules map[*ast.Rule]bool) bool {
	for rule := range rules {
		if ruleReadsInput(field, rule) {
			return true
		}
	}
	return false
}

// ruleReadsInput finds input.<field>, input as a whole, and input[x].
func ruleReadsInput(field string, rule *ast.Rule) bool {
	found := false
	ast.WalkRefs(rule, func(ref ast.Ref) bool {
		if !ref[0].Equal(ast.InputRootDocument) {
			return false
		}
		if len(ref) == 1 {
			found = true
		} else if name, ok := ref[1].Value.(ast.String); !ok || string(name) == field {
			found = true
		}
		return found
	})
	return found
}
