package engine

import (
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"
)

// TestSplittingChangesNoAnswer evaluates bodies as OPA alone does, and as the engine
// does.
func TestSplittingChangesNoAnswer(t *testing.T) {
	const more = `
names := ["a", "b", "c"]
table := {"x": {"a": 1, "b": 2}, "y": {"a": 1, "c": 3}}
pairs[k] := v if some k, v in {"a": 1, "c": 3}
deep[k1][k2] := v if { some k1; some k2; v := table[k1][k2] }
members contains x if some x in ["b", "c", "d"]
f(x) := y if y := names[x]
first([x, _]) := [x, x]
twice(x, x) := [x, x]
`
	bodies := []string{
		`x := [[i, j] | input.request.object.list[i] == names[j]]`,
		`x := {y | y := input.request.object.list[_]; y == members[_]}`,
		`x := {y | some y; members[y]; names[_] == y}`,
		`x := [[i, j, k] | table[i][k] == table[j][k]]`,
		`x := [[i, j, v] | v := table[i][j]; v == pairs[j]]`,
		`x := [[i, j] | deep[i][j] == pairs[_]]`,
		`x := [i | table[i][_] == 1]`,
		`x := [[i, j] | input.request.object.nested[i][j].v == input.request.object.nested[j][i].v]`,
		`x := [i | not input.request.object.list[i] == "a"; input.request.object.list[i]]`,
		`x := [i | names[i] == input.request.object.list[_] with input as {"request": {"object": {"list": ["b"]}}}]`,
		`x := [[i, j] | input.request.object.list[i] == names[j] with input.request.object.list as ["c", "a"]]`,
		`x := [i | input.request.object.list[i]; every n in ["z"] { n != input.request.object.list[i]; input.request.object.list[i] == names[_] }]`,
		`x := [[i, j] | [input.request.object.list[i], 1] == [names[j], pairs[_]]]`,
		`x := [[i, j] | {"k": input.request.object.list[i]} == {"k": names[j]}]`,
		`x := [y | y := [z | names[_] == input.request.object.list[z]][_]]`,
		`x := [[i, j] | names[i]; f(i) == input.request.object.list[j]]`,
		`x := [[i, j] | concat("", [input.request.object.list[i], names[j]]) == "ab"]`,
		`x := [i | names[i] = input.request.object.list[i]]`,
		`x := [[i, j] | some i, j; input.request.object.nested[i][j].v < table[_][_]]`,
		`x := count([1 | input.request.object.list[_] == names[_]; members[_] != input.request.object.list[_]])`,
		`x := [v | walk(input.request.object.nested, [_, v]); v == pairs[_]]`,
		`x := input.request.object.missing[_] == names[_]`,
		`some i; input.request.object.list[i] == names[i]; x := i`,
		`some i; y := {"a": names[i], "b": table}; x := [y, {y, names}]`,
		`i := 1; [x, names] = [i, input.request.object.list]`,
		`i := 1; y := 2; [x, input.request.object.list, y] = [i, names, y]`,
		`[x, pairs] = [names, pairs]`,
		`x := [v | v := input.request.object.list with input.request.object.list as [names, names]]`,
		`x := [first([names, 1]), twice(names, names)]`,
		`x := {first([n, n]) | n := names[_]; not [n, n] == ["a", n]}`,
		`x := [members, pairs, deep]`,
		`x := data.p.members with data.p.names as ["z"]`,
		`x := [k | members[k]; {[k, k]: pairs}[[k, k]] == pairs]`,
		`not [names, input.name] == [input.name, names]; x := {names: members}`,
		`x := [k | some k in ["a", "b", "x"]; not table[k] == pairs; not input.request.object[k] == input.name]`,
		`x := [k | some k in ["a", "c", "z"]; not pairs[k] == table.x[k]]`,
		`not pairs == pairs; x := 1`,
		`not deep == input.missing; not pairs == input.request; x := 1`,
		`not pairs == names with data.p.pairs as names; x := 1`,
		`y := ["q"]; not y == names with data.p.names as y; x := 1`,
		`{"x": y, "y": _} = deep; x := y`,
		`x := [[k, v] | {"a": v} = deep[k]]`,
		`x := [[k, v] | {"a": v, "b": _} = deep[k]]`,
		`y := {"request": {"object": input}}; x := input.request.object.name with input as {"request": y.request, "b": y}`,
		`every n in [[names, 1], [names, 2]] { [names, _] = n }; x := [n | some n in [names, pairs]]`,
	}
	input := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"list":["b","a","q","c"],"nested":[[{"v":1},{"v":2}],[{"v":2},{"v":5}],[{"v":3}]]}`
	review := makeReview(t, input)
	for i, body := range bodies {
		t.Run(body, func(t *testing.T) {
			module := "package p\nimport rego.v1\ndeny contains sprintf(\"%v\", [x]) if { " + body + " }" + more
			set := compileSource(t, Source{Name: fmt.Sprint(i), Files: map[string]string{"p.rego": module}})
			evaluation, err := newEvaluation(review, Options{})
			require.NoError(t, err)
			want, err := rego.New(rego.Query("x := data.p.deny"), rego.Module("p.rego", module),
				rego.ParsedInput(evaluation.input(set).Value)).Eval(t.Context())
			require.NoError(t, err)
			var got []any
			for _, denial := range snapshotOf(set).Validate(t.Context(), review, Options{}).Denials {
				require.False(t, denial.Error, denial.Words)
				got = append(got, denial.Words)
			}
			require.ElementsMatch(t, want[0].Bindings["x"], got)
		})
	}
}

// TestEveryFunctionIsMetered: OPA hands the meter only to functions that ask for it.
func TestEveryFunctionIsMetered(t *testing.T) {
	limitFunctions()
	for _, name := range allowedBuiltins {
		builtin := ast.BuiltinMap[name]
		require.NotNil(t, builtin, name)
		if topdown.GetBuiltin(name) != nil {
			require.False(t, builtin.CanSkipBctx, name)
		}
	}
}
