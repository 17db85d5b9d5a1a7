package restriction

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// fallible reports whether evaluating a node may end with an error: two values for one rule
// or one key.
func (t *translation) fallible(node any) bool {
	result := false
	seen := map[string]bool{}
	var visitor *ast.GenericVisitor
	visitor = ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.With, *ast.ObjectComprehension:
			result = true
		case ast.Ref:
			name, own := t.policy.RuleName(node)
			if !own {
				result = result || node.HasPrefix(t.policy.Path)
			} else if !seen[name] {
				seen[name] = true
				rules := t.policy.Rules(name)
				result = result || mayConflict(rules)
				for _, rule := range rules {
					visitor.Walk(rule)
				}
			}
		}
		return result
	})
	visitor.Walk(node)
	return result
}

// mayConflict reports whether rules of one name may have two values on one input. A name
// without rules may conflict.
func mayConflict(rules []*ast.Rule) bool {
	if len(rules) == 0 {
		return true
	}
	chains, _ := chainsOf(rules)
	head := rules[0].Head
	return head.RuleKind() == ast.SingleValue && (len(head.Ref()) > 1 || !sameConstant(chains))
}

// text covers everything that the value of a node depends on: the node, with the names of
// variables normalized or replaced by their values, and the rules that it references.
func (t *translation) text(node any, env *environment) string {
	seen := map[string]string{}
	text := t.canonical(node, env)
	t.dependencies(node, seen)
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		text += "\n" + name + ": " + seen[name]
	}
	return keyOf(text)
}

func (t *translation) dependencies(node any, seen map[string]string) {
	ast.WalkRefs(node, func(ref ast.Ref) bool {
		t.step()
		if _, foreign := t.nondeterministic(ref); foreign {
			*t.fresh++
			seen[fmt.Sprintf("~%d", *t.fresh)] = fmt.Sprintf("%s once %d", ref, *t.fresh)
		}
		name, own := t.policy.RuleName(ref)
		if !own {
			if ref.HasPrefix(t.policy.Path) {
				*t.fresh++
				seen[fmt.Sprintf("~%d", *t.fresh)] = fmt.Sprintf("package %d", *t.fresh)
			}
			return false
		}
		if _, done := seen[name]; !done {
			seen[name] = ""
			var texts []string
			for _, rule := range t.policy.Rules(name) {
				texts = append(texts, t.canonical(rule, nil))
				t.dependencies(rule, seen)
			}
			seen[name] = strings.Join(texts, "\n")
		}
		return false
	})
}

func (t *translation) nondeterministic(ref ast.Ref) (*ast.Builtin, bool) {
	builtin, known := ast.BuiltinMap[ref.String()]
	return builtin, known && builtin.Nondeterministic
}

// canonical serializes a node without differences that do not affect its value.
func (t *translation) canonical(node any, env *environment) string {
	switch n := node.(type) {
	case *ast.Rule:
		node = n.Copy()
	case *ast.Expr:
		node = n.Copy()
	case *ast.Term:
		node = n.Copy()
	}
	normalizeComparisons(node)
	names := map[ast.Var]ast.Var{}
	namesakes := map[ast.Var]string{} // variables named as the first part of a function
	renamed, err := ast.TransformVars(node, func(name ast.Var) (ast.Value, error) {
		if name == ast.InputRootDocument.Value || name == ast.DefaultRootDocument.Value || isFunctionName(name) {
			if value, bound := env.lookup(name); bound {
				namesakes[name] = value.key()
			}
			return name, nil
		}
		if value, bound := env.lookup(name); bound {
			return ast.Var(fmt.Sprintf("<%q>", value.key())), nil
		}
		if names[name] == "" {
			names[name] = ast.Var(fmt.Sprintf("_%d", len(names)))
		}
		return names[name], nil
	})
	if err == nil {
		renamed, err = ast.TransformRefs(renamed, func(ref ast.Ref) (ast.Value, error) {
			if own := t.policy.Path; ref.HasPrefix(own) {
				ref = append(ast.Ref{ast.VarTerm("<own>")}, ref[len(own):]...)
			}
			return escaped(ref), nil
		})
	}
	if err != nil {
		*t.fresh++
		return fmt.Sprintf("node %d", *t.fresh)
	}
	text := fmt.Sprint(renamed)
	for _, name := range slices.Sorted(maps.Keys(namesakes)) {
		text += fmt.Sprintf(" where %s is %q", name, namesakes[name])
	}
	return text
}

// normalizeComparisons rewrites all comparisons of a node with the lesser side first.
func normalizeComparisons(node any) {
	turned := map[string]*ast.Builtin{ast.GreaterThan.Name: ast.LessThan, ast.GreaterThanEq.Name: ast.LessThanEq}
	ast.WalkExprs(node, func(expr *ast.Expr) bool {
		if terms, isCall := expr.Terms.([]*ast.Term); isCall && len(terms) >= 3 {
			if other := turned[expr.Operator().String()]; other != nil {
				terms[0] = ast.NewTerm(other.Ref())
				terms[1], terms[2] = terms[2], terms[1]
			}
		}
		return false
	})
}

// escaped returns a reference with an unambiguous text. ast.Ref does not escape quotation
// marks in a key.
func escaped(ref ast.Ref) ast.Ref {
	ref = slices.Clone(ref)
	for i, part := range ref {
		if key, ok := part.Value.(ast.String); ok && strings.ContainsAny(string(key), "\"\\~") {
			ref[i] = ast.StringTerm(fmt.Sprintf("~%x", string(key)))
		}
	}
	return ref
}

// isFunctionName reports whether the name of a builtin begins with a name, such as json.
func isFunctionName(name ast.Var) bool { return functionNames()[string(name)] }

var functionNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name := range ast.BuiltinMap {
		first, _, _ := strings.Cut(name, ".")
		names[first] = true
	}
	return names
})
