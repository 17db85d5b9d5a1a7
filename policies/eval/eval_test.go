package eval

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/eval/plan"
)

// mustCompile is a program of the rules of package t that are named, with its compiler.
func mustCompile(t testing.TB, text string, options CompileOptions, rules ...string) (*Program, *ast.Compiler) {
	t.Helper()
	module, err := ast.ParseModuleWithOpts("t.rego", text, ast.ParserOptions{RegoVersion: ast.RegoV1})
	require.NoError(t, err)
	compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
	compiler.Compile(map[string]*ast.Module{"t.rego": module})
	require.False(t, compiler.Failed(), compiler.Errors)
	planned, err := plan.Rules(compiler, refs(rules...)...)
	require.NoError(t, err)
	program, err := Compile(planned, StandardFunctions, options)
	require.NoError(t, err)
	return program, compiler
}

func refs(rules ...string) (out []ast.Ref) {
	for _, rule := range rules {
		out = append(out, ast.MustParseRef("data.t."+rule))
	}
	return out
}

// ask evaluates rule deny.
func ask(t testing.TB, text string, options Options) (*ast.Term, Report, error) {
	t.Helper()
	program, _ := mustCompile(t, text, CompileOptions{}, "deny")
	values, report, err := program.Run(context.Background(), []*Rule{program.Rule(refs("deny")[0])}, options)
	if err != nil {
		return nil, report, err
	}
	return values[0], report, nil
}

// TestItImportsNothingOfLintel, nor what only plans: programs that have a plan start fast.
func TestItImportsNothingOfLintel(t *testing.T) {
	for name, planner := range map[string]int{".": 0, "./plan": 1} {
		out, err := exec.Command("go", "list", "-deps", name).Output()
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(out), "lintel-policy/lintel"), name)
		require.Equal(t, planner, strings.Count(string(out), "open-policy-agent/opa/v1/rego\n"), name)
	}
}

func TestRulesThatAreNotThere(t *testing.T) {
	program, _ := mustCompile(t, "package t\nwarn contains 1\nundefined if input.x", CompileOptions{}, "deny", "warn", "undefined")
	require.Nil(t, program.Rule(refs("deny")[0]))
	values, _, err := program.Run(t.Context(), []*Rule{nil, program.Rule(refs("warn")[0]), program.Rule(refs("undefined")[0])}, Options{})
	require.NoError(t, err)
	require.Nil(t, values[0])
	require.Equal(t, "{1}", values[1].String())
	require.Nil(t, values[2])
}

// TestFunctionsAreNoPartOfADocument: a reference to all rules below a name omits them.
func TestFunctionsAreNoPartOfADocument(t *testing.T) {
	const rules = "package t\nr.k := 1\nr.f(_) := 5\nr.g(_, _, _) := 6\n"
	for body, want := range map[string]string{
		"deny contains x if some x in data.t.r":   "{1}",
		"deny contains x if x := r[_]":            "{1}",
		"deny contains data.t.r":                  `{{"k": 1}}`,
		"deny contains k if { x := r[k]; x > 0 }": `{"k"}`,
	} {
		value, _, err := ask(t, rules+body, Options{})
		require.NoError(t, err, body)
		require.Equal(t, want, value.String(), body)
	}
}

