package sidecar

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTokens: a text has as many tokens as OPA counts, and at least as many if it is not valid
// Rego.
func TestTokens(t *testing.T) {
	for text, tokens := range map[string]int{
		"":                                 0,
		" \t\r\n":                          0,
		"package a.b\n\nx := 1":            7,
		`x == "a b [" # [ "`:               4,
		"x := `raw \" \\` != 3":            5,
		`x := "a\"b\\" != 3`:               5,
		`x["a"][_] >= -1.5e-3+y`:           12,
		"{1, 22.5E+3}":                     5,
		"f(é_1)":                           4,
		"\"no end\nx \"neither":            3,
		"`no end\nx":                       1,
		"# no end":                         1,
		strings.Repeat("[", 50) + "](}{1}": 56,
	} {
		var e Effort
		require.NoError(t, e.AddText("p", text), text)
		assert.Equal(t, tokens, e.total-effortOfPolicy, text)
	}
}

// TestWhatIsTooMuchToRead names the place, and adds up over the policies of a bundle.
func TestWhatIsTooMuchToRead(t *testing.T) {
	numbers := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+",\n", i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, says string }{
		"words":                    {strings.Repeat("x\n", MaxEffort-effortOfPolicy) + "y\nz", "p:29901: up to here the bundle has more than 30000 words"},
		"comments":                 {strings.Repeat("#\n", MaxEffort), "p:29901: up to here the bundle"},
		"long number":              {"x :=\n 1" + strings.Repeat("0", maxNumber), "p:2: a number is longer than 40 characters; write it as a string"},
		"fractions":                {"{" + numbers(maxAlike/alikeFraction+1, "1.%d"), "p:201: up to here the bundle has more than 1000 members of sets that are lists"},
		"exponents":                {"{" + numbers(maxAlike/alikeLong+1, "%de3"), "p:51: up to here"},
		"long numbers":             {"{" + numbers(maxAlike/alikeLong+1, "1000000000000%03d"), "p:51: up to here"},
		"sets in a set":            {"{" + numbers(maxAlike+1, "{%d}"), "p:1001: up to here"},
		"lists as keys":            {"{" + numbers(maxAlike+1, "[%d]:1"), "p:1001: up to here"},
		"members":                  {"{" + numbers(maxMembers, "%d"), "p:2000: a set or object is written out with more than 2000 members"},
		"members of an inner set":  {"[{1, [" + numbers(maxMembers, "%d") + "]}, {" + numbers(maxMembers, "%d"), "p:4000: a set or object"},
		"names behind a raw quote": {"`\n\n`" + strings.Repeat("x\n", MaxEffort), "p:29902: up to here"},
	} {
		var e Effort
		require.ErrorContains(t, e.AddText("p", c.text), c.says, name)
	}
	for name, text := range map[string]string{
		"whole numbers":   "{" + numbers(maxMembers-1, "%d"),
		"long list":       "[" + numbers(maxMembers+1, "%d"),
		"lists in a list": "[" + numbers(maxAlike+1, "[%d]"),
		"values":          "{" + numbers(maxAlike+1, "%d: [1]"),
		"strings":         strings.Repeat(`"1.5", `, maxAlike),
		"a long string":   `"` + strings.Repeat("[", 1<<20) + `"`,
	} {
		var e Effort
		require.NoError(t, e.AddText("p", text), name)
	}

	var e Effort
	policies := 0
	for e.AddText("p", "x") == nil {
		policies++
	}
	require.Equal(t, MaxEffort/(effortOfPolicy+1), policies)
	e = Effort{}
	require.NoError(t, e.AddText("p", "{"+numbers(maxAlike, "[%d]")))
	require.ErrorContains(t, e.AddText("q", "\n{[1]}"), "q:2: up to here")
}

// sourceOf is a policy with the header left out.
func sourceOf(rules string) Source {
	return Source{Level: "team", Name: "b/p", Domain: anyDomain, Content: "package openclaw.enterprise.models\nimport rego.v1\n" + rules}
}

// repeated is n times a text, in which %[1]d is the number and %[2]d the one behind it.
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

