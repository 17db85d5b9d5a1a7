package bounds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

// compiled is what a compiler says of a package with some rules.
func compiled(t *testing.T, limits Limits, rules string) ast.Errors {
	t.Helper()
	module, err := ast.ParseModuleWithOpts("p.rego", "package p\n"+rules, ast.ParserOptions{RegoVersion: ast.RegoV1})
	require.NoError(t, err)
	compiler := limits.On(ast.NewCompiler())
	compiler.Compile(map[string]*ast.Module{"p.rego": module})
	return compiler.Errors
}

// repeated is a format n times, with the numbers from 0 and from 1.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i, i+1)
	}
	return b.String()
}

// nested is a text within so many brackets of a kind.
func nested(depth int, open, text, shut string) string {
	return strings.Repeat(open, depth) + text + strings.Repeat(shut, depth)
}

// TestEachLimit is a small one, of which a text is within, and one with more of the same
// beyond.
func TestEachLimit(t *testing.T) {
	for name, c := range map[string]struct {
		limit        func(*Limits)
		rules        func(n int) string
		within, more int
		want         string
	}{
		"brackets": {func(l *Limits) { l.Depth = 20 },
			func(n int) string { return "r := " + nested(n, "[", "1", "]") }, 10, 30, "rule r nests deeper than 20 brackets, calls and operators"},
		"every": {func(l *Limits) { l.Depth = 20 },
			func(n int) string { return "r if {" + nested(n, "every x in [1] {x;", "true", "}") + "}" }, 2, 8, "rule r nests deeper than 20"},
		"comprehensions within others": {func(l *Limits) { l.Checks = 100 },
			func(n int) string { return "r := " + nested(n, "[x | x := ", "1", "]") }, 3, 10, "checking rule r takes more than 100 steps"},
		"comprehensions of many rules": {func(l *Limits) { l.AllChecks = 100 },
			func(n int) string { return repeated(n, "r%[1]d := [x | x := 1]\n") }, 10, 60, "takes more than 100 steps"},
		"declarations": {func(l *Limits) { l.Checks = 100 },
			func(n int) string {
				return "r if {\nsome " + repeated(n, "x%[1]d, ") + "y\n[" + repeated(n, "x%[1]d, ") + "y] = input.list\n}"
			}, 50, 150, "checking rule r takes more than 100 steps"},
		"a long body": {func(l *Limits) { l.Ordering = 1000 },
			func(n int) string { return "r if {\n" + repeated(n, "input.x%[1]d\n") + "}" }, 9, 11, "putting the expressions of the rules up to r in order takes more than 1000 steps"},
		"calls in a body": {func(l *Limits) { l.Ordering = 1000 },
			func(n int) string { return "r if 1" + strings.Repeat(" + 1", n) + " == 2" }, 8, 11, "in order takes more than 1000 steps"},
		"a long body in a comprehension": {func(l *Limits) { l.Ordering = 1000 },
			func(n int) string { return "r := [1 |\n" + repeated(n, "input.x%[1]d\n") + "]" }, 9, 11, "in order takes more than 1000 steps"},
		"comprehensions": {func(l *Limits) { l.Closures = 5 },
			func(n int) string { return "r := [" + strings.Repeat("[1 | true], ", n) + "1]" }, 5, 6, "rule r has more than 5 comprehensions and every"},
		"calls": {func(l *Limits) { l.Calls = 5 },
			func(n int) string { return "r := [" + strings.Repeat("abs(1), ", n) + "1]" }, 5, 6, "rule r has more than 5 calls within others"},
		"references": {func(l *Limits) { l.References = 10 },
			func(n int) string { return "r := [" + strings.Repeat("input.a, ", n) + "1]" }, 5, 15, "rule r has more than 10 references"},
		"else": {func(l *Limits) { l.Branches = 5 },
			func(n int) string {
				return "r := 0 if input.x\n" + repeated(n, "else := %[1]d if input.x == %[1]d\n")
			}, 5, 6, "rule r has more than 5 else branches"},
		"numbers": {func(*Limits) {},
			func(n int) string { return "r := " + strings.Repeat("9", n) }, 1000, 1001, "rule r names a number of more than 1000 digits"},
		"rules by a variable": {func(l *Limits) { l.Dependencies = 20 },
			func(n int) string { return repeated(n, "o.k%[1]d := 1\nf%[1]d(x) := o[x]\n") }, 3, 6, "may name more than 20 rules together"},
		"a chain": {func(l *Limits) { l.DependencySteps = 100 },
			func(n int) string { return "r0 := 1\n" + repeated(n, "r%[2]d := r%[1]d\n") }, 10, 20, "depend on takes more than 100 steps: make the chains of rules shorter"},
		"a type of parts": {func(*Limits) {},
			func(n int) string { return "l0 := 1\n" + repeated(n, `l%[2]d := {"a": l%[1]d, "b": l%[1]d}`+"\n") }, 14, 17, "p.rego:17: rego_compile_error: expanding rule l15 takes more than 100000 values"},
		"a type of alternatives": {func(*Limits) {},
			func(n int) string {
				return "l0 := 1\n" + repeated(n, `l%[2]d := {"a": l%[1]d} if input.x else := {"b": l%[1]d}`+"\n")
			}, 8, 11, "may give takes more than 1000000 steps"},
		"a large type of many rules": {func(l *Limits) { l.TypeSteps = 50_000 },
			func(n int) string {
				return "l0 := 1\n" + repeated(8, `l%[2]d := {"a": l%[1]d, "b": l%[1]d}`+"\n") + repeated(n, "r%[1]d := l8\n")
			}, 10, 200, "up to rule r"},
		"references to alternatives": {func(l *Limits) { l.TypeSteps = 10_000 },
			func(n int) string {
				return "o := {" + repeated(n, `"k%[1]d": {"a%[1]d": 1},`) + "}\n" + strings.Repeat("f(x) := o[x]\n", n)
			}, 5, 40, "comparing the types of references up to rule f, takes more than 10000 steps"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := OfSources
			c.limit(&limits)
			require.Empty(t, compiled(t, limits, c.rules(c.within)))
			errs := compiled(t, limits, c.rules(c.more))
			require.Len(t, errs, 1)
			require.ErrorContains(t, errs, c.want)
		})
	}
}