// TestNothingThatIsGivenIsWritten: rules that add to what other rules took from input or
// data add to a copy.
func TestNothingThatIsGivenIsWritten(t *testing.T) {
	for name, text := range map[string]string{
		"key":             "package t\np[k] := input.o if some k in [\"a\"]\np.a.z := 5\ndeny contains data.t.p",
		"key by a rule":   "package t\np[k] := input.o if some k in [\"a\"]\np.a[z] := 5 if some z in [\"z\"]\ndeny contains data.t.p",
		"member":          "package t\np[k][l] := input.s if { some k in [\"a\"]; some l in [\"b\"] }\np.a.b contains 7\ndeny contains data.t.p",
		"of data":         "package t\np[k] := data.base if some k in [\"a\"]\np.a.z := 5\ndeny contains data.t.p",
		"with":            "package t\ndeny contains input.o if count(input.o) > 1 with input.o.z as 5",
		"with data":       "package t\ndeny contains data.base if data.base.z == 5 with data.base.z as 5",
		"a constant":      "package t\nc := {\"a\": 1}\np[k] := c if some k in [\"a\"]\np.a.z := 5\ndeny contains [data.t.p, c]",
		"a comprehension": "package t\nxs := [x | some x in input.l]\ndeny contains [xs, ys] if ys := array.concat(xs, [4])",
	} {
		t.Run(name, func(t *testing.T) {
			input := ast.MustParseTerm(`{"o": {"a": 1}, "s": {1, 2}, "l": [1, 2, 3]}`)
			data := ast.MustParseTerm(`{"base": {"a": 1}}`)
			module := ast.MustParseModuleWithOpts(text, ast.ParserOptions{RegoVersion: ast.RegoV1})
			compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
			compiler.Compile(map[string]*ast.Module{"t.rego": module})
			require.False(t, compiler.Failed(), compiler.Errors)
			for range 2 {
				_, _, _ = ask(t, text, Options{Input: input, Data: ObjectDocument(data.Value.(ast.Object))})
			}
			require.Equal(t, `{"l": [1, 2, 3], "o": {"a": 1}, "s": {1, 2}}`, input.String())
			require.Equal(t, `{"base": {"a": 1}}`, data.String())
		})
	}
}

// TestPlansAddToCopies: a plan that adds to a value never changes the input, data or constant.
func TestPlansAddToCopies(t *testing.T) {
	local := func(l ir.Local) ir.Operand { return ir.Operand{Value: l} }
	text := func(i int) ir.Operand { return ir.Operand{Value: ir.StringIndex(i)} }
	const part, result = ir.Local(2), ir.Local(3)
	for name, add := range map[string]ir.Stmt{
		"key":       &ir.ObjectInsertStmt{Object: part, Key: text(2), Value: text(2)},
		"key, once": &ir.ObjectInsertOnceStmt{Object: part, Key: text(2), Value: text(2)},
		"member":    &ir.SetAddStmt{Set: part, Value: text(2)},
	} {
		t.Run(name, func(t *testing.T) {
			where := 0
			if name == "member" {
				where = 1
			}
			planned := &ir.Policy{
				Static: &ir.Static{Strings: []*ir.StringConst{{Value: "object"}, {Value: "set"}, {Value: "new"}}},
				Plans:  &ir.Plans{},
				Funcs: &ir.Funcs{Funcs: []*ir.Func{{Name: "g0.data.t.deny", Params: []ir.Local{ir.Input, ir.Data}, Return: result, Blocks: []*ir.Block{{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: local(ir.Input), Key: text(where), Target: part}, add, add,
					&ir.AssignVarStmt{Source: local(part), Target: result}, &ir.ReturnLocalStmt{Source: result},
				}}}}}},
			}
			program, err := Compile(planned, StandardFunctions, CompileOptions{})
			require.NoError(t, err)
			input := ast.MustParseTerm(`{"object": {"a": 1}, "set": {"a"}}`)
			values, _, err := program.Run(t.Context(), []*Rule{program.Rule(refs("deny")[0])}, Options{Input: input})
			require.NoError(t, err)
			require.Contains(t, values[0].String(), "new")
			require.Equal(t, `{"object": {"a": 1}, "set": {"a"}}`, input.String())
		})
	}
}

