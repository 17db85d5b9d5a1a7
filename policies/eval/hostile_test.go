package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/eval/plan"
)

// TestDocumentsInPlaceOfOthers: data is read like input, and `with` has the same result as in
// OPA, which evaluates each case, too.
func TestDocumentsInPlaceOfOthers(t *testing.T) {
	const data = `{"review": {"kind": "Pod", "n": 1, "labels": {"a": 1, "b": 2}}, "other": {"kind": "Service"}}`
	const rules = "is_pod if input.kind == \"Pod\"\nlabels := data.review.labels\n"
	for _, body := range []string{
		`x := is_pod with input as data.review`,
		`x := is_pod with input as data.other`,
		`x := is_pod with input as data.review with input.kind as "Service"`,
		`x := input with input as data.review with input.labels as {"c": 3}`,
		`x := data.review with data.review.labels as {"c": 3}`,
		`x := data.review.labels with data.review.labels as {"c": 3}`,
		`x := labels with data.review.labels as {"c": 3}`,
		`x := data.review with data.review.labels.a as {"c": 3}`,
		`x := data.review with data.review.labels as 3`,
		`x := data.review with data.review.labels.a.deep as 3`,
		`x := data.review.labels.a.deep with data.review.labels.a.deep as 3`,
		`x := data.review with data.review as data.other`,
		`x := count(data.review) with data.review.new as data.other`,
		`x := [v | walk(input, [_, v])] with input as data.other`,
	} {
		t.Run(body, func(t *testing.T) {
			text := "package t\n" + rules + "deny contains x if { " + body + " }"
			base := ast.MustParseTerm(data).Value.(ast.Object)
			value, _, err := ask(t, text, Options{Data: ObjectDocument(base)})
			require.NoError(t, err)
			results, err := rego.New(rego.Query("data.t.deny"), rego.Module("t.rego", text), rego.Store(inmem.NewFromReaderWithOpts(strings.NewReader(data), inmem.OptReturnASTValuesOnRead(true)))).Eval(t.Context())
			require.NoError(t, err)
			require.Equal(t, ast.MustInterfaceToValue(results[0].Expressions[0].Value).String(), ast.MustInterfaceToValue(ast.MustJSON(value.Value)).String())
		})
	}
}

// TestPatternsOutOfOrder: OPA plans them wrongly, so that they are refused.
func TestPatternsOutOfOrder(t *testing.T) {
	for body, refused := range map[string]bool{
		"[w, v] = [v, input.n]":                true,
		`{"a": w, "b": v} = {"a": v, "b": 1}`:  true,
		"[v, w] = [input.n, v]":                false,
		"v := 1; [w, v] = [v, input.n]":        false,
		"[w, [v, u]] = [v, [input.n, [v, 1]]]": true,
	} {
		t.Run(body, func(t *testing.T) {
			compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
			compiler.Compile(map[string]*ast.Module{"t.rego": ast.MustParseModuleWithOpts("package t\ndeny contains w if { "+body+" }", ast.ParserOptions{RegoVersion: ast.RegoV1})})
			require.False(t, compiler.Failed(), compiler.Errors)
			planned, err := plan.Rules(compiler, refs("deny")...)
			require.NoError(t, err)
			_, err = Compile(planned, StandardFunctions, CompileOptions{})
			var unordered *UnorderedError
			require.Equal(t, refused, errors.As(err, &unordered), "%v", err)
			if refused {
				require.Equal(t, 2, unordered.Location.Row)
			}
		})
	}
}

// TestWhatTakesLongIsCounted: copies, errors and comparisons count with their cost.
func TestWhatTakesLongIsCounted(t *testing.T) {
	list := make([]*ast.Term, 2000)
	items := make([][2]*ast.Term, len(list))
	for i := range list {
		list[i] = ast.InternedTerm(i)
		items[i] = ast.Item(ast.StringTerm(fmt.Sprint(i)), list[i])
	}
	input := ast.ObjectTerm(ast.Item(ast.StringTerm("list"), ast.ArrayTerm(list...)), ast.Item(ast.StringTerm("object"), ast.ObjectTerm(items...)), ast.Item(ast.StringTerm("text"), ast.StringTerm(strings.Repeat("x", 10_000))))
	took := func(body, rules string) Report {
		_, report, err := ask(t, "package t\ndeny contains 1 if { "+body+" }\n"+rules, Options{Input: input})
		require.NoError(t, err)
		return report
	}
	require.Greater(t, took("f with input.object.a as 1", "f if input.object.a == 1").Bytes, int64(2000*valueBytes), "a copy")
	require.Greater(t, took("not to_number(input.text)", "").Bytes, int64(10_000), "an error")
	require.Greater(t, took("{input.list: 1}[input.list]", "").Steps-took("{1: 1}[1]", "").Steps, int64(2000/comparedPerStep), "a long key")
	require.Less(t, took("not input.list == [1]", "").Steps, int64(200), "a long list beside a short one")
	require.Greater(t, took("count({x | some i in [1, 2, 4, 5]; x := i / 3}) == 4", "").Steps, int64(4*longNumberSteps), "numbers of many digits")
}

// TestManyAskAtOnce: one Program, input and data for all, of which some are cancelled in the
// middle and others reach a limit. Every answer is the right one.
func TestManyAskAtOnce(t *testing.T) {
	program, _ := mustCompile(t, `package t
constants := {"z", "a", [3, 1], {"k": {2, 1}}}
f(x) := {v: k | some k, v in x}
deny contains [f(input.o), constants, input.s, data.base] if {
	constants != input.s
	every v in input.o { v > 0 }
	count({[x, y] | some x in input.l; some y in input.l}) > input.least
	input.s | constants != constants
	g with input.o.b as 1
}
g if sort(input.l)[0] == 1`, CompileOptions{}, "deny")
	rule := []*Rule{program.Rule(refs("deny")[0])}
	data := ObjectDocument(ast.MustParseTerm(`{"base": {"z": {3, 2, 1}, "a": [{"y": 1, "x": 2}]}}`).Value.(ast.Object))
	input := ast.MustParseTerm(`{"o": {"b": 2, "a": 1}, "s": {"y", "x", {3, 1, 2}}, "l": [9, 8, 7, 6, 5, 4, 3, 2, 1], "least": 80}`)
	want, report, err := program.Run(t.Context(), rule, Options{Input: input, Data: data})
	require.NoError(t, err)
	require.NotEqual(t, "set()", want[0].String())
	shared := ast.MustParseTerm(input.String())
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for i := range 60 {
				options := Options{Input: shared, Data: data}
				ctx, cancel := context.WithCancel(t.Context())
				switch (worker + i) % 4 {
				case 0:
					options.Limits.Steps = report.Steps * int64(i) / 60
				case 1:
					options.Limits.Bytes = report.Bytes*int64(i)/60 + 1
				case 2:
					go cancel()
				}
				values, again, err := program.Run(ctx, rule, options)
				cancel()
				var limit *LimitError
				switch {
				case errors.As(err, &limit) && values == nil:
				case err != nil || values[0].String() != want[0].String() || again.Steps != report.Steps || again.Bytes != report.Bytes:
					t.Errorf("%v, %v, %+v", values, err, again)
				}
			}
		})
	}
	workers.Wait()
}
