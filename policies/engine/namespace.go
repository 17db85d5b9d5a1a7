package engine

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// readsNamespace says whether the policy, or a rule that it may come to, can read
// input.namespace. It is asked of compiled modules, where imports and local
// variables are resolved; what cannot be told from the text counts as reading.
func (p *policy) readsNamespace(compiler *ast.Compiler) bool {
	seen := map[*ast.Rule]bool{}
	var reads func(rule *ast.Rule) bool
	reads = func(rule *ast.Rule) bool {
		if seen[rule] {
			return false
		}
		seen[rule] = true
		if ruleReadsNamespace(rule) {
			return true
		}
		for dependency := range compiler.Graph.Dependencies(rule) {
			if other, ok := dependency.(*ast.Rule); ok && reads(other) {
				return true
			}
		}
		return false
	}
	for _, module := range compiler.Modules {
		if strings.TrimPrefix(module.Package.Path.String(), "data.") != p.name {
			continue
		}
		for _, rule := range module.Rules {
			if reads(rule) {
				return true
			}
		}
	}
	return false
}

// ruleReadsNamespace finds input.namespace, input as a whole, and input[x].
func ruleReadsNamespace(rule *ast.Rule) bool {
	found := false
	ast.WalkRefs(rule, func(ref ast.Ref) bool {
		if !ref[0].Equal(ast.InputRootDocument) {
			return false
		}
		if len(ref) == 1 {
			found = true
		} else if field, ok := ref[1].Value.(ast.String); !ok || field == "namespace" {
			found = true
		}
		return found
	})
	return found
}

// lacksNamespace says whether the answer of the policy depends on a Namespace that a
// caller without a cluster did not give. Where there is a cluster, a namespace that
// is not found does not exist.
func (p *policy) lacksNamespace(e *evaluation) bool {
	return p.needsNamespace && e.options.Offline && e.namespace == nil && e.review.Namespace != "" && !e.review.IsNamespace()
}