// TestLimits: each ends with the limit that it reaches.
func TestLimits(t *testing.T) {
	list := make([]*ast.Term, 3000)
	for i := range list {
		list[i] = ast.InternedTerm(i)
	}
	input := ast.ObjectTerm(ast.Item(ast.StringTerm("a"), ast.ArrayTerm(list...)), ast.Item(ast.StringTerm("s"), ast.StringTerm(strings.Repeat("x", 1<<16))))
	doubled := "x0 := [1]\n"
	for i := 1; i <= 16; i++ {
		doubled += fmt.Sprintf("x%d := [x%d, x%d]\n", i, i-1, i-1)
	}
	pairs := doubled + strings.ReplaceAll(doubled, "x", "y")
	for name, c := range map[string]struct {
		body, rules, limit string
		limits             Limits
	}{
		"cross product":     {"input.a[_] + 1 == input.a[_] + input.a[_] + 100000", "", "steps", Limits{Steps: 200_000}},
		"comprehension":     {"count([1 | some i in input.a; some j in input.a; some k in input.a; i + j + k < 0]) > 0", "", "steps", Limits{Steps: 200_000}},
		"walk by walk":      {"walk(input, [p, v]); walk(input, [q, w]); p == q; v == w; false", "", "steps", Limits{Steps: 200_000}},
		"doubled":           {"x16", doubled, "bytes", Limits{Bytes: 1 << 20}},
		"equal and doubled": {"x12 == y12", pairs, "steps", Limits{Steps: 400}},
		"strings":           {"some i in input.a; concat(\"\", [input.s, sprintf(\"%d\", [i])]) == \"\"", "", "bytes", Limits{Bytes: 1 << 20}},
		"a growing set":     {"count({[i, input.a] | some i in input.a}) > 0", "", "bytes", Limits{Bytes: 1 << 20}},
		"a growing object":  {"count({i: input.a | some i in input.a}) > 0", "", "bytes", Limits{Bytes: 1 << 20}},
		"replaced again":    {"f(input)", "f(x) if x with input.b as input with input.c as input with input.d as input.a", "bytes", Limits{Bytes: 4096}},
	} {
		t.Run(name, func(t *testing.T) {
			value, report, err := ask(t, "package t\ndeny contains 1 if { "+c.body+" }\n"+c.rules, Options{Input: input, Limits: c.limits})
			var limit *LimitError
			require.ErrorAs(t, err, &limit, "%v", value)
			require.Equal(t, c.limit, limit.Limit)
			if c.limits.Steps > 0 {
				require.Less(t, report.Steps, 2*c.limits.Steps)
			}
			if c.limits.Bytes > 0 {
				require.Less(t, report.Bytes, 2*c.limits.Bytes+1<<18)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	program, _ := mustCompile(t, "package t\ndeny contains 1 if { some i in input.a; some j in input.a; i + j < 0 }", CompileOptions{}, "deny")
	_, report, err := program.Run(ctx, []*Rule{program.Rule(refs("deny")[0])}, Options{Input: input})
	var limit *LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, LimitTimeout, limit.Limit)
	require.Less(t, report.Steps, int64(10), "the context is checked before any work")
}

// TestBytesAreExact: values that a policy creates count with all their parts, values that it
// reads do not.
func TestBytesAreExact(t *testing.T) {
	input := ast.MustParseTerm(`{"o": {"key": [1, "text"]}}`)
	for body, want := range map[string]int64{
		`input.o.key[_] == "text"`:          0,
		`x := {1 | input.o.key[_]}; x`:      2 * (valueBytes + 1), // counted when it is added, though it is there
		`x := [y | y := input.o.key[1]]; x`: valueBytes + 4,
		`x := [y | y := input.o]; x`:        5*valueBytes + 3 + 1 + 4,
		`x := {"k": input.o.key}; x`:        4*valueBytes + 1 + 1 + 4 + 0*valueBytes,
	} {
		t.Run(body, func(t *testing.T) {
			_, nothing, err := ask(t, "package t\ndeny contains 1 if true", Options{Input: input})
			require.NoError(t, err)
			_, report, err := ask(t, "package t\ndeny contains 1 if { "+body+" }", Options{Input: input})
			require.NoError(t, err)
			require.Equal(t, want, report.Bytes-nothing.Bytes)
		})
	}
}

// TestWhatCannotHoldIsLeftOut: a function that would fail in it does not, as with OPA.
func TestWhatCannotHoldIsLeftOut(t *testing.T) {
	for body, fails := range map[string]bool{
		`to_number(input.text) > 1; input.kind == "Pod"`:                          false,
		`some x in input.list; to_number(x) > 1; "Pod" == input.kind`:             false,
		`to_number(input.text) > 1; input.none.kind == 1`:                         false,
		`to_number(input.text) > 1; input.kind == "Service"`:                      true,
		`to_number(input.text) > 1; input.kind == "Pod" with input.kind as "Pod"`: true,
		`to_number(input.text) > 1; count([1 | input.kind == "Pod"]) > 0`:         true,
	} {
		_, report, err := ask(t, "package t\ndeny contains 1 if { "+body+" }", Options{Input: ast.MustParseTerm(`{"kind": "Service", "text": "x", "list": ["y"]}`)})
		require.NoError(t, err)
		require.Equal(t, fails, len(report.Errors) > 0, body)
	}
	// Nor does a body after the one that has the only possible value.
	_, report, err := ask(t, "package t\nfine if input.kind\nfine if to_number(input.text) > 1\ndeny contains 1 if fine", Options{Input: ast.MustParseTerm(`{"kind": "Service", "text": "x"}`)})
	require.NoError(t, err)
	require.Empty(t, report.Errors)
}

// TestAWithEndsWithItsExpression.
func TestAWithEndsWithItsExpression(t *testing.T) {
	value, _, err := ask(t, "package t\ndeny contains 1 if { input.x == 1 with input.x as 1 }\ndeny contains 2 if input.x == 1\ndeny contains 3 if { input.x == 2; input.x == 1 with input as {\"x\": 1}; input.x == 2; data.t.y == 4 with data.t.y as 4 }\ny := 5\ndeny contains y", Options{Input: ast.MustParseTerm(`{"x": 2}`)})
	require.NoError(t, err)
	require.Equal(t, "{1, 3, 5}", value.String())
}

// TestStepsAreExact: the same query takes the same steps, independent of earlier queries.
func TestStepsAreExact(t *testing.T) {
	program, _ := mustCompile(t, "package t\nf(x) := y if y := x * 2\ndeny contains f(x) if { some x in input.a; x > 1 }\nwarn contains f(x) if some x in input.a", CompileOptions{}, "deny", "warn")
	rules := []*Rule{program.Rule(refs("deny")[0]), program.Rule(refs("warn")[0])}
	input := ast.MustParseTerm(`{"a": [1, 2, 3, 3]}`)
	_, first, err := program.Run(t.Context(), rules, Options{Input: input})
	require.NoError(t, err)
	require.Positive(t, first.Steps)
	_, _, err = program.Run(t.Context(), rules, Options{Input: input, Limits: Limits{Steps: 5}})
	require.Error(t, err)
	_, again, err := program.Run(t.Context(), rules, Options{Input: input, Limits: Limits{Steps: first.Steps}})
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, _, err = program.Run(t.Context(), rules, Options{Input: input, Limits: Limits{Steps: first.Steps - 1}})
	require.Error(t, err)
}

// TestConflictsNameBothPlaces.
func TestConflictsNameBothPlaces(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"rules":     {"package t\np := 1\np := 2\ndeny contains p", "rule data.t.p produced conflicting values (t.rego:2 and t.rego:3)"},
		"one rule":  {"package t\np := x if some x in [1, 2]\ndeny contains p", "rule data.t.p produced conflicting values"},
		"functions": {"package t\nf(x) := 1 if x > 0\nf(x) := 2 if x > 1\ndeny contains f(2)", "function data.t.f produced conflicting values for the same inputs (t.rego:2 and t.rego:3)"},
		"with else": {"package t\np := 1 if input.x else := 2\np := 3\ndeny contains p", "rule data.t.p produced conflicting values (t.rego:2 and t.rego:3)"},
		"keys":      {"package t\np[k] := v if { some k in [\"a\"]; some v in [1, 2] }\ndeny contains p", "object keys must be unique"},
		"collected": {"package t\ndeny contains {k: v | some k in [\"a\"]; some v in [1, 2]}", "object keys must be unique"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ask(t, c.text, Options{})
			var failure *topdown.Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, topdown.ConflictErr, failure.Code)
			require.Equal(t, c.want, failure.Message)
			require.Equal(t, "t.rego", failure.Location.File)
		})
	}
}

