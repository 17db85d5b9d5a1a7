package eval

import (
	"context"
	"errors"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/eval/plan"
)

// TestFunctionsKeepTheirLimits: operands that are refused are not computed with, and a
// result that is refused is not given.
func TestFunctionsKeepTheirLimits(t *testing.T) {
	refuse := func() (int, error) { return 0, errors.New("too large") }
	operands := func(f *Function) { f.Admit = func([]*ast.Term) (int, error) { return refuse() } }
	result := func(f *Function) { f.Accept = func(*ast.Term) (int, error) { return refuse() } }
	for name, c := range map[string]struct {
		body   string
		limits func(*Function)
		called bool
	}{
		"operands":       {"upper(input.text) == \"A\"", operands, false},
		"a result":       {"upper(input.text) == \"A\"", result, true},
		"what is walked": {"walk(input, [path, value]); value == \"a\"", operands, false},
	} {
		t.Run(name, func(t *testing.T) {
			called := false
			functions := func(name string) (Function, bool) {
				f, known := StandardFunctions(name)
				if name == "upper" || name == "walk" {
					call := f.Call
					f.Call = func(context topdown.BuiltinContext, operands []*ast.Term, give func(*ast.Term) error) error {
						called = true
						return call(context, operands, give)
					}
					c.limits(&f)
				}
				return f, known
			}
			_, compiler := mustCompile(t, "package t\ndeny contains 1 if { "+c.body+" }", CompileOptions{}, "deny")
			planned, err := plan.Rules(compiler, refs("deny")...)
			require.NoError(t, err)
			program, err := Compile(planned, functions, CompileOptions{})
			require.NoError(t, err)
			values, report, err := program.Run(t.Context(), []*Rule{program.Rule(refs("deny")[0])}, Options{Input: ast.MustParseTerm(`{"text": "a"}`)})
			require.NoError(t, err)
			require.Equal(t, "set()", values[0].String())
			require.Equal(t, c.called, called)
			require.Len(t, report.Errors, 1)
			require.ErrorContains(t, report.Errors[0], "too large")
		})
	}
}

// TestCostlyCallsArePacedFirst: the cost of a call is known to Limits.Pace before the call.
func TestCostlyCallsArePacedFirst(t *testing.T) {
	const cost = 10 * stepsPerLook
	called, before, after := false, int64(0), int64(0)
	functions := func(name string) (Function, bool) {
		f, known := StandardFunctions(name)
		if name == "upper" {
			call := f.Call
			f.Admit = func([]*ast.Term) (int, error) { return cost, nil }
			f.Call = func(context topdown.BuiltinContext, operands []*ast.Term, give func(*ast.Term) error) error {
				called = true
				return call(context, operands, give)
			}
		}
		return f, known
	}
	_, compiler := mustCompile(t, "package t\ndeny contains i if { some i in numbers.range(1, 1000); upper(input.text) == \"A\" }", CompileOptions{}, "deny")
	planned, err := plan.Rules(compiler, refs("deny")...)
	require.NoError(t, err)
	program, err := Compile(planned, functions, CompileOptions{})
	require.NoError(t, err)
	limits := Limits{Pace: func(_ context.Context, steps int64) {
		if after = steps; !called {
			before = steps
		}
	}}
	_, report, err := program.Run(t.Context(), []*Rule{program.Rule(refs("deny")[0])}, Options{Input: ast.MustParseTerm(`{"text": "a"}`), Limits: limits})
	require.NoError(t, err)
	require.GreaterOrEqual(t, before, int64(cost))
	require.Less(t, before, int64(2*cost))
	require.Greater(t, after, int64(1000*cost))
	require.LessOrEqual(t, after, report.Steps)
}
