package definition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// InsteadOfReview is for policies that are written as for Gatekeeper.
const InsteadOfReview = "that is Gatekeeper's form: write input.request, or bring the policy as a ConstraintTemplate"

// InsteadOfObject is for policies that are written as for conftest.
const InsteadOfObject = "input is the AdmissionReview, and the object itself in conftest only"

// What the name of a rule begins with that is a test, and of one that is left out.
const (
	TestPrefix = "test_"
	SkipPrefix = "todo_test_"
)

// Unused is a rule of a module that is never evaluated.
type Unused struct {
	CompileError
	// Path is the path of a rule that would be evaluated if other rules referred to it. It is
	// empty if the rule is wrong in any case.
	Path string
}

// FindUnused finds it in the compiled modules of a package, by file.
func FindUnused(modules []*ast.Module) (found []Unused) {
	for _, module := range modules {
		for _, err := range unreadTestsIn(module) {
			found = append(found, Unused{CompileError: err})
		}
		said := map[string]bool{}
		for _, rule := range module.Rules {
			why := misnamedRule(rule)
			if why == "" {
				continue
			}
			path := rule.Ref().ConstantPrefix()
			if name := path.String(); !said[name] && !refersTo(modules, path) {
				said[name] = true
				found = append(found, Unused{ErrorAt(rule.Location, "%s", why), name})
			}
		}
		for _, err := range reviews(module) {
			found = append(found, Unused{CompileError: err})
		}
	}
	return found
}

// refersTo reports whether a reference in modules names the path.
func refersTo(modules []*ast.Module, path ast.Ref) (refers bool) {
	for _, module := range modules {
		ast.WalkRefs(module, func(ref ast.Ref) bool {
			refers = refers || ref.HasPrefix(path)
			return refers
		})
	}
	return refers
}

// misnamedRule suggests the intended rule for a misspelled name; empty for most rules.
func misnamedRule(rule *ast.Rule) string {
	name := string(rule.Head.Ref()[0].Value.(ast.Var))
	if len(rule.Head.Args) > 0 || rule.Default {
		return ""
	}
	if why := Misnamed(name); why != "" {
		return fmt.Sprintf("the rule %s is never asked, and no other uses it: %s", name, why)
	}
	return ""
}

// UnreadTests finds tests in files that are not named _test.rego, which are never run.
func UnreadTests(source Source) (found CompileErrorList, err error) {
	modules, err := Modules(source)
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		found = append(found, unreadTestsIn(modules[file])...)
	}
	return found, err
}

// unreadTestsIn reports the tests of a module that is not a test file, in one error.
func unreadTestsIn(module *ast.Module) CompileErrorList {
	var names []string
	var first *ast.Rule
	for _, rule := range module.Rules {
		name := string(rule.Head.Ref()[0].Value.(ast.Var))
		isTest := strings.HasPrefix(name, TestPrefix) || strings.HasPrefix(name, SkipPrefix)
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
	return CompileErrorList{ErrorAt(first.Location, "%s: not run as a test: tests must be in files named *_test.rego; rename the file, or move the rule", strings.Join(names, ", "))}
}

// isUsed reports whether a rule of the module refers to another by its name.
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
func reviews(module *ast.Module) (found CompileErrorList) {
	forBoth := false
	ast.WalkRefs(module, func(ref ast.Ref) bool {
		forBoth = forBoth || ref.HasPrefix(requestRef)
		if ref.HasPrefix(reviewRef) && len(found) == 0 {
			one := ErrorAt(ref[0].Location, "%s is not available to policies; %s", reviewRef, InsteadOfReview)
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

var (
	requestRef = ast.MustParseRef("input.request")
	reviewRef  = ast.MustParseRef("input.review")
)