// TestConflictsCountWhereTheyAreRead: of a partial object that has two values for a key, the
// other keys can be read; that key, and the object as a whole, cannot. The errors are OPA's.
func TestConflictsCountWhereTheyAreRead(t *testing.T) {
	const rules = `package t
port[c.name] := c.port if some c in input.list
nest[c.name][c.kind] := c.port if some c in input.list
mix[c.name] contains c.port if some c in input.list
mix.a.b := 1
sets[c.name] contains c.port if some c in input.list
sets.a := [1]
lib.b := 1 if input.list
lib.b := 2 if input.list
lib.c := 3
port_of(name) := port[name]
has(object, key) if object[key]
`
	input := ast.MustParseTerm(`{"a": "a", "b": "b", "list": [{"name": "a", "kind": "x", "port": 1}, {"name": "b", "kind": "x", "port": 2}, {"name": "a", "kind": "x", "port": 3}, {"name": "a", "kind": "y", "port": 4}]}`)
	for body, want := range map[string]string{
		`port.b == 2`: "true", `port["b"] == 2`: "true", `port[input.b] == 2`: "true", `port_of("b") == 2`: "true", `not port.c`: "true", `k := input.b; [k, 2] == [k, port[k]]`: "true",
		`nest.b.x == 2`: "true", `nest.a.y == 4`: "true", `nest.b[_] == 2`: "true", `count(nest.b) == 1`: "true", `nest.b == {"x": 2}`: "true", `not nest.a.z`: "true", `lib.c == 3`: "true", `lib[input.a]`: "undefined",
		`port.a`: "conflict", `port[input.a]`: "conflict", `not port.a`: "conflict", `port[_] == 2`: "conflict", `some k, v in port; k == "b"; v == 2`: "conflict", `count(port) == 2`: "conflict", `port`: "conflict", `not port`: "conflict",
		`p := port; p.b == 2`: "conflict", `object.get(port, "b", 1) == 2`: "conflict", `has(port, "b")`: "conflict", `port_of("a")`: "conflict", `{"b": 2} == port`: "conflict", `every v in port { v > 0 }`: "conflict", `count([v | v := port[_]]) > 0`: "conflict",
		`input.a == "a" with input as port`: "conflict", `input.a == "a" with input.b as port`: "conflict",
		`nest.a.x`: "conflict", `nest.a[_] == 4`: "conflict", `nest[_].y == 4`: "conflict", `count(nest.a) == 2`: "conflict", `nest.a`: "conflict", `lib.b`: "conflict",
		`mix.b == {2}`: "true", `mix.a`: "conflict", `sets.b == {2}`: "true", `sets.a`: "conflict",
	} {
		t.Run(body, func(t *testing.T) {
			value, _, err := ask(t, rules+"deny contains 1 if { "+body+" }", Options{Input: input})
			switch want {
			case "conflict":
				require.ErrorContains(t, err, "eval_conflict_error")
				return
			case "true":
				want = "{1}"
			default:
				want = "set()"
			}
			require.NoError(t, err)
			require.Equal(t, want, value.String())
		})
	}
}

