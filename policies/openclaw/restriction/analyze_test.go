package restriction

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

var anyDomain = sidecar.Domain{Name: "models", Packages: []string{"openclaw.enterprise.models"}}

func parse(t testing.TB, level sidecar.Level, name, content string) *sidecar.Policy {
	p, err := sidecar.Parse(sidecar.Source{Level: level, Name: name, Domain: anyDomain, Content: content})
	require.NoError(t, err, content)
	return p
}

// policyOf is a policy of Rego v1 with the header left out.
func policyOf(t testing.TB, level sidecar.Level, name, rules string) *sidecar.Policy {
	return parse(t, level, name, "package openclaw.enterprise.models\nimport rego.v1\n"+rules)
}

func TestAnalyze(t *testing.T) {
	type layer struct {
		level sidecar.Level
		rules string
	}
	for name, test := range map[string]struct {
		parents []layer
		level   sidecar.Level // of the child; team if empty
		child   string
		outcome Outcome
		input   string // JSON
		reason  string
	}{
		"no parent": {nil, "", "default allow := true\nmax_tokens := -1", Proved, "", ""},
		"a denial without a grant above": {
			[]layer{{"enterprise", "deny if input.x"}}, "", "deny_y if input.y\nrequire_z := true\nlog_all := false\nblocked_users := 3", Proved, "", "",
		},
		"a grant that the broadest scope lacks": {
			[]layer{{"enterprise", "deny if input.x"}, {"org", "allow := true"}}, "", "allow if input.a", Counterexample, "",
			"the enterprise scope has no rule allow, so narrower scopes cannot grant it",
		},
		"a grant that nobody is ever given": {
			[]layer{{"enterprise", "deny if input.x"}}, "", "allow := false", Proved, "", "",
		},
		"a grant of a second policy of the broadest scope": {
			[]layer{{"enterprise", "deny if input.x"}}, "enterprise", "allow if input.a", Proved, "", "",
		},
		"the strictest of two parents": {
			[]layer{{"enterprise", "allow if input.a"}, {"org", "allow if {\n\tinput.a\n\tinput.b\n}"}}, "", "allow if input.a", Counterexample, `{"a": "x"}`, "child grants allow where parent1 does not",
		},
		"a parent whose own denial fires": {
			[]layer{{"enterprise", "allow if input.a\ndeny if input.b"}}, "", "allow if input.a", Proved, "", "",
		},
		"a parent whose rules contradict each other": {
			[]layer{{"enterprise", "allow := true if input.a\nallow := false if not input.b"}}, "", "allow if input.a", Counterexample, "", "child grants allow where parent0 does not",
		},
		"a parent whose helper contradicts itself": {
			[]layer{{"enterprise", "allow if not h\nh := 1 if input.a\nh := 2 if input.b"}}, "", "allow if {\n\tinput.a\n\tinput.b\n}", Counterexample, "", "",
		},
		"the first of joined arrays": {
			[]layer{{"enterprise", "allow if input.l[0] == \"x\"\nallow if count(input.l) == 0"}}, "", "allow if array.concat(input.l, [\"x\"])[0] == \"x\"", Proved, "", "",
		},
		"an element behind those that are written": {
			[]layer{{"enterprise", "allow if input.l[1] == \"x\""}}, "", "allow if array.concat([1, 2], input.l)[3] == \"x\"", Proved, "", "",
		},
		"another of joined arrays": {
			[]layer{{"enterprise", "allow if input.l[1] == \"x\""}}, "", "allow if array.concat(input.l, [\"x\"])[1] == \"x\"", Counterexample, "", "",
		},
		"a grant that is not exactly true": {
			[]layer{{"enterprise", `allow := "yes" if input.a`}}, "", "allow if input.a", Counterexample, "", "",
		},
		"a value that is not a grant": {
			[]layer{{"enterprise", "allow if input.a"}}, "", `allow := "yes"`, Proved, "", "",
		},
		"the denial of one grant": {
			[]layer{{"enterprise", "allow_export if not input.a"}}, "", "allow_export := true\ndeny_export contains \"no\" if input.a", Proved, "", "",
		},
		"the denial of another grant": {
			[]layer{{"enterprise", "allow_export if not input.a"}}, "", "allow_export := true\ndeny_import contains \"no\" if input.a", Counterexample, "", "",
		},
		"an empty denial": {
			[]layer{{"enterprise", "allow if not input.a"}}, "", "allow := true\ndeny := [] if input.a", Counterexample, "", "",
		},
		"a conflict in a negation, which OPA 1.4.2 does not meet": {
			[]layer{{"enterprise", "po.x := 1 if input.x\ndefault allow := true\nallow := false if not po.k"}}, "",
			"po.k := 1 if not input.x\npo.k := 2 if not input.x\ndefault allow := true\nallow := false if not po.k", Unknown, "", "",
		},
		"a conflict behind a negation of a comparison": {
			[]layer{{"enterprise", "po.x := 1 if input.x\ndefault allow := true\nallow := false if not po.k == 1"}}, "",
			"po.k := 1 if not input.x\npo.k := 2 if not input.x\ndefault allow := true\nallow := false if not po.k == 1", Unknown, "", "",
		},
		"more elements than are spoken of": {
			[]layer{{"enterprise", `po[k] := v if { some k, v in input.xs }
max_tokens := count(input.xs) if { input.a == "x"; some i, v in input.xs; i == 0; v == "x" }
max_tokens := 7 if { "x" in input.xs; not po.k }`}}, "", `h if { every v in input.xs { some w in input.xs; w == v } }
max_tokens := 10 if { some i, v in input.xs; i == 0; v == "x"; h }
max_tokens := 1 if { input.a == "x" }`, Counterexample, `{"xs": ["x"]}`, "",
		},
		"an unheard-of word": {
			[]layer{{"enterprise", `autonomy_level := "notify"`}}, "", `autonomy_level := "ask"`, Counterexample, "{}",
			`autonomy_level of child is "ask", which is not one of auto, autonomous, notify, approve, block, blocked: it is refused at admission`,
		},
		"equal words": {
			[]layer{{"enterprise", `autonomy_level := "autonomous"`}}, "", `autonomy_level := "auto"`, Proved, "", "",
		},
		"a word where the broadest scope says none": {
			[]layer{{"enterprise", `autonomy_level := "block" if input.a`}, {"org", `autonomy_level := "block"`}}, "", `autonomy_level := "auto" if not input.a`, Proved, "", "",
		},
		"a clearance": {
			[]layer{{"enterprise", `max_classification := "internal"`}}, "", `max_classification := "restricted" if input.a`, Counterexample, "", "",
		},
		"a limit that is not a number": {
			[]layer{{"enterprise", "max_tokens := 5"}}, "", `max_tokens := null if input.a`, Counterexample, "", "max_tokens of child is null, which is not a number from 0: it is refused at admission",
		},
		"a limit from the input": {
			[]layer{{"enterprise", "rate_limit := 5"}}, "", `rate_limit := input.rate`, Counterexample, "", "",
		},
		"a limit where there is none above": {
			[]layer{{"enterprise", "allow := true"}}, "", `rate_limit := 5`, Proved, "", "",
		},
		"a limit that depends on the same input": {
			[]layer{{"enterprise", "max_tokens := input.tokens if is_number(input.tokens)"}}, "", "max_tokens := 0", Proved, "", "",
		},
		"a set that is no list": {
			[]layer{{"enterprise", `allowed_models := ["m"]`}}, "", `allowed_models := {"m": true}`, Counterexample, "{}", "",
		},
		"a set made from the parent's members": {
			[]layer{{"enterprise", `allowed_models := ["m", "n"]`}}, "", `allowed_models := {m | some m in input.models; m in ["m"]}`, Proved, "", "",
		},
		"documents of data": {
			[]layer{{"enterprise", "allow if input.user in data.users"}}, "", "allow if input.user == data.owner", Unknown, "", "child:3: the analysis does not support a document of data",
		},
		"documents of data, copied": {
			[]layer{{"enterprise", "allow if input.user == data.owner"}}, "", "allow if {\n\tinput.user == data.owner\n\tinput.a\n}", Proved, "", "",
		},
		"every of what is no list": {
			[]layer{{"enterprise", "allow if {\n\tevery x in input.xs { x.safe }\n}"}}, "", "allow if input.xs == 3", Counterexample, `{"xs": 3}`, "",
		},
		"numbers that are equal and have different texts": {
			[]layer{{"enterprise", `allow if sprintf("%d", [input.a]) == "1"`}}, "", "allow if input.a == 1", Unknown, "", "",
		},
		"a path with an else": {
			[]layer{{"enterprise", "allow := false"}}, "", "r.k := 1 if input.a else := 2\nallow if r.k == 2", Counterexample, "", "",
		},
		"a path with a default": {
			[]layer{{"enterprise", "allow := false"}}, "", "default r.k := 2\nr.k := 1 if input.a\nallow := true\ndeny if r.k == 2", Counterexample, "", "",
		},
		"a path with a function": {
			[]layer{{"enterprise", "allow := false"}}, "", "r.k := 1\nr.f(_) := 5\nallow := true\ndeny if r[_] == 5", Counterexample, "", "",
		},
		"a path with a list": {
			[]layer{{"enterprise", "allow := false"}}, "", "r.k := 1\nr.l contains 5\nallow if r.l == {5}", Counterexample, "", "",
		},
		"a function without limits": {
			[]layer{{"enterprise", "allow if input.a"}}, "", `allow if count(graph.reachable_paths({"a": ["b"]}, ["a"])) > 5`, Unknown, "",
			"child: the policy calls a function whose time or memory is not limited",
		},
		"further conditions that are not understood": {
			[]layer{{"enterprise", "allow if input.b == input.a"}}, "", "allow if {\n\tinput.b == input.a\n\tinput.b in {input.a, 7}\n}", Proved, "", "",
		},
		"the time": {
			[]layer{{"enterprise", "allow if time.now_ns() > 5"}}, "", "allow if time.now_ns() > 5", Unknown, "", "child: the policy calls a nondeterministic function",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var parents []*sidecar.Policy
			for i, layer := range test.parents {
				parents = append(parents, policyOf(t, layer.level, fmt.Sprintf("parent%d", i), layer.rules))
			}
			level := test.level
			if level == "" {
				level = "team"
			}
			child := policyOf(t, level, "child", test.child)
			verdict := Analyze(t.Context(), child, parents)
			assert.Equal(t, test.outcome, verdict.Outcome, "%+v", verdict)
			assert.Positive(t, verdict.Elapsed)
			if test.input != "" {
				assert.JSONEq(t, test.input, compact(verdict.Input))
			}
			if test.reason != "" {
				assert.Equal(t, test.reason, verdict.Reason)
			}
			assert.NotEmpty(t, verdict.Explain(child))
		})
	}
}

