package restriction

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// The values that the random policies tell apart, by the member of the input.
var (
	spaceA  = []string{``, `"a": "x"`, `"a": "xy"`, `"a": null`, `"a": 5`, `"a": false`, `"a": ["x"]`, `"a": {"x": 1}`}
	spaceB  = []string{``, `"b": true`, `"b": 7`, `"b": "x"`, `"b": 0`}
	spaceXs = []string{``, `"xs": []`, `"xs": ["x"]`, `"xs": ["y", 7, "x"]`, `"xs": {"x": "x"}`, `"xs": 3`, `"xs": [[], {"v": 1}]`}
)

func inputSpace() []ast.Value {
	inputs := []ast.Value{nil}
	for _, a := range spaceA {
		for _, b := range spaceB {
			for _, xs := range spaceXs {
				var members []string
				for _, m := range []string{a, b, xs} {
					if m != "" {
						members = append(members, m)
					}
				}
				inputs = append(inputs, ast.MustParseTerm("{"+strings.Join(members, ", ")+"}").Value)
			}
		}
	}
	return inputs
}

// conditions are pieces of bodies.
var conditions = []string{
	`input.a == "x"`, `input.a != "x"`, `input.b`, `not input.b`, `input.b > 5`, `input.b <= 5`, `5 < input.b`, `not input.b >= 7`,
	`not input.a`, `startswith(input.a, "x")`, `not startswith(input.a, "x")`, `endswith(input.a, "y")`, `contains(input.a, "xy")`,
	`lower(input.a) == "x"`, `upper(input.a) != "XY"`, `input.a in {"x", "y"}`, `not input.a in {"x", "y"}`, `input.b in [7, true]`,
	`"x" in input.xs`, `not "x" in input.xs`, `some v in input.xs; v == "x"`, `some v in input.xs; v != "x"`,
	`some i, v in input.xs; i == 0; v == "x"`, `some i; input.xs[i] == "x"; i > 0`, `input.xs[_] == input.a`, `not input.xs[_] == input.a`,
	`every v in input.xs { v != "x" }`, `every v in input.xs { v == input.a }`, `every k, v in input.xs { k != v }`, `every v in input.xs { some w in input.xs; w == v }`,
	`count(input.xs) == 0`, `count(input.xs) > 1`, `count(input.xs) < 1`, `input.xs[0] == "x"`, `input.xs[0]`, `input.xs.x`, `input.xs[1].v`, `input.xs[input.a]`,
	`count([v | some v in input.xs; v != "x"]) == 0`, `count({v | some v in input.xs; v == input.b}) > 0`, `count({v | v := input.xs[_]}) == 2`,
	`h`, `not h`, `h2`, `not h2`, `f(input.a) == 1`, `f(input.a) > 1`, `not f(input.b) == 2`, `g(input.a)`, `not g(input.b)`, `g("x")`, `not g(7)`,
	`input.a == input.b`, `input.a != input.b`, `input.a < input.b`, `not input.a > input.b`,
	`is_string(input.a)`, `not is_string(input.a)`, `is_number(input.b)`, `is_null(input.a)`, `is_boolean(input.b)`, `is_array(input.xs)`, `not is_object(input.xs)`,
	`object.get(input, "a", "y") == "y"`, `object.get(input, "b", 1) == 1`, `ps[input.a]`, `not ps[input.a]`, `count(ps) == 0`, `count(ps) > 0`, `some p in ps; p == "x"`,
	`po.k == "x"`, `po[input.a]`, `po.x == "x"`, `po["x"]`, `po.y`, `po[_] == "x"`, `not po.k`, `not po[input.a] == "x"`, `some k, v in po; v == k`, `po[input.b] == 1`,
	`ps.x`, `not ps["y"]`, `ps[input.b]`, `h with input.b as true`, `not h with input.b as 7`, `regex.match("^x", input.a)`, `not regex.match("^x", input.a)`,
	`[p, q] := input.xs; p == q`, `[p] := input.xs; p == "x"`, `["x"] == input.xs`, `input.xs == []`, `n := input.a; n == "x"`, `n := input.b > 5; n == false`,
	`sprintf("%v", [input.a]) == "x"`, `input.b + 1 > 5`, `level == "low"`, `level != "low"`, `not level`, `level == input.a`,
	`input.a == null`, `input.a == false`, `input.b == true`, `true`, `input`, `input.xs[i] == input.xs[j]; i != j`, `concat("", [input.a, "y"]) == "xy"`,
	`x := {"k": input.a}; x.k == "x"`, `x := [input.a, input.b]; x[0] == "x"`, `some z in [input.a, 7]; z == input.b`, `input.b in {input.a, 7}`, `deny_y`, `count(deny_y) == 0`,
	`"x" > input.b`, `input.a >= "x"`, `false < input.b`, `input.b < true`, `input[k] == "x"; k == "a"`, `input[_] == 7`, `max([1, count(input.xs)]) == 1`, `abs(input.b) == 7`,
	`every v in ["x", 7] { po.k == v }`, `every v in ["x", "k"] { po[v] == "x" }`, `every v in input.xs { po[v] }`, `every k, v in po { k != v }`,
	`every v in ["x"] { f(v) == 1 }`, `every v in input.xs { not ps[v] }`, `every v in ["x", 7] { v != h }`, `every v in [1, 2] { not po.k == v }`,
}