// TestNotOfARuleWhoseNameIsComputed holds where a condition on the rule does not.
func TestNotOfARuleWhoseNameIsComputed(t *testing.T) {
	const rules = "package t\nlimits.a := 1\nlimits.b := false\nlimits.c := {\"x\": 1}\nother.a := 1\nother.b := 2\n"
	for body, want := range map[string]bool{
		`not limits[input.a] == 1`: false, `not limits[input.a] == 2`: true, `not limits[input.a]`: false, `not limits[input.b]`: true, `not limits[input.none]`: false, `not limits[input.d]`: true, `not limits[input.d] == 1`: true,
		`not limits[input.c].x == 1`: false, `not limits[input.c].y`: true, `not limits[input.a] == other[input.a]`: false, `not limits[input.a] == other[input.b]`: true, `not limits[input.a] == other[input.d]`: true,
		`not limits[input.c].x == 2 with input.n as 1`: true, `count([1 | not limits[input.a] == 2]) == 1`: true, `every k in ["a", "b"] { not limits[k] == 7 }`: true, `every x in limits[input.d] { x }`: false, `every x in limits[input.c] { x == 1 }`: true,
	} {
		value, _, err := ask(t, rules+"deny contains 1 if { "+body+" }", Options{Input: ast.MustParseTerm(`{"a": "a", "b": "b", "c": "c", "d": "d"}`)})
		require.NoError(t, err)
		require.Equal(t, want, value.String() == "{1}", body)
	}
}