func TestOrderOfParentsDoesNotMatter(t *testing.T) {
	root := policyOf(t, "enterprise", "root", "deny if input.x")
	middle := policyOf(t, "org", "middle", "allow := true")
	child := policyOf(t, "team", "child", "allow := true")
	for _, parents := range [][]*sidecar.Policy{{root, middle}, {middle, root}} {
		assert.Equal(t, Counterexample, Analyze(t.Context(), child, parents).Outcome)
	}
}

func TestWarnings(t *testing.T) {
	root := policyOf(t, "enterprise", "root", "reason := 1\nallow := true")
	child := policyOf(t, "team", "child", "reason := 2\nnote := 3\nallow := true")
	assert.Equal(t, []string{"reason of child has no effect: root of the enterprise scope defines it, and values of this name have no known order"},
		Warnings(t.Context(), child, []*sidecar.Policy{root}))
	assert.Empty(t, Warnings(t.Context(), root, []*sidecar.Policy{root}))
}

// TestAnalysisEnds runs expensive analyses.
func TestAnalysisEnds(t *testing.T) {
	var pigeons []string // more pigeons than holes: hard for every solver that resolves
	const holes = 9
	for p := range holes + 1 {
		var some []string
		for h := range holes {
			some = append(some, fmt.Sprintf("p%d if input.p%d_%d == true", p, p, h))
			for other := range p {
				pigeons = append(pigeons, fmt.Sprintf("twice if {\n\tinput.p%d_%d == true\n\tinput.p%d_%d == true\n}", p, h, other, h))
			}
		}
		pigeons = append(pigeons, some...)
	}
	all := "allow if {\n\tnot twice"
	for p := range holes + 1 {
		all += fmt.Sprintf("\n\tp%d", p)
	}
	nested := "allow if {"
	for i := range 12 {
		nested += fmt.Sprintf("\n\tsome x%d in input.xs\n\tx%d.a == %d", i, i, i)
	}
	doubling := "allow if {\n\tx0 := sprintf(\"%v%v\", [input.x, input.x])"
	for i := range 60 {
		doubling += fmt.Sprintf("\n\tx%d := sprintf(\"%%v%%v\", [x%d, x%d])", i+1, i, i)
	}
	var members []string
	for i := range 2000 {
		members = append(members, fmt.Sprintf(`"m%d"`, i))
	}
	for name, rules := range map[string]string{
		"pigeons":         strings.Join(pigeons, "\n") + "\n" + all + "\n}",
		"numbers":         "allow if count(numbers.range(1, 1000000000)) > input.x",
		"a large number":  "allow if count(sprintf(\"%d\", [bits.lsh(1, 300000000)])) > input.x",
		"doubling":        doubling + "\n\tx60 != \"\"\n}",
		"nested":          nested + "\n}",
		"nested loops":    "allow if {\n\txs := numbers.range(1, 2000)\n\tsome a in xs; some b in xs; some c in xs\n\ta + b == c * 3.5\n\tinput.x == c\n}",
		"a long list":     "allow if input.x in {" + strings.Join(members, ", ") + "}",
		"many cases":      "f(x) := 1 if x == \"a\"\nf(x) := 2 if x == \"b\"\nf(x) := 3 if x == \"c\"\nallow if {\n" + strings.Repeat("\tf(input.a) + f(input.b) + f(input.c) + f(input.d) + f(input.e) + f(input.f) + f(input.g) + f(input.h) > 3\n", 3) + "}",
		"an odd function": "allow if json.match_schema(input.x, {\"type\": \"string\"})[0]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := policyOf(t, "team", "child", rules)
			parent := policyOf(t, "enterprise", "parent", "allow if input.y\n")
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			start := time.Now()
			verdict := Analyze(ctx, child, []*sidecar.Policy{parent})
			assert.Less(t, time.Since(start), time.Minute, "it has ended at its deadline")
			assert.NotEmpty(t, verdict.Outcome)
			if verdict.Outcome == Unknown {
				assert.NotEmpty(t, verdict.Reason)
			}
			t.Log(verdict.Outcome, verdict.Reason, verdict.Elapsed)
		})
	}
}

func TestAnalysisIsDoneBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	verdict := Analyze(ctx, policyOf(t, "team", "child", "allow if input.x"), []*sidecar.Policy{policyOf(t, "enterprise", "parent", "allow if input.y")})
	assert.Equal(t, Unknown, verdict.Outcome)
	assert.NotEmpty(t, verdict.Reason)
}

// TestTextsTellApart: untranslated constructs with equal texts are equal, so different
// constructs must have different texts.
func TestTextsTellApart(t *testing.T) {
	for _, pair := range [][2]string{
		{`allow if regex.match("a", input.x)`, `allow if regex.match("b", input.x)`},
		{`allow if json.is_valid(input.x)`, `allow if yaml.is_valid(input.x)`},
		{`allow if json.is_valid(input.x) with input.x as input.y`, `allow if json.is_valid(input.x) with input.x as input.z`},
		{"allow if h with input.y as 1\nh if input.x", "allow if h with input.y as 1\nh if input.y"},
		{"allow if h with input.y as 1\nh if g(input.x)\ng(x) if x > 1", "allow if h with input.y as 1\nh if g(input.x)\ng(x) if x > 2"},
		{"allow if {\n\tv := input.x\n\tjson.is_valid(v)\n}", "allow if {\n\tv := input.y\n\tjson.is_valid(v)\n}"},
		{"allow if count({v | some v in input.xs; v > 1}) == 2", "allow if count({v | some v in input.xs; v > 2}) == 2"},
		{"allow if count({v | some v in input.xs; json.is_valid(v)}) == 2", "allow if count({v | some v in input.xs; yaml.is_valid(v)}) == 2"},
		{"allow if count({v | some v in input.xs; v > 1}) == 2", "allow if count([v | some v in input.xs; v > 1]) == 2"},
		{`allow if count({v | v := input["a-"]["b-"][_]}) == 2`, `allow if count({v | v := input["a-\"][\"b-"][_]}) == 2`},
		{
			"allow if {\n\ttime = input.x\n\tinput.x\n\tinput.y\n\tnot {time, 7} == {7}\n}",
			"allow if {\n\ttime = input.y\n\tinput.x\n\tinput.y\n\tnot {time, 7} == {7}\n}",
		},
	} {
		parent, child := policyOf(t, "enterprise", "parent", pair[0]), policyOf(t, "team", "child", pair[1])
		assert.NotEqual(t, Proved, Analyze(t.Context(), child, []*sidecar.Policy{parent}).Outcome, pair)
		if strings.Contains(pair[0], " with ") {
			continue // with may fail, which a copy does not tell
		}
		copied := policyOf(t, "team", "child", "\n\nother := 1\n"+pair[0])
		assert.Equal(t, Proved, Analyze(t.Context(), copied, []*sidecar.Policy{parent}).Outcome, pair)
	}
}

