package restriction

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/sidecar"
	"github.com/lintel-policy/lintel/test/properties"
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
h3 := 7 if { CONDITION }`},
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

// pair is a parent and a child. The child often is the parent with something changed.
func (g *generator) pair(decision string) (parent, child string) {
	header := "package openclaw.enterprise.models\nimport rego.v1\n"
	shared, own := g.helperText(), g.rules(decision)
	parent = header + shared + strings.Join(own, "\n")
	switch g.IntN(4) {
	case 0:
		child = header + g.helperText() + strings.Join(g.rules(decision), "\n")
	case 1:
		child = header + shared + strings.Join(g.rules(decision), "\n")
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
		helper := shared
		if g.IntN(4) == 0 {
			helper = g.helperText()
		}
		child = header + helper + strings.Join(changed, "\n")
	}
	if g.IntN(4) == 0 {
		child += "\ndeny if {\n\t" + g.body() + "\n}\n"
	}
	return parent, child
}

// TestProvedHoldsOnEveryInput compares verdicts on random pairs with what OPA says on
// all inputs of a finite space. LINTEL_PAIRS and LINTEL_SEED ask for more.
func TestProvedHoldsOnEveryInput(t *testing.T) {
	t.Parallel()
	pairs, seed := fromEnvironment("LINTEL_PAIRS", properties.Count(60, 2000)), properties.Seed(1)
	t.Logf("seed %d, %d pairs", seed, pairs)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), plain: simple()}
	inputs := inputSpace()
	decisions := slices.Sorted(maps.Keys(comparedValues))
	counts := map[string]int{}
	took := map[string]time.Duration{}
	compiled := 0
	for i := 0; compiled < pairs; i++ {
		decision := decisions[g.IntN(len(decisions))]
		if g.IntN(2) == 0 {
			decision = "allow"
		}
		parentText, childText := g.pair(decision)
		parent, err := sidecar.Parse(sidecar.Source{Level: "enterprise", Name: "parent", Domain: anyDomain, Content: parentText})
		if err != nil {
			continue
		}
		child, err := sidecar.Parse(sidecar.Source{Level: "team", Name: "child", Domain: anyDomain, Content: childText})
		if err != nil {
			continue
		}
		parents := []*sidecar.Policy{parent}
		if g.IntN(4) == 0 { // two parents, of which either may be the narrower
			otherText, _ := g.pair(decision)
			other, err := sidecar.Parse(sidecar.Source{Level: []sidecar.Level{"enterprise", "org", "team"}[g.IntN(3)], Name: "other", Domain: anyDomain, Content: otherText})
			if err != nil {
				continue
			}
			parents, parentText = append(parents, other), parentText+"\n# other parent\n"+otherText
		}
		compiled++
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		c := newComparison(decision, child, broadestFirst(parents))
		replays := []*replay{newReplay(t.Context()), replayOfOPA(t.Context())}
		if strings.Contains(parentText+childText, "in {input.a, 7}") {
			replays = replays[:1] // whether OPA finds a member of such a set depends on its release
		}
		start := time.Now()
		verdict := analyzeOne(ctx, c)
		took[string(verdict.Outcome)] += time.Since(start)
		counts[string(verdict.Outcome)]++
		texts := fmt.Sprintf("pair %d of seed %d, verdict %v\n# parent\n%s\n# child\n%s", i, seed, verdict, parentText, childText)
		switch verdict.Outcome {
		case Counterexample:
			for _, replay := range replays {
				found := c.judge(replay, inputOf(t, verdict))
				require.True(t, found != nil || replay.unsure, texts) // on a busy machine, OPA may take longer than its patience
			}
		case Proved:
			for _, input := range inputs {
				for _, replay := range replays {
					if found := c.judge(replay, input); found != nil {
						require.Failf(t, "a false proof", "input %v: parent %v, child %v\n%s", input, found.parent, found.child, texts)
					}
				}
			}
		case Unknown:
			require.NotEmpty(t, verdict.Reason)
			require.NotContains(t, verdict.Reason, "went wrong", texts)
			if os.Getenv("LINTEL_SHOW") != "" {
				for _, input := range inputs {
					if found := c.judge(replays[0], input); found != nil {
						counts["missed"]++
						if os.Getenv("LINTEL_SHOW") == "missed" {
							t.Logf("input %v: parent %v, child %v\n%s", input, found.parent, found.child, texts)
						}
						break
					}
				}
				reason := verdict.Reason
				if _, after, found := strings.Cut(reason, ": "); found {
					reason = after
				}
				counts["unknown: "+reason]++
				if os.Getenv("LINTEL_SHOW") == "all" {
					t.Log(texts)
				}
			}
		}
		cancel()
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Log(name, counts[name], took[name])
	}
	require.Greater(t, counts[string(Proved)], pairs/10)
	require.Greater(t, counts[string(Counterexample)], pairs/10)
}

func fromEnvironment(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func inputOf(t *testing.T, verdict Verdict) ast.Value {
	if verdict.InputUndefined {
		return nil
	}
	value, err := ast.InterfaceToValue(verdict.Input)
	require.NoError(t, err)
	return value
}