// counted is a Document that records which parts of it are read.
type counted struct {
	mu    sync.Mutex
	path  string
	value ast.Object
	read  map[string]int
}

func (c *counted) Get(key string) (ast.Value, Document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.path + "/" + key
	if c.read[at]++; key == "broken" {
		return nil, nil, errors.New("not at hand")
	}
	found := c.value.Get(ast.StringTerm(key))
	if found == nil {
		return nil, nil, nil
	}
	if inner, ok := found.Value.(ast.Object); ok && strings.Count(at, "/") < 3 {
		return nil, &counted{path: at, value: inner, read: c.read}, nil
	}
	return found.Value, nil, nil
}

func (c *counted) Value() (ast.Value, error) {
	c.read[c.path+"/*"]++
	return c.value, nil
}

// TestDocumentsAreReadInParts.
func TestDocumentsAreReadInParts(t *testing.T) {
	data := ast.MustParseTerm(`{"cluster": {"Pod": {"shop": {"a": {"x": 1}, "b": {"x": 2}}, "other": {}}}}`).Value.(ast.Object)
	for body, want := range map[string]string{
		`data.cluster.Pod.shop.a.x == 1`:                                     "/cluster /cluster/Pod /cluster/Pod/shop",
		`data.cluster.Pod[input.n].b.x == 2`:                                 "/cluster /cluster/Pod /cluster/Pod/shop",
		`data.cluster.Pod[_].b.x == 2`:                                       "/cluster /cluster/Pod /cluster/Pod/*",
		`not data.cluster.Service`:                                           "/cluster /cluster/Service",
		`count(data.cluster.Pod) == 2`:                                       "/cluster /cluster/Pod /cluster/Pod/*",
		`x := data.cluster.Pod; x.shop.a.x == 1`:                             "/cluster /cluster/Pod /cluster/Pod/*",
		`data.cluster.Pod.shop.a.x == 3 with data.cluster.Pod.shop.a.x as 3`: "/cluster /cluster/Pod /cluster/Pod/shop",
		`data.cluster.Pod.shop.b.x == 2 with data.cluster.Pod.other as 3`:    "/cluster /cluster/Pod /cluster/Pod/other /cluster/Pod/shop",
	} {
		t.Run(body, func(t *testing.T) {
			read := map[string]int{}
			value, _, err := ask(t, "package t\ndeny contains 1 if { "+body+" }", Options{Data: &counted{value: data, read: read}, Input: ast.MustParseTerm(`{"n": "shop"}`)})
			require.NoError(t, err)
			require.Equal(t, "{1}", value.String())
			for _, path := range strings.Fields(want) {
				require.NotZero(t, read[path], "%s is not among %v", path, read)
				delete(read, path)
			}
			require.Empty(t, read)
		})
	}
	_, _, err := ask(t, "package t\ndeny contains 1 if { not data.broken }", Options{Data: &counted{value: data, read: map[string]int{}}})
	require.EqualError(t, err, "not at hand", "what is not at hand is not absent")
}