func TestSmallerThanLeavesValuesAlone(t *testing.T) {
	value := ast.MustParseTerm(`{"a": [1, {"b": "c"}]}`).Value
	text := value.String()
	for _, smaller := range smallerThan(value) {
		assert.NotEqual(t, text, smaller.String())
	}
	assert.Equal(t, text, value.String())
}

// TestAnEvaluationHasABudget: what a policy makes takes memory before it takes time.
func TestAnEvaluationHasABudget(t *testing.T) {
	parent := parse(t, hierarchy.Enterprise, "parent", "package openclaw.enterprise.models\nallow if { input.a; input.b }")
	child := parse(t, hierarchy.Team, "child", `package openclaw.enterprise.models
many := [sprintf("%s%d", [input.a, i]) | some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); j > i]
allow if { input.a; count(many) > 4 }`)
	verdict := Analyze(t.Context(), child, []*sidecar.Policy{parent})
	require.Equal(t, Unknown, verdict.Outcome)
	require.Contains(t, verdict.Reason, "evaluating child: it took more than 1000000 steps")
}

// TestARuleThatCanOnlyBeTrue: its name may look like that of a list, and it is none.
func TestARuleThatCanOnlyBeTrue(t *testing.T) {
	const helper = "allowed_provider if input.a == \"x\"\nmax_reached if input.b\nallow if {\n\tallowed_provider\n\tnot max_reached\n}"
	parent := policyOf(t, "enterprise", "parent", "allow if input.a == \"x\"")
	assert.Equal(t, Proved, Analyze(t.Context(), policyOf(t, "team", "child", helper), []*sidecar.Policy{parent}).Outcome)
	copied := policyOf(t, "enterprise", "parent", helper)
	for child, warnings := range map[string]int{helper: 0, strings.ReplaceAll(helper, `"x"`, `"y"`): 1, "allowed_provider if input.c": 1} {
		child := policyOf(t, "team", "child", child)
		assert.Len(t, Warnings(t.Context(), child, []*sidecar.Policy{copied}), warnings)
	}
	assert.Equal(t, Proved, Analyze(t.Context(), policyOf(t, "team", "child", "allowed_provider if input.c"), []*sidecar.Policy{copied}).Outcome)
	// The broader scope has a list, and the value of the child is not a list.
	listed := policyOf(t, "enterprise", "parent", `allowed_provider := {"x"}`)
	assert.Equal(t, Counterexample, Analyze(t.Context(), policyOf(t, "team", "child", "allowed_provider if input.c"), []*sidecar.Policy{listed}).Outcome)
}

