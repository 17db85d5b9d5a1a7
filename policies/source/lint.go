package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/suite"
)

// formatters are the functions that make messages.
var formatters = []string{"sprintf", "concat", "format_int"}

// Lint finds what compiles and is likely not meant, by place. The source compiles.
func Lint(set *engine.PolicySet) (engine.CompileErrors, error) {
	modules, err := engine.Modules(set.Source())
	if err != nil {
		return nil, err
	}
	matches := map[string]engine.Match{}
	for _, p := range matchesOf(set) {
		matches[p.Package] = p.Match
	}
	var found engine.CompileErrors
	for _, module := range modules {
		match, isPolicy := matches[packageOf(module)]
		if !isPolicy {
			continue
		}
		for _, rule := range module.Rules {
			found = append(found, namesInMessages(rule)...)
			if slices.Equal(match.Operations, []string{"DELETE"}) {
				found = append(found, objectsOnDelete(rule)...)
			}
		}
	}
	slices.SortFunc(found, func(a, b engine.CompileError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(found), nil
}

// insteadOfReview is for policies that are written as for Gatekeeper.
const insteadOfReview = "that is Gatekeeper's form: write input.request, or bring the policy as a ConstraintTemplate"

// misnamed finds what compiles in Rego files, and what nobody will ever ask: rules with
// nearly the name of an entry point, or Gatekeeper's, reads of Gatekeeper's review, and
// tests outside of files for tests.
func misnamed(set *engine.PolicySet) (found engine.CompileErrors) {
	modules, used := set.Compiler().Modules, map[string]bool{}
	for _, module := range modules {
		ast.WalkRefs(module, func(ref ast.Ref) bool {
			for i := range ref.ConstantPrefix() {
				used[ref[:i+1].String()] = true
			}
			return false
		})
	}
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		module := modules[file]
		if _, isFile := set.Files()[file]; !isFile || !strings.HasSuffix(file, ".rego") {
			continue
		}
		found = append(found, unreadTests(module)...)
		said := map[string]bool{}
		for _, rule := range module.Rules {
			path := rule.Ref().ConstantPrefix().String()
			if why := misnamedRule(rule); why != "" && !used[path] && !said[path] {
				said[path] = true
				found = append(found, at(ast.Ref{{Location: rule.Location}}, "%s", why))
			}
		}
		found = append(found, reviews(module)...)
	}
	return found
}

// misnamedRule says what a rule may have been meant to be; empty for most.
func misnamedRule(rule *ast.Rule) string {
	name := string(rule.Head.Ref()[0].Value.(ast.Var))
	if len(rule.Head.Args) > 0 || rule.Default {
		return ""
	}
	if why := engine.Misnamed(name); why != "" {
		return fmt.Sprintf("the rule %s is never asked, and no other uses it: %s", name, why)
	}
	return ""
}

// UnreadTests finds tests in files that are not named _test.rego: nobody runs them.
func UnreadTests(source engine.Source) (found engine.CompileErrors, err error) {
	modules, err := engine.Modules(source)
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		found = append(found, unreadTests(modules[file])...)
	}
	return found, err
}

// unreadTests names the tests of a module that is none of tests, in one line.
func unreadTests(module *ast.Module) engine.CompileErrors {
	var names []string
	var first *ast.Rule
	for _, rule := range module.Rules {
		name := string(rule.Head.Ref()[0].Value.(ast.Var))
		isTest := strings.HasPrefix(name, suite.TestPrefix) || strings.HasPrefix(name, suite.SkipPrefix)
		if !isTest || len(rule.Head.Args) > 0 || slices.Contains(names, name) || isUsed(module, name) {
			continue
		}
		if names = append(names, name); first == nil {
			first = rule
		}
	}
	if first == nil {
		return nil
	}
	return engine.CompileErrors{at(ast.Ref{{Location: first.Location}}, "%s: nobody runs it, because tests are rules of files named _test.rego; rename the file, or move it", strings.Join(names, ", "))}
}

// isUsed says whether a rule of the module uses another by its name.
func isUsed(module *ast.Module, name string) (used bool) {
	for _, rule := range module.Rules {
		ast.WalkTerms(rule.Body, func(term *ast.Term) bool {
			used = used || term.Value.Compare(ast.Var(name)) == 0 || term.Value.Compare(ast.String(name)) == 0
			return used
		})
	}
	return used
}

// reviews finds reads of input.review in a module that does not read input.request:
// libraries are written for both.
func reviews(module *ast.Module) (found engine.CompileErrors) {
	forBoth := false
	ast.WalkRefs(module, func(ref ast.Ref) bool {
		forBoth = forBoth || ref.HasPrefix(requestRef)
		if ref.HasPrefix(reviewRef) && len(found) == 0 {
			one := at(ref, "%s is nothing that policies are given; %s", reviewRef, insteadOfReview)
			one.Column = 0 // the compiler has taken the expression apart
			found = append(found, one)
		}
		return false
	})
	if forBoth {
		return nil
	}
	return found
}

var reviewRef = ast.MustParseRef("input.review")

// namesInMessages finds metadata.name in what a rule says: an object whose name the
// API server makes has none yet.
func namesInMessages(rule *ast.Rule) (found engine.CompileErrors) {
	name := string(rule.Head.Ref()[0].Value.(ast.Var))
	if name != "deny" && name != "warn" {
		return nil
	}
	check := func(node any) {
		ast.WalkRefs(node, func(ref ast.Ref) bool {
			if isObjectField(ref) && strings.HasSuffix(ref.String(), ".metadata.name") {
				found = append(found, at(ref, "%s in a message is empty where the API server has yet to make the name (generateName): write input.name", ref))
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

// objectsOnDelete finds reads of what is null where an object is deleted. Most
// functions are undefined for null, without an error.
func objectsOnDelete(rule *ast.Rule) (found engine.CompileErrors) {
	ast.WalkRefs(rule, func(ref ast.Ref) bool {
		if isObjectField(ref) && ref[2].Equal(ast.StringTerm("object")) {
			found = append(found, at(ref, "%s is undefined: the policy matches DELETE alone, where input.request.object is null; read input.request.oldObject", ref))
		}
		return false
	})
	return found
}

// isObjectField says whether a reference is to a part of one of the two objects.
func isObjectField(ref ast.Ref) bool {
	return len(ref) > 3 && ref[0].Equal(ast.InputRootDocument) && ref[1].Equal(ast.StringTerm("request")) && !outsideObjects(ref, 3)
}

func at(ref ast.Ref, format string, args ...any) engine.CompileError {
	err := engine.CompileError{Message: fmt.Sprintf(format, args...)}
	if location := ref[0].Location; location != nil {
		err.File, err.Line, err.Column = location.File, location.Row, location.Col
	}
	return err
}
