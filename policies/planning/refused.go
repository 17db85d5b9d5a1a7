package planning

import (
	"errors"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/eval/plan"
)

// remedies are the errors of OPA's planner that policies can cause, by the beginning of the
// message, with what to write instead. The planner has others, which the compiler rules out.
var remedies = []struct{ message, remedy string }{
	{"illegal ref: non-var head", "a constant that is not a collection is read by a key or iterated over, which has no result: remove the expression, or name a collection"},
	{"illegal ref: unsafe head", "a variable is read before it has a value: assign it in an expression before"},
	{"not implemented: unify", "an array or object that is written out cannot be compared with this: give the other side a name first (value := …) and compare that"},
	{"impossible replacement", "a function is replaced by one with another number of arguments: give both the same number"},
	{"illegal replacement", "a function is replaced by a value that cannot be one: name a function, or a constant"},
	{"invalid with target", "this cannot be replaced: replace input, data, a rule or a function"},
}

// notPlanned is the error of OPA's planner, with the location of the unsupported expression and
// its replacement.
func notPlanned(compiler *ast.Compiler, err error, rules []ast.Ref) definition.CompileErrorList {
	var unordered *eval.UnorderedError
	if errors.As(err, &unordered) {
		return definition.CompileErrorList{definition.ErrorAt(unordered.Location, "%s", unordered.Message())}
	}
	message := err.Error()
	for _, module := range compiler.Modules {
		for _, rule := range module.Rules {
			rest, at := strings.CutPrefix(message, rule.Location.String()+": ")
			if name, shared := strings.CutSuffix(rest, " is not supported: rules sharing that path prefix are planned as a single function"); at && shared {
				return definition.CompileErrorList{definition.ErrorAt(rule.Location, "a rule refers to %s, with which it shares the beginning of its name, or one that it calls does: give one of them another name", strings.TrimPrefix(name, "reference to "))}
			}
			if at {
				return definition.CompileErrorList{definition.ErrorAt(rule.Location, "%s", rest)}
			}
		}
	}
	for _, known := range remedies {
		if strings.HasPrefix(message, known.message) {
			return definition.CompileErrorList{definition.ErrorAt(refused(compiler, message, rules), "%s", known.remedy)}
		}
	}
	return definition.CompileErrorList{definition.ErrorAt(refused(compiler, message, rules), "OPA cannot plan this rule: %s", message)}
}

// refused is the location of an error of the planner: the expression that the message names, or
// otherwise its rule. It is nil if no rule is refused by itself.
func refused(compiler *ast.Compiler, message string, rules []ast.Ref) *ast.Location {
	var all []*ast.Rule
	for _, ref := range rules {
		all = append(all, compiler.GetRulesExact(ref)...)
	}
	rule := refusedRule(compiler, message, all, map[*ast.Rule]bool{})
	if rule == nil {
		return nil
	}
	at := rule.Location
	operands := strings.FieldsFunc(strings.TrimPrefix(strings.TrimPrefix(message, "not implemented: unify"), "Local"), func(r rune) bool { return strings.ContainsRune("(), ", r) })
	ast.WalkExprs(rule, func(expr *ast.Expr) bool {
		named := false
		switch {
		case strings.HasPrefix(message, "illegal ref: non-var head"):
			ast.WalkRefs(expr, func(ref ast.Ref) bool {
				_, isVar := ref[0].Value.(ast.Var)
				named = named || !isVar && ast.IsScalar(ref[0].Value)
				return named
			})
		case strings.HasPrefix(message, "not implemented: unify"):
			text := expr.String()
			named = expr.IsEquality() && !slices.ContainsFunc(operands, func(operand string) bool { return !strings.Contains(text, operand) })
		case strings.Contains(message, "with") || strings.Contains(message, "replacement"):
			named = len(expr.With) > 0
		}
		if named && expr.Location != nil && expr.Location.Row > 0 {
			at = expr.Location // the innermost
		}
		return false
	})
	return at
}

// refusedRule is a rule that the planner refuses, though it plans all that the rule calls.
func refusedRule(compiler *ast.Compiler, message string, rules []*ast.Rule, tried map[*ast.Rule]bool) *ast.Rule {
	for _, rule := range rules {
		if tried[rule] {
			continue
		}
		tried[rule] = true
		terms := []*ast.Term{ast.NewTerm(rule.Ref().GroundPrefix())}
		for range rule.Head.Args {
			terms = append(terms, ast.NewTerm(ast.InputRootRef))
		}
		expr := ast.NewExpr(terms[0])
		if len(terms) > 1 {
			expr = ast.NewExpr(terms)
		}
		if _, err := plan.Query(compiler, ast.NewBody(expr)); err == nil || err.Error() != message {
			continue
		}
		var called []*ast.Rule
		for branch := rule; branch != nil; branch = branch.Else {
			for dependency := range compiler.Graph.Dependencies(branch) {
				if rule, isRule := dependency.(*ast.Rule); isRule {
					called = append(called, rule)
				}
			}
		}
		slices.SortFunc(called, func(a, b *ast.Rule) int { return a.Location.Compare(b.Location) })
		if below := refusedRule(compiler, message, called, tried); below != nil {
			return below
		}
		return rule
	}
	return nil
}
