package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/eval/plan"
)

const sharingModule = `package x

import rego.v1

g(l) := count([i | some i in l; i > 1])

f(l) := sum([n | some i in l; n := g(l) + i])

e(l) := [to_number(i) | some i in l]

h(l) := count(e(l)) + count([1 | some i in l])

m(l) := [i | some i in l; regex.match("^[a-z]+$", i)]

twice := [g(input.l), f(input.l), g(input.l)]

only := f(input.l)

failing := [e(input.t), h(input.t), e(input.t)]

onlyfailing := h(input.t)

matches := [m(input.t), [1 | regex.match("^[a-z]+$", "a")], m(input.t)]

onlymatches := m(input.t)

presence := 1 if { input; count([1 | some _ in [1]]) > 0 }
`

func sharingProgram(t *testing.T) *Program {
	t.Helper()
	compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
	compiler.Compile(map[string]*ast.Module{"x.rego": ast.MustParseModule(sharingModule)})
	require.False(t, compiler.Failed(), compiler.Errors)
	var refs []ast.Ref
	for _, name := range []string{"twice", "only", "failing", "onlyfailing", "matches", "onlymatches", "presence"} {
		refs = append(refs, ast.MustParseRef("data.x."+name))
	}
	planned, err := plan.Rules(compiler, refs...)
	require.NoError(t, err)
	program, err := Compile(planned, func(name string) (Function, bool) {
		f, known := StandardFunctions(name)
		if f.Admit = func([]*ast.Term) (int, error) { return 1, nil }; name == ast.RegexMatch.Name {
			f.Prepare = &Preparation{
				Key:   func(operands []*ast.Term) string { return operands[0].String() },
				Steps: func(string) int { return 30 },
			}
		}
		return f, known
	}, CompileOptions{})
	require.NoError(t, err)
	return program
}

// TestCostsDoNotDependOnWhatIsShared: each rule reports the same, whichever rules were evaluated before
// with the same results.
func TestCostsDoNotDependOnWhatIsShared(t *testing.T) {
	t.Parallel()
	program := sharingProgram(t)
	input := ast.MustParseTerm(`{"l": [1, 2, 3], "t": ["1", "x", "a"]}`)
	report := func(name string, shared *Shared) string {
		values, report, err := program.Run(t.Context(), []*Rule{program.Rule(ast.MustParseRef("data.x." + name))}, Options{Input: input, Shared: shared})
		return fmt.Sprint(values, report.Steps, report.Bytes, len(report.Errors), err)
	}
	names := []string{"twice", "only", "failing", "onlyfailing", "matches", "onlymatches"}
	for _, first := range names {
		for _, second := range names {
			shared := &Shared{}
			report(first, shared)
			isFailing := strings.HasSuffix(first, "failing")
			require.Equal(t, isFailing, len(shared.results) == 0, "%s: results with errors are not shared, and others are", first)
			for range 2 {
				require.Equal(t, report(second, nil), report(second, shared), "%s after %s", second, first)
			}
		}
	}
}

// TestSharedResultsAreBounded: the results that are retained beyond an evaluation are bounded.
func TestSharedResultsAreBounded(t *testing.T) {
	t.Parallel()
	program := sharingProgram(t)
	shared := &Shared{}
	alone := int64(0)
	for i := range 3 * maxSharedResults / 2 {
		_, report, err := program.Run(t.Context(), []*Rule{program.Rule(ast.MustParseRef("data.x.twice"))}, Options{
			Input: ast.MustParseTerm(fmt.Sprintf(`{"l": [%d, 5]}`, 2+i)), Shared: shared,
		})
		require.NoError(t, err)
		if alone == 0 {
			alone = report.Steps
		}
		require.Equal(t, alone, report.Steps, "also once no more is retained")
	}
	require.LessOrEqual(t, len(shared.results), maxSharedResults)
	require.LessOrEqual(t, shared.bytes, int64(maxSharedBytes))
}