// helpers are what the conditions refer to, in several versions.
var helpers = [][]string{
	{`h if { CONDITION }`, `h := true if { CONDITION } else := false if { CONDITION }`, `default h := false
h if { CONDITION }
h if { CONDITION }`, `h := input.a if { CONDITION }`, `h := true if { CONDITION }
h := false if { CONDITION }`},
	{`h2 if { not input.b; CONDITION }`, `h2 := input.xs[_]`, `h2 := input.b`, `h2 := v if { some v in {"x", 7}; v != input.a }`, `h2 := v if { some v in ps2 }
ps2 contains v if { some v in [input.a, input.b] }`, `h2 := input.b if { not h3 }
h3 := true if { CONDITION }
h3 := 7 if { CONDITION }`, `h2 := input.b if { not h3 }
h2 := 7 if { h4 }
h3 := 1 if { CONDITION }
h3 := 2 if { h4; CONDITION }
h4 if { not input.b }`},
	{`f(v) := 1 if v == "x"
f(v) := 2 if v == 7`, `f("x") := 1
f("xy") := 2`, `default f(_) := 2
f(v) := 1 if { v != 7 }`, `f(v) := 1 if { is_string(v) }
f(v) := 2 if { v == "x" }`, `f(v) := 1 if { v == input.a } else := 2 if { v == input.b } else := 3`},
	{`g(v) if { v == "x" }
g(v) if { v > 5 }`, `g(v) if { some w in input.xs; w == v }`, `g(v) := v`, `g(v) if { every w in input.xs { w != v } }`, `g(v) if { v == 7; CONDITION }`},
	{`ps contains v if { some v in input.xs; v != 7 }`, `ps contains v if { v := input.a; is_string(v) }
ps contains "x" if { CONDITION }`, `ps := {"x", "y"}`, `ps contains v if { some v in input.xs; kept(v) == 1 }
kept(v) := 1 if { v != 7 }
kept(v) := 2 if { v == "y" }`, `ps contains "x" if { kept == 1 }
ps contains "y"
kept := 1 if { CONDITION }
kept := 2 if { CONDITION }`},
	{`po := {"k": input.a, "x": true}`, `po := {"k": "x"} if { CONDITION }`, `po[k] := v if { some k, v in input.xs }`, `po := {k: v | some k, v in input.xs}`, `po.k := "x"
po.k := 7 if { CONDITION }
po.x := "x" if { CONDITION }`, `po[k] := 1 if { some k in input.xs }
po[k] := "x" if { some k in ["x", "y"]; CONDITION }`, `po[k] := i if { some i, k in input.xs }`, `po[input.a] := "x" if { CONDITION }
po[k] := v if { some k, v in input.xs }`, `po.y.x := 1 if { CONDITION }
po.y[k] := 2 if { some k in input.xs }
po.x := "x"`},
	{`level := "low" if { CONDITION } else := "x" if { CONDITION }`, `default level := "x"
level := "low" if { CONDITION }`, `level := input.b`},
	{`deny_y if { CONDITION }`, `deny_y contains m if { some m in input.xs; m == "x" }`},
}