func TestACopiedHelperIsNoWarning(t *testing.T) {
	const helpers = "tier := \"gold\" if rank(input.a) > 1\nrank(\"x\") := 1\nrank(\"y\") := 2\n"
	parent := policyOf(t, "enterprise", "parent", helpers+"allow if tier == \"gold\"")
	copied := policyOf(t, "team", "child", helpers+"allow if {\n\ttier == \"gold\"\n\tinput.b\n}")
	assert.Empty(t, Warnings(t.Context(), copied, []*sidecar.Policy{parent}))
	other := policyOf(t, "team", "child", strings.ReplaceAll(helpers, ":= 2", ":= 3")+"allow if {\n\ttier == \"gold\"\n\tinput.b\n}")
	assert.Equal(t, []string{"tier of child counts in the rules of this policy only: parent of the enterprise scope defines it, and values of this name have no known order"},
		Warnings(t.Context(), other, []*sidecar.Policy{parent}))
}

// TestPeersThatDiffer: neither of two policies of one scope counts for more.
func TestPeersThatDiffer(t *testing.T) {
	small := policyOf(t, "team", "a", "preferred := \"small\" if input.a")
	large := policyOf(t, "team", "b", "preferred := \"large\" if input.b")
	elsewhere := policyOf(t, "team", "c", "preferred := \"large\" if not input.a")
	assert.Empty(t, FindConflicts(t.Context(), small, []*sidecar.Policy{elsewhere, policyOf(t, "team", "d", "preferred := \"small\" if input.a")}, nil))
	found := FindConflicts(t.Context(), small, []*sidecar.Policy{elsewhere, large}, nil)
	require.Len(t, found, 1)
	assert.Equal(t, Counterexample, found[0].Outcome)
	assert.False(t, found[0].Helper)
	assert.Contains(t, found[0].Explain(small), "two policies of the team scope contradict each other\n  input: {\"a\":")
	assert.Empty(t, FindConflicts(t.Context(), small, []*sidecar.Policy{large}, []*sidecar.Policy{policyOf(t, "enterprise", "root", "preferred := \"none\"")}))
	helper := func(name, value string) *sidecar.Policy {
		return policyOf(t, "team", name, "tier := \""+value+"\" if input.a\nallow if tier == \""+value+"\"")
	}
	found = FindConflicts(t.Context(), helper("a", "x"), []*sidecar.Policy{helper("b", "y")}, nil)
	require.Len(t, found, 1)
	assert.True(t, found[0].Helper)

	found = FindConflicts(t.Context(), policyOf(t, "team", "long", fmt.Sprintf("preferred := %q", strings.Repeat("é", 1<<20))), []*sidecar.Policy{small}, nil)
	require.Len(t, found, 1)
	assert.Less(t, len(found[0].Explain(small)), 2000, "a text of a megabyte is not for people")
}

