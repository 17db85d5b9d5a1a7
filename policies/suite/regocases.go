package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

const testFileSuffix = "_test.rego"

// eachTest finds the rules that are tests, in the order of their files: those in files
// for tests with a name that begins as those of tests do, functions aside.
func eachTest(compiler *ast.Compiler, visit func(rule *ast.Rule, name ast.Ref)) {
	for _, file := range slices.Sorted(maps.Keys(compiler.Modules)) {
		if !strings.HasSuffix(file, testFileSuffix) {
			continue
		}
		for _, rule := range compiler.Modules[file].Rules {
			if name := testName(rule.Head); name != nil && len(rule.Head.Args) == 0 {
				visit(rule, name)
			}
		}
	}
}

// testName is the part of a rule's name that makes it a test, such as test_limit of
// test_limit[name], and of shop.test_limit all of it: nil if nothing does.
func testName(head *ast.Head) ast.Ref {
	ref := head.Ref().GroundPrefix()
	for i := range ref {
		if name := lastName(ref[:i+1]); strings.HasPrefix(name, definition.TestPrefix) || strings.HasPrefix(name, definition.SkipPrefix) {
			return ref[:i+1]
		}
	}
	return nil
}

func lastName(ref ast.Ref) string {
	switch name := ref[len(ref)-1].Value.(type) {
	case ast.Var:
		return string(name)
	case ast.String:
		return string(name)
	}
	return ""
}

// numberTests is a stage of the compiler that renames tests with the same name, which would
// otherwise be one rule: the second is test_x#01.
func numberTests(compiler *ast.Compiler) *ast.Error {
	count := map[string]int{}
	eachTest(compiler, func(rule *ast.Rule, name ast.Ref) {
		if strings.HasPrefix(lastName(name), definition.SkipPrefix) {
			return
		}
		key := rule.Module.Package.Path.Extend(name).String()
		if n := count[key]; n > 0 {
			ref, last := rule.Head.Ref().Copy(), len(name)-1
			numbered := fmt.Sprintf("%s#%02d", lastName(name), n)
			if ref[last] = ast.StringTerm(numbered).SetLocation(ref[last].Location); last == 0 {
				ref[last].Value = ast.Var(numbered)
			}
			rule.Head.SetRef(ref)
		}
		count[key]++
	})
	return nil
}

// noteCases is a stage of the compiler for tests with cases, such as
//
//	test_limit[case.name] if { some case in cases; limit(case.of) == case.is }
//
// It adds a note of each case as soon as its name is known. A case that fails is missing from
// the value, so that its absence would otherwise not be noticed.
func noteCases(compiler *ast.Compiler) *ast.Error {
	eachTest(compiler, func(rule *ast.Rule, name ast.Ref) {
		names := rule.Head.Ref()[len(name):]
		if len(names) == 0 || notesItself(rule) {
			return
		}
		// The compiler has put what makes the names last.
		var made, body []*ast.Expr
		for _, expr := range rule.Body {
			if expr.Generated && expr.IsEquality() && slices.ContainsFunc(names, expr.Operand(0).Equal) {
				made = append(made, expr)
			} else {
				body = append(body, expr)
			}
		}
		at := 0 // behind the first mention of all that the names are made of
		behind := func(part any, isWanted func(ast.Var) bool) {
			ast.WalkVars(part, func(variable ast.Var) bool {
				if isWanted(variable) {
					at = max(at, 1+slices.IndexFunc(body, func(expr *ast.Expr) bool { return mentions(expr, variable) }))
				}
				return false
			})
		}
		for _, expr := range made {
			behind(expr.Operand(1), func(variable ast.Var) bool { return strings.HasPrefix(string(variable), ast.LocalVarPrefix) })
		}
		behind(names, func(ast.Var) bool { return true })
		note := ast.NewExpr([]*ast.Term{ast.NewTerm(ast.InternalTestCase.Ref()), ast.ArrayTerm(names.Copy()...)}).SetLocation(rule.Head.Location)
		rule.Body = ast.NewBody(slices.Insert(body, at, append(made, note)...)...)
	})
	return nil
}

func notesItself(rule *ast.Rule) (itself bool) {
	ast.WalkExprs(rule.Body, func(expr *ast.Expr) bool {
		itself = itself || expr.IsCall() && expr.Operator().Equal(ast.InternalTestCase.Ref())
		return itself
	})
	return itself
}

func mentions(expr *ast.Expr, wanted ast.Var) (found bool) {
	ast.WalkVars(expr, func(variable ast.Var) bool {
		found = found || variable == wanted
		return found
	})
	return found
}

// failedCases names the cases of a test that are not true in its value, and those that
// began and are not in it.
func failedCases(value *ast.Term, begun []*ast.Array) []string {
	failed := map[string]bool{}
	var evaluate func(value *ast.Term, name string)
	evaluate = func(value *ast.Term, name string) {
		if cases, ok := value.Value.(ast.Object); ok {
			cases.Foreach(func(key, value *ast.Term) { evaluate(value, strings.TrimPrefix(name+"/"+caseName(key), "/")) })
		} else if !value.Equal(ast.InternedTerm(true)) {
			failed[name] = true
		}
	}
	evaluate(value, "")
	for _, path := range begun {
		var names []string
		at := value
		path.Foreach(func(key *ast.Term) {
			names = append(names, caseName(key))
			if at != nil {
				at = at.Get(key)
			}
		})
		if at == nil {
			failed[strings.Join(names, "/")] = true
		}
	}
	return slices.Sorted(maps.Keys(failed))
}

func caseName(key *ast.Term) string {
	if text, ok := key.Value.(ast.String); ok {
		return string(text)
	}
	return key.Value.String()
}
