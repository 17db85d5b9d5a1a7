package source

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// formatters are the functions that make messages.
var formatters = []string{"sprintf", "concat", "format_int"}

// Lint finds what compiles and is likely not meant, by place. The source compiles.
func Lint(set *engine.PolicySet) (definition.CompileErrorList, error) {
	modules, err := definition.Modules(set.Source())
	if err != nil {
		return nil, err
	}
	policies := map[string]bool{}
	for _, p := range matchesOf(set) {
		policies[p.Package] = true
	}
	var found definition.CompileErrorList
	for _, module := range modules {
		if !policies[definition.PackageName(module)] {
			continue
		}
		for _, rule := range module.Rules {
			found = append(found, namesInMessages(rule)...)
		}
	}
	slices.SortFunc(found, definition.CompileError.Compare)
	return slices.Compact(found), nil
}

// namesInMessages finds metadata.name in what a rule says: an object whose name the
// API server makes has none yet.
func namesInMessages(rule *ast.Rule) (found definition.CompileErrorList) {
	name := string(rule.Head.Ref()[0].Value.(ast.Var))
	if name != "deny" && name != "warn" {
		return nil
	}
	check := func(node any) {
		ast.WalkRefs(node, func(ref ast.Ref) bool {
			if isObjectField(ref) && strings.HasSuffix(ref.String(), ".metadata.name") {
				found = append(found, definition.ErrorAt(ref[0].Location, "%s in a message is empty where the API server has yet to make the name (generateName): write input.name", ref))
			}
			return false
		})
	}
	check(rule.Head)
	ast.WalkExprs(rule.Body, func(expr *ast.Expr) bool {
		if expr.IsCall() && slices.Contains(formatters, expr.Operator().String()) {
			check(expr)
		}
		return false
	})
	ast.WalkTerms(rule.Body, func(term *ast.Term) bool {
		if call, ok := term.Value.(ast.Call); ok && slices.Contains(formatters, call[0].String()) {
			check(term)
		}
		return false
	})
	return found
}

// isObjectField says whether a reference is to a part of one of the two objects.
func isObjectField(ref ast.Ref) bool {
	return len(ref) > 3 && ref[0].Equal(ast.InputRootDocument) && ref[1].Equal(ast.StringTerm("request")) && !outsideObjects(ref, 3)
}