// TestConflictsUnderOtherKeys: OPA evaluates a partial object only under the key that is
// read, so that a conflict under another one ends nothing.
func TestConflictsUnderOtherKeys(t *testing.T) {
	for name, c := range map[string]struct {
		helper, reads string
		want          Outcome
	}{
		"names":          {"h.x := 1\nh.x := 2\nh.y := 3", "h.y == 3", Counterexample},
		"conditions":     {"h.x := 1 if input.a\nh.x := 2 if input.a\nh.y := 3", "h.y == 3\n\tinput.a", Counterexample},
		"computed":       {"h[k] := 1 if some k in input.l\nh[k] := 2 if some k in input.l\nh[k] := 3 if some k in [\"y\"]", "h[\"y\"] == 3\n\tinput.l[0] == \"x\"", Counterexample},
		"one rule":       {"h[k] := i if some i, k in [\"x\", \"x\", \"y\"]", "h[\"y\"] == 2", Counterexample},
		"the same key":   {"h.x := 1\nh.x := 2", "h.x == 1", Proved},
		"a set":          {"h contains k if { some k in input.l; f(k) == 1 }\nf(k) := 1\nf(k) := 2 if k == \"x\"", "h.y\n\t\"x\" in input.l", Counterexample},
		"whole":          {"h[k] := i if some i, k in [\"x\", \"x\", \"y\"]", "count(h) > 0", Proved},
		"a computed key": {"h[k] := i if some i, k in [\"x\", \"x\", \"y\"]", "h[input.k] == 0\n\tinput.k == \"x\"", Proved},
		"not a conflict": {"h.x := 1\nh.y := 3", "h.y == 4", Proved},
	} {
		child := policyOf(t, "team", "child", c.helper+"\nallow if {\n\t"+c.reads+"\n}")
		parent := policyOf(t, "enterprise", "parent", "allow if input.never")
		verdict := Analyze(t.Context(), child, []*sidecar.Policy{parent})
		assert.Equal(t, c.want, verdict.Outcome, "%s: %+v", name, verdict)
		copied := policyOf(t, "team", "copy", c.helper+"\nallow if {\n\t"+c.reads+"\n\tinput.b\n}")
		verdict = Analyze(t.Context(), copied, []*sidecar.Policy{policyOf(t, "enterprise", "parent", c.helper+"\nallow if {\n\t"+c.reads+"\n}")})
		assert.Equal(t, Proved, Analyze(t.Context(), child, []*sidecar.Policy{policyOf(t, "enterprise", "same", c.helper+"\nallow if {\n\t"+c.reads+"\n}")}).Outcome, name)
		if name != "a set" { // a function with two values is taken to end the parent's evaluation
			assert.Equal(t, Proved, verdict.Outcome, "%s, a copy: %+v", name, verdict)
		}
	}
}

