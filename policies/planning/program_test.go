package planning

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/eval"
)

// compiled is package p with some rules.
func compiled(t *testing.T, rules string) *ast.Compiler {
	t.Helper()
	module, err := ast.ParseModuleWithOpts("p.rego", "package p\n"+rules, ast.ParserOptions{RegoVersion: ast.RegoV1})
	require.NoError(t, err)
	compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
	compiler.Compile(map[string]*ast.Module{"p.rego": module})
	require.Empty(t, compiler.Errors)
	return compiler
}

// deny is the rule that all of these tests plan.
var deny = ast.MustParseRef("data.p.deny")

func TestWhatGrowsInPlanning(t *testing.T) {
	chain := func(n int) string {
		text := "f(x) := x\ng(_) := 1\nh(_) := 2\nr0 if f(0) == 1\n"
		for i := 1; i <= n; i++ {
			text += fmt.Sprintf("r%[1]d if r%[2]d with f as g\nr%[1]d if r%[2]d with f as h\n", i, i-1)
		}
		return fmt.Sprintf("%sdeny contains \"x\" if r%d", text, n)
	}
	for name, c := range map[string]struct {
		rules, want string
		again       bool // that some of it is planned again
	}{
		"a rule":             {`deny contains "x" if input.a`, "", false},
		"a few withs":        {chain(3), "", true},
		"withs within withs": {chain(40), "p.rego:58:8: this reference is planned again for every rule or package that it may mean", false},
		"rules at one depth": {"q.x.b := 1\nq.y.b := 2\ndeny contains \"x\" if q[_].b == 1", "", true},
		"at unlike depth":    {"q.x.b := 1\nq.b.b := 2\nq.a[l] := v if some l, v in {\"x\": \"b\"}\ndeny contains \"x\" if { k := q.a.x; q[k].b }", "p.rego:5:36: a variable stands here in the place of keys", false},
	} {
		t.Run(name, func(t *testing.T) {
			again, errs := CheckGrowth(compiled(t, c.rules), deny)
			require.Equal(t, c.again, again > 0)
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.ErrorContains(t, errs, c.want)
		})
	}
}

func TestWhatCannotBePlanned(t *testing.T) {
	for name, c := range map[string]struct{ rules, want string }{
		"a rule":                           {`deny contains "x" if input.a`, ""},
		"a name shared by rules":           {"q[x].a := 1 if some x in [\"m\"]\nq[x].b := y if { some x in [\"m\"]; y := data.p.q.m.a }\ndeny contains \"x\" if q.m.b", "p.rego:3:1: a rule refers to data.p.q, with which it shares the beginning of its name"},
		"a pattern out of order":           {"deny contains w if { [w, v] = [v, input.name] }", "p.rego:2:22: a variable of this pattern is used before the part of it that gives it a value"},
		"a constant that is iterated over": {"deny contains 1 if { helper }\nother if { input.x }\nhelper if {\n\tother\n\tsome x in \"text\"\n\tx == 1\n}", "p.rego:6:2: a constant that is not a collection is read by a key or iterated over, which has no result"},
		"a pattern of another kind":        {"deny contains 1 if { f(1) }\nf(x) if {\n\tx == 1\n\tevery y in input.l {\n\t\ty != 1\n\t\t[] == null\n\t}\n}", "p.rego:7:3: an array or object that is written out cannot be compared with this: give the other side a name first"},
		"a comprehension":                  {"deny contains 1 if { {} == {k: v | some k, v in input.m} }", "p.rego:2:22: an array or object that is written out cannot be compared with this"},
	} {
		t.Run(name, func(t *testing.T) {
			program, errs := NewProgram(compiled(t, c.rules), eval.StandardFunctions, eval.CompileOptions{}, deny)
			if c.want == "" {
				require.Empty(t, errs)
				require.NotNil(t, program.Rule(deny))
				return
			}
			require.Nil(t, program)
			require.Len(t, errs, 1)
			require.ErrorContains(t, errs, c.want)
		})
	}
	program, errs := NewProgram(compiled(t, "a := 1"), eval.StandardFunctions, eval.CompileOptions{}, deny)
	require.Empty(t, errs)
	require.Nil(t, program.Rule(deny), "a rule that is not there is left out")
}

// TestErrorsOfThePlannerHaveAPlace where it names that of a rule.
func TestErrorsOfThePlannerHaveAPlace(t *testing.T) {
	compiler := compiled(t, "a := 1\ndeny contains a")
	errs := notPlanned(compiler, errors.New("p.rego:3: cannot be planned"), nil)
	require.EqualError(t, errs, "p.rego:3:1: cannot be planned")
	errs = notPlanned(compiler, errors.New("cannot be planned"), nil)
	require.EqualError(t, errs, "OPA cannot plan this rule: cannot be planned")
}

// TestCompactKeepsLines: one location for each.
func TestCompactKeepsLines(t *testing.T) {
	compiler := compiled(t, "# why\na := 1 if {\n  input.x == 2; input.y == 3\n} else := 2\ndeny contains a")
	module := compiler.Modules["p.rego"]
	module.Rules[0].Body[0].Operand(1).Location = nil // as that of a term that all modules share
	before := module.Rules[0].Location.String()
	Compact(compiler.Modules)

	require.Empty(t, module.Comments)
	require.Equal(t, before, module.Rules[0].Location.String(), "rules keep their place")
	require.Same(t, module, module.Rules[0].Else.Module)
	require.Nil(t, module.Rules[0].Body[0].Operand(1).Location)
	places := map[*ast.Location]bool{}
	ast.WalkExprs(module.Rules[0].Body, func(expr *ast.Expr) bool {
		places[expr.Location] = true
		require.True(t, strings.HasPrefix(expr.Location.String(), "p.rego:4"), expr.Location)
		return false
	})
	require.Len(t, places, 1)
}