// simple conditions do not refer to helpers, so that helpers do not refer to themselves.
func simple() []string {
	var out []string
	for _, c := range conditions {
		if !strings.ContainsAny(c, "") && !refersToHelper(c) {
			out = append(out, c)
		}
	}
	return out
}

func refersToHelper(condition string) bool {
	text := " " + strings.NewReplacer("[", " [", "(", " ( ", ".", " .").Replace(condition)
	for _, name := range []string{" h ", " h2", " f ", " g ", " ps ", " po ", " level", " deny_y"} {
		if strings.Contains(text+" ", name) {
			return true
		}
	}
	return false
}

type generator struct {
	*rand.Rand
	plain []string
}

func (g *generator) pick(from []string) string { return from[g.IntN(len(from))] }

func (g *generator) body() string {
	var parts []string
	for range 1 + g.IntN(3) {
		parts = append(parts, g.pick(conditions))
	}
	return strings.Join(parts, "\n\t")
}

func (g *generator) helperText() string {
	text := ""
	for _, versions := range helpers {
		version := g.pick(versions)
		for strings.Contains(version, "CONDITION") {
			version = strings.Replace(version, "CONDITION", g.pick(g.plain), 1)
		}
		text += version + "\n"
	}
	return text
}

// values of the decisions that are compared.
var comparedValues = map[string][]string{
	"allow":          {"true", "true", "true", "false", "input.b", "level"},
	"autonomy_level": {`"auto"`, `"notify"`, `"block"`, `"blocked"`, "level", "input.a", `"odd"`},
	"max_tokens":     {"1", "7", "10", "input.b", "count(input.xs)", "-1"},
	"retention_days": {"1", "7", "10", "input.b"},
	"allowed_models": {`["x"]`, `{"x", "y"}`, "ps", "input.xs", "{v | some v in input.xs; v != 7}", "[]", `[input.a, "x"]`},
}

func (g *generator) rules(decision string) []string {
	var rules []string
	if g.IntN(3) == 0 {
		value := comparedValues[decision][0]
		if decision == "allow" && g.IntN(3) > 0 {
			value = "false"
		}
		rules = append(rules, fmt.Sprintf("default %s := %s", decision, value))
	}
	for range 1 + g.IntN(3) {
		rule := fmt.Sprintf("%s := %s if {\n\t%s\n}", decision, g.pick(comparedValues[decision]), g.body())
		if g.IntN(4) == 0 {
			rule += fmt.Sprintf(" else := %s if {\n\t%s\n}", g.pick(comparedValues[decision]), g.body())
		}
		rules = append(rules, rule)
	}
	return rules
}

// parent is the text of a policy, in pieces from which children are derived.
func (g *generator) parent(decision string) (helpers string, rules []string) {
	return g.helperText(), g.rules(decision)
}

const policyHeader = "package openclaw.enterprise.models\nimport rego.v1\n"

func policyText(helpers string, rules []string) string {
	return policyHeader + helpers + strings.Join(rules, "\n")
}

// child often is its parent with something changed.
func (g *generator) child(decision, shared string, own []string) (child string) {
	switch g.IntN(4) {
	case 0:
		child = policyText(g.helperText(), g.rules(decision))
	case 1:
		child = policyText(shared, g.rules(decision))
	default:
		changed := append([]string{}, own...)
		for i, rule := range changed {
			if strings.HasPrefix(rule, "default") {
				continue
			}
			switch g.IntN(4) {
			case 0:
				changed[i] = strings.Replace(rule, "if {\n", "if {\n\t"+g.pick(conditions)+"\n", 1)
			case 1:
				if lines := strings.Split(rule, "\n"); len(lines) > 3 && g.IntN(2) == 0 {
					changed[i] = strings.Join(append(lines[:1:1], lines[2:]...), "\n")
				}
			}
		}
		helpers := shared
		if g.IntN(4) == 0 {
			helpers = g.helperText()
		}
		child = policyText(helpers, changed)
	}
	if g.IntN(4) == 0 {
		child += "\ndeny if {\n\t" + g.body() + "\n}\n"
	}
	return child
}