// TestPoliciesAreBounded: OPA would need seconds to years, or gigabytes, for each of these. Each
// is rejected before that, for the count that is too large.
func TestPoliciesAreBounded(t *testing.T) {
	const deep, checks, ordering = "nests deeper than 60 brackets", "takes more than 1000 steps: each comprehension", "takes more than 6000000 steps, which grow with the cube"
	for name, c := range map[string]struct{ rules, says string }{
		"brackets":                  {"r := " + nested(900, "[", "1", "]"), "b/p:3:1: rego_compile_error: rule r " + deep},
		"the most brackets":         {"r := " + nested(14_000, "[", "1", "]"), deep},
		"200 rules of 900 brackets": {repeated(200, "r%[1]d := "+nested(900, "[", "1", "]")+"\n"), "up to here the bundle has more than 30000 words"},
		"objects":                   {"r := " + nested(100, "{1:", "1", "}"), deep},
		"sets":                      {"r := " + nested(100, "{", "1", "}"), deep},
		"calls":                     {"r := " + nested(100, "abs(", "1", ")"), deep},
		"operators":                 {"r := 1" + strings.Repeat("+1", 100), deep},
		"references":                {"r := " + nested(7_000, "input[", "1", "]"), deep},
		"every":                     {"r if {" + nested(20, "every x in [1] {x;", "1", "}") + "}", deep},
		"comprehensions":            {"r := " + nested(10, "[x|x:=", "1", "]"), checks},
		"many of comprehensions":    {strings.Repeat("r if "+nested(8, "[x|x:=", "1", "]")+"\n", 100), "checking the rules up to r takes more than 20000 steps"},
		"a long body":               {"r if {\n" + repeated(900, "x%[1]d = x%[2]d + 1\n") + "x900 = 1\n}", ordering},
		"bodies":                    {strings.Repeat("r if {\n"+repeated(90, "x%[1]d = x%[2]d\n")+"x90 = 1\n}\n", 50), ordering},
		"declarations":              {"r if {\nsome " + repeated(1500, "x%[1]d, ") + "y\ny = 1\n}", checks},
		"else":                      {"r := 0 if input.x\n" + repeated(101, "else := %[1]d if input.x == %[1]d\n"), "has more than 100 else branches"},
		"a list of calls":           {"r := [" + strings.Repeat("abs(1),", 1001) + "1]", "has more than 1000 calls"},
		"a list of references":      {"r := [" + strings.Repeat("input.a,", 2001) + "1]", "has more than 2000 references"},
		"a chain of rules":          {"f0(x) := x\n" + repeated(700, "f%[2]d(x) := f%[1]d(x)\n"), "depend on takes more than 200000 steps"},
		"a recursion":               {repeated(700, "f%[1]d(x) := f%[2]d(x)\n") + "f700(x) := f0(x)", "is recursive"},
		"rules by a variable":       {repeated(300, "o.k%[1]d := 1\nf(x) := o[x]\n"), "may name more than 20000 rules"},
		"types":                     {"l0 := 1\n" + repeated(60, `l%[2]d := {"a": l%[1]d, "b": l%[1]d}`+"\n"), "expanding rule l15 takes more than 100000 values"},
		"types of alternatives":     {"o := {" + repeated(300, `"k%[1]d": {"a%[1]d": 1},`) + "}\n" + strings.Repeat("f(x) := o[x]\n", 300), "comparing the types of references up to rule f, takes more than 10000000 steps"},
		"numbers in a set":          {"r := {" + repeated(6000, "1.%[1]d,") + "1}", "counting 5 for each number with a point"},
		"lists in a set":            {"r := {" + repeated(3000, "[%[1]d, -%[1]d],") + "1}", "members of sets that are lists"},
		"names":                     {repeated(1000, "r%[1]d := 1\n"), "b/p: up to here the bundle has more than 30000 words"},
	} {
		_, err := Parse(sourceOf(c.rules))
		require.ErrorContains(t, err, c.says, name)
	}
}

// TestPoliciesOfPeopleAreNotTooMuch: what a bundle has room for.
func TestPoliciesOfPeopleAreNotTooMuch(t *testing.T) {
	rules := repeated(400, `allow if {
	input.model.provider == "p%[1]d"
	input.user.team in {"a", "b%[1]d"}
	not input.data.secret
	startswith(input.model.name, "n%[1]d-")
	rank(input.data.classification) < %[1]d + 2
}

`) + "rank(\"public\") := 0\nrank(\"internal\") := 1\n"
	p, err := Parse(sourceOf(rules))
	require.NoError(t, err)
	require.Greater(t, p.Effort, MaxEffort/2, "%d bytes", len(rules))
	_, err = Parse(sourceOf("allowed := {" + repeated(1500, `"model-%[1]d", `) + "}"))
	require.NoError(t, err)
}

// TestManyErrorsAreCut: a text may have one at each word.
func TestManyErrorsAreCut(t *testing.T) {
	_, err := Parse(sourceOf(strings.Repeat("r if data.lintel.x\n", 1000)))
	require.Len(t, err, maxParseErrors+1)
	require.ErrorContains(t, err, "b/p: and 980 more errors")
}