// TestCounterexamplesHoldInEveryOrder: the releases of OPA evaluate rules of one value, and the
// conditions of a body, in different orders. 1.4.2, the OPA of gateways, meets the conflict of
// h here, and 1.22 does not.
func TestCounterexamplesHoldInEveryOrder(t *testing.T) {
	t.Parallel()
	gateway := startGatewayOPA(t)
	for name, rules := range map[string]string{
		"rules":      "allow if input.b == 1\nallow if h\n",
		"conditions": "allow if {\n\tnot input.b >= 1\n\th\n} else if {\n\tinput.b == 1\n}",
		"negations":  "allow if {\n\tnot input.b >= 1\n\tinput\n\tnot h\n} else if {\n\tinput.b == 1\n}",
		"a function": "allow if {\n\tnot input.b >= 1\n\tnot f(input.b)\n} else if {\n\tinput.b == 1\n}",
		"every":      "allow if input.b == 1\nallow := false if {\n\tevery v in [1, 2] { not po.k == v }\n\tstartswith(input.b, \"x\")\n}",
		"a variable": "allow if input.b == 1\nallow := false if {\n\tv := input.b + 1\n\tnot po.k == v\n\tstartswith(input.b, \"x\")\n}",
	} {
		rules = "po.k := \"x\"\npo.k := 7 if { input.a != \"x\" }\nh := v if {\n\tsome v in {\"x\", 7}\n\tv != input.a\n}\nf(b) := v if {\n\tsome v in {b, 7}\n}\n" + rules
		child, parent := policyOf(t, "team", "child", rules), policyOf(t, "enterprise", "parent", `allow if input.a in {"x", 7}`)
		c := newComparison("allow", child, []*sidecar.Policy{parent})
		r, input := newReplay(t.Context()), ast.MustParseTerm(`{"a": {}, "b": 1}`).Value
		assert.NotNil(t, c.findViolation(r, input), name)
		assert.Nil(t, c.confirmViolation(r, input), name)
		if name == "rules" || name == "every" || name == "a variable" {
			_, err := gateway.replay(t.Context()).run(child, "allow", input, nil)
			assert.ErrorContains(t, err, "conflict", name)
		}
	}
}

// TestCounterexamplesNeedNoConflictOfAParent: OPA 1.4.2 does not meet the conflict of the
// parent's h.
func TestCounterexamplesNeedNoConflictOfAParent(t *testing.T) {
	t.Parallel()
	helper := "h := true if input.a\nh := false if not input.b\n"
	parent, child := policyOf(t, "enterprise", "parent", helper+"allow := false if { not h } else if input.c"), policyOf(t, "team", "child", "allow if input.c")
	c := newComparison("allow", child, []*sidecar.Policy{parent})
	r, input := newReplay(t.Context()), ast.MustParseTerm(`{"a": 1, "c": 1}`).Value
	require.NotNil(t, c.findViolation(r, input))
	require.Nil(t, c.confirmViolation(r, input))
	require.Nil(t, c.findViolation(startGatewayOPA(t).replay(t.Context()), input))
	own := policyOf(t, "enterprise", "parent", "allow := true if input.a\nallow := false if not input.b")
	require.NotNil(t, newComparison("allow", child, []*sidecar.Policy{own}).confirmViolation(r, input))
}