// TestProgramsAreShared by goroutines.
func TestProgramsAreShared(t *testing.T) {
	program, _ := mustCompile(t, "package t\nf(x) := y if y := {k: v | some k, v in x}\ndeny contains [input.n, f(input.o), data.base] if { every v in input.o { v > 0 } }", CompileOptions{}, "deny")
	rule := []*Rule{program.Rule(refs("deny")[0])}
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for i := range 200 {
				n := worker*1000 + i
				input := ast.MustParseTerm(fmt.Sprintf(`{"n": %d, "o": {"a": %d}}`, n, n+1))
				values, _, err := program.Run(t.Context(), rule, Options{Input: input, Data: ObjectDocument(ast.NewObject(ast.Item(ast.StringTerm("base"), ast.InternedTerm(n))))})
				if err != nil || values[0].String() != fmt.Sprintf(`{[%d, {"a": %d}, %d]}`, n, n+1, n) {
					t.Errorf("%v, %v", values, err)
				}
			}
		})
	}
	workers.Wait()
}

// TestErrorsOfFunctionsStayBeside what the other rules say, unless they are to end it.
func TestErrorsOfFunctionsStayBeside(t *testing.T) {
	const text = "package t\ndeny contains 1\ndeny contains x if x := 1 / input.zero\ndeny contains x if x := to_number(input.text)"
	input := ast.MustParseTerm(`{"zero": 0, "text": "x"}`)
	value, report, err := ask(t, text, Options{Input: input})
	require.NoError(t, err)
	require.Equal(t, "{1}", value.String())
	require.Len(t, report.Errors, 2)
	require.EqualError(t, report.Errors[0], "t.rego:3: eval_builtin_error: div: divide by zero")
	_, _, err = ask(t, text, Options{Input: input, Strict: true})
	require.EqualError(t, err, "t.rego:3: eval_builtin_error: div: divide by zero")
}

// TestCoverage: which expressions held, which did not, and which rules gave a value.
func TestCoverage(t *testing.T) {
	program, _ := mustCompile(t, "package t\ndeny contains 1 if {\n\tinput.a\n\tinput.b\n\tinput.c\n}\ndeny contains 2 if input.a\np := 1 if input.none\nelse := 2\ndeny contains p", CompileOptions{Cover: true}, "deny")
	coverage := &Coverage{}
	_, _, err := program.Run(t.Context(), []*Rule{program.Rule(refs("deny")[0])}, Options{Input: ast.MustParseTerm(`{"a": 1}`), Cover: coverage})
	require.NoError(t, err)
	lines := map[int]Outcome{}
	for place, outcome := range coverage.Outcomes() {
		have := lines[place.Line]
		lines[place.Line] = Outcome{have.Held || outcome.Held, have.Failed || outcome.Failed, have.Gave || outcome.Gave}
	}
	require.True(t, lines[3].Held)
	require.False(t, lines[3].Failed)
	require.True(t, lines[4].Failed)
	require.NotContains(t, lines, 5)
	require.False(t, lines[2].Gave)
	require.True(t, lines[7].Gave)
	require.False(t, lines[8].Gave)
	require.True(t, lines[9].Gave)
}