// parsed is a policy, nil if it does not compile.
func parsed(level sidecar.Level, name, text string) *sidecar.Policy {
	p, err := sidecar.Parse(sidecar.Source{Level: level, Name: name, Domain: anyDomain, Content: text})
	if err != nil {
		return nil
	}
	return p
}

// parents are one policy or two, of which either may be the narrower: nil where one does not
// compile.
func (g *generator) parents(decision string) (parents []*sidecar.Policy, helpers string, rules []string) {
	helpers, rules = g.parent(decision)
	parents = []*sidecar.Policy{parsed("enterprise", "parent", policyText(helpers, rules))}
	if g.IntN(4) == 0 {
		parents = append(parents, parsed([]sidecar.Level{"enterprise", "org", "team"}[g.IntN(3)], "other", policyText(g.parent(decision))))
	}
	if slices.Contains(parents, nil) {
		return nil, "", nil
	}
	return broadestFirst(parents), helpers, rules
}

// childrenOfOne is how many children are compared with one random parent, which is compiled
// and evaluated once.
const childrenOfOne = 4

// TestProvedHoldsOnEveryInput compares verdicts on random pairs with what both versions of
// OPA, and Lintel's evaluator, say on all inputs of a finite space, and on random inputs.
func TestProvedHoldsOnEveryInput(t *testing.T) {
	t.Parallel()
	run := newTrials(t, 60, 2000)
	g := &generator{Rand: rand.New(rand.NewPCG(run.seed, 1)), plain: simple()}
	space, pool := inputSpace(), newPool(run.seed, plainInput)
	check := newVerifier(t, space, pool.inputs)
	decisions := slices.Sorted(maps.Keys(comparedValues))
	for run.more() {
		decision := decisions[g.IntN(len(decisions))]
		if g.IntN(2) == 0 {
			decision = "allow"
		}
		parents, helpers, rules := g.parents(decision)
		if parents == nil {
			continue
		}
		check.comparedWith(parents)
		for range childrenOfOne {
			child := parsed("team", "child", g.child(decision, helpers, rules))
			if child == nil || !run.more() {
				continue
			}
			c := newComparison(decision, child, parents)
			if g.IntN(3) == 0 { // proofs hold within any bounds
				c.bounds = bounds{instances: g.IntN(12), witnesses: g.IntN(6)}
			}
			verdict := run.analyze(c)
			check.verdict(c, verdict, slices.Concat(space, pool.next(120)))
		}
	}
	run.report()
	require.Greater(t, run.counts[Proved], run.compared/10)
	require.Greater(t, run.counts[Counterexample], run.compared/10)
}

// plainInput is an input of the shape that the policies are about, more or less.
func plainInput(random *rand.Rand) ast.Value {
	scalar := func() any {
		return []any{"x", "xy", "y", "X", "XY", "", "xx", "low", "k", "a", 0, 1, 5, 6, 7, 8, -7, 7.5, 1e9, true, false, nil}[random.IntN(22)]
	}
	var value func(depth int) any
	value = func(depth int) any {
		switch kind := random.IntN(8); {
		case kind == 0 && depth > 0:
			list := []any{}
			for range random.IntN(4) {
				list = append(list, value(depth-1))
			}
			return list
		case kind == 1 && depth > 0:
			object := map[string]any{}
			for range random.IntN(4) {
				object[[]string{"x", "y", "k", "v", "xy", "0", ""}[random.IntN(7)]] = value(depth - 1)
			}
			return object
		}
		return scalar()
	}
	list := func() any {
		if random.IntN(5) == 0 {
			return value(2)
		}
		list := []any{}
		for range random.IntN(5) {
			list = append(list, value(1))
		}
		return list
	}
	if random.IntN(50) == 0 {
		return ast.MustInterfaceToValue(value(2))
	}
	input := map[string]any{}
	for name, value := range map[string]any{"a": value(1), "b": value(1), "xs": list(), "c": value(2)} {
		if random.IntN(6) > 0 {
			input[name] = value
		}
	}
	return ast.MustInterfaceToValue(input)
}