// TestTheFirstRuleAtFaultIsNamed: rules that inherit a fault from another rule, and rules
// generated from it, are not reported.
func TestTheFirstRuleAtFaultIsNamed(t *testing.T) {
	parts := strings.Split(repeated(17, `l%[2]d := {"a": l%[1]d, "b": l%[1]d}`+"\n"), "\n")
	slices.Reverse(parts)
	require.ErrorContains(t, compiled(t, OfSources, "l0 := 1\n"+strings.Join(parts, "\n")), "expanding rule l15")

	limits := OfSources
	limits.Checks, limits.AllChecks = 100, 100
	deep := nested(10, "[x | x := ", "1", "]")
	require.ErrorContains(t, compiled(t, limits, "a := 1\nb := "+deep+"\nc := "+deep), "p.rego:3: rego_compile_error: checking rule b")
	require.Empty(t, compiled(t, limits, ReservedPrefix+"b := "+deep))
}

// TestRecursionIsNamed, as such: to follow a circle is long, too.
func TestRecursionIsNamed(t *testing.T) {
	limits := OfSources
	limits.DependencySteps = 1000
	require.ErrorContains(t, compiled(t, limits, "r0 := r20\n"+repeated(20, "r%[2]d := r%[1]d\n")), "is recursive: it depends on itself, as do others, and to follow that takes more than 1000 steps")
	require.ErrorContains(t, compiled(t, limits, "r0 := r1\nr1 := r0"), "rego_recursion_error: rule data.p.r0 is recursive")
}

func TestNestingIsCheckedBeforeCompiling(t *testing.T) {
	limits := OfSources
	limits.Depth = 20
	for depth, refused := range map[int]bool{10: false, 30: true} {
		err := limits.CheckNesting(ast.MustParseModule("package p\nr := " + nested(depth, "[", "1", "]")))
		require.Equal(t, refused, err != nil)
	}
}