// TestGrowthIsSeenBeforePlanning: parts that OPA would plan repeatedly are estimated, and parts
// that OPA plans once are not.
func TestGrowthIsSeenBeforePlanning(t *testing.T) {
	chain := func(n int, with, more string) string {
		text := "package t\nr0 if input.x\n" + more
		for i := 1; i <= n; i++ {
			text += fmt.Sprintf("r%d if r%d %s\nr%d if r%d %s\n", i, i-1, fmt.Sprintf(with, "g"), i, i-1, fmt.Sprintf(with, "h"))
		}
		return text + fmt.Sprintf("deny contains 1 if r%d\n", n)
	}
	packages := func(n int) string {
		text := "package t\n"
		for i := range n {
			text += fmt.Sprintf("lib.m%d.v := %d\n", i, i)
		}
		return text + "deny contains 1 if { some a, b, c; data.t.lib[a].v + data.t.lib[b].v == data.t.lib[c].v }\n"
	}
	many := "package t\n"
	for i := range 500 {
		many += fmt.Sprintf("deny contains %d if { some c in input.containers; not c.name == \"%d\"; object.get(c, [\"a\"], 1) > 0 }\n", i, i)
	}
	functions := "f(x) := x\ng(x) := 1\nh(x) := 2\n"
	for name, c := range map[string]struct {
		text  string
		grows bool
	}{
		"mocks, 10":         {chain(10, "with f as %s", functions), true},
		"rules, 10":         {chain(10, "with data.t.k as input.%s", "k := 1\n"), true},
		"input, 40":         {chain(40, "with input.y as input.%s", ""), false},
		"data not of rules": {chain(4, "with data.other as input.%s", ""), false},
		"packages, 12":      {packages(12), true},
		"many rules":        {many, false},
		"a library by name": {"package t\nlib.a.v := 1\nlib.b.v := 2\ndeny contains 1 if { data.t.lib.a.v + data.t.lib.b.v == 3 }", false},
	} {
		t.Run(name, func(t *testing.T) {
			program, compiler := mustCompile(t, c.text, CompileOptions{}, "deny")
			growth := plan.Estimate(compiler, refs("deny")...)
			t.Logf("%d terms written, %d planned, %d statements", growth.Written, growth.Planned, program.Statements())
			require.GreaterOrEqual(t, 12*growth.Planned, int64(program.Statements()), "never too few")
			require.Equal(t, c.grows, growth.Planned > 4*growth.Written)
			require.Equal(t, c.grows, growth.Where != nil)
		})
	}
	_, compiler := mustCompile(t, chain(3, "with f as %s", functions), CompileOptions{}, "deny")
	require.Less(t, plan.Estimate(compiler, refs("deny")...).Planned, int64(1000))
	for _, text := range []string{chain(60, "with f as %s", functions), packages(400)} {
		module := ast.MustParseModuleWithOpts(text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
		compiler.Compile(map[string]*ast.Module{"t.rego": module})
		require.False(t, compiler.Failed(), compiler.Errors)
		require.Greater(t, plan.Estimate(compiler, refs("deny")...).Planned, int64(1_000_000))
	}
}

// TestValuesAreGathered: with the place of each, of every rule that gives one, and without
// a conflict of the rule that was asked for.
func TestValuesAreGathered(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"members":                   {"deny contains 1\ndeny contains x if some x in [1, 2]", "2:1=1 3:1=1 3:1=2"},
		"two values":                {"deny := x if x := input.a\ndeny := 2 if input.a", "2:1=1 3:1=2"},
		"one value, twice":          {"deny := 1 if input.a\ndeny := 1 if input.a == 1", "2:1=1 3:1=1"},
		"an else":                   {"deny := 1 if input.b\nelse := 3 if input.a", "3:1=3"},
		"a default":                 {"default deny := 5\ndeny := 1 if input.b", "2:9=5"},
		"a default that is not":     {"default deny := 5\ndeny := 1 if input.a", "3:1=1"},
		"of a rule asked before":    {"warn contains [x] if some x in deny\ndeny contains 1", "3:1=1"},
		"not of what it is made of": {"deny contains x if some x in warn\nwarn contains 7", "2:1=7"},
	} {
		t.Run(name, func(t *testing.T) {
			program, _ := mustCompile(t, "package t\n"+c.text, CompileOptions{}, "warn", "deny")
			rules := []*Rule{program.Rule(refs("warn")[0]), program.Rule(refs("deny")[0])}
			for range 2 { // the machine is used again
				_, report, err := program.Run(t.Context(), rules, Options{Gather: true, Input: ast.MustParseTerm(`{"a": 1}`)})
				require.NoError(t, err)
				var got []string
				for _, one := range report.Given[1] {
					got = append(got, fmt.Sprintf("%d:%d=%v", one.At.Row, one.At.Col, one.Value))
				}
				require.Equal(t, c.want, strings.Join(got, " "))
			}
		})
	}
	program, _ := mustCompile(t, "package t\nother := 1 if input.a\nother := 2 if input.a\ndeny := other", CompileOptions{}, "deny")
	_, _, err := program.Run(t.Context(), []*Rule{program.Rule(refs("deny")[0])}, Options{Gather: true, Input: ast.MustParseTerm(`{"a": 1}`)})
	require.ErrorContains(t, err, "conflicting", "of another rule it is one all the same")
}
