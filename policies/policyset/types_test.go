//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package policyset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

// sixty are rules that each hold the one before twice. %[1]d is the number of a rule,
// %[2]d that of the one before.
func sixty(format string) []string {
	var lines []string
	for i := 1; i <= 60; i++ {
		lines = append(lines, fmt.Sprintf(format, i, i-1))
	}
	return lines
}

// manyReferences are rules that each may name any of many values of different types.
func manyReferences(n int) (rules []string) {
	for i := range n {
		rules = append(rules, fmt.Sprintf(`o.k%[1]d := {"a%[1]d": 1}`, i), fmt.Sprintf("r%[1]d := o[input.x%[1]d]", i))
	}
	return rules
}

func chained(n int, first string) []string {
	rules := []string{first}
	for i := range n {
		rules = append(rules, fmt.Sprintf("r%d := r%d", i+1, i))
	}
	return rules
}

// TestTypesAreBounded: OPA's type checker would compare, or print, types of 2^60 nodes.
// Without the bound each of these compiles for years.
func TestTypesAreBounded(t *testing.T) {
	objects := sixty(`l%[1]d := {"a": l%[2]d, "b": l%[2]d}`)
	reversed := slices.Clone(objects)
	slices.Reverse(reversed)
	const tooLarge = "takes more than 100000 values"
	for name, c := range map[string]struct {
		body, first string
		rules       []string
		error       string
	}{
		"compared with itself":   {"l60 == l60", "l0 := 1", objects, "p.rego:21:1: expanding rule l15 " + tooLarge},
		"compared with its part": {"l60 == l59", "l0 := 1", objects, "p.rego:21:1: expanding rule l15 " + tooLarge},
		"in any order":           {"l60 == l59", "l0 := 1", reversed, "p.rego:52:1: expanding rule l15 " + tooLarge},
		"iterated over":          {"l60[_][_] == 2", "l0 := input", objects, "expanding rule l15 " + tooLarge},
		"given to a function":    {`startswith(l60, "x")`, "l0 := 1", objects, "expanding rule l15 " + tooLarge},
		"from functions":         {`startswith(l60(1), "x")`, "l0(x) := x", sixty(`l%[1]d(x) := {"a": l%[2]d(x), "b": l%[2]d(x)}`), "expanding rule l15 " + tooLarge},
		"partial rules":          {"l60 == l59", "l0.x := 1", sixty("l%[1]d.x := [l%[2]d, l%[2]d]"), "expanding rule l15.x " + tooLarge},
		"by else":                {"l60 == l59", "l0 := 1", sixty(`l%[1]d := {"a": l%[2]d} if input.x else := {"b": l%[2]d}`), "p.rego:17:1: comparing what rule l11 may give takes more than 1000000 steps"},
		"in one rule":            {"l0 := 1\n" + strings.Join(objects, "\n") + "\nl60 == l59", "", nil, "p.rego:4:1: expanding rule deny " + tooLarge},
		"in a comprehension":     {"[1 | l0 := 1\n" + strings.Join(objects, "\n") + "\nl60 == l59]", "", nil, "p.rego:4:1: expanding rule deny " + tooLarge},
		"by a pattern":           {"l60[0] == 1", "l0 := [1]", sixty("l%[1]d := [x, y] if [x, y] := [l%[2]d, l%[2]d]"), "expanding rule l16 " + tooLarge},
		"by with":                {"l60 == l59", "l0 := 1", sixty("l%[1]d := [x, x] if x := l%[2]d with data.l0 as l%[2]d"), tooLarge},

		"many references":   {"true", "", manyReferences(300), "takes more than 20000000 steps"},
		"many dependencies": {"true", "", manyReferences(400), "may name more than 100000 rules together"},
		"a circle of rules": {"true", "", chained(400, "r0 := r400"), "is recursive: it depends on itself"},
		"a chain of rules":  {"true", "", chained(4000, "r0 := 1"), "depend on takes more than 5000000 steps"},

		"nested comprehensions": {"x", "", []string{"x := " + strings.Repeat("[1 | x := ", 25) + "1" + strings.Repeat("]", 25)}, "p.rego:7:1: checking rule x takes more than 5000 steps"},
		"nested by every":       {"x", "", []string{"x if " + strings.Repeat("every a in [1 | ", 25) + "true" + strings.Repeat("] { a }", 25)}, "checking rule x takes more than 5000 steps"},
		"nested calls":          {"true", "", []string{"x := 1" + strings.Repeat(" + 1", 6000)}, "rule x has more than 5000 calls within others"},
		"else branches":         {"true", "", []string{"x := 0 if input.a\n" + strings.Repeat("else := 1 if input.b\n", 4000)}, "rule x has more than 1000 else branches"},
		"references":            {"true", "", []string{"x := [" + strings.Repeat("input.a, ", 20_000) + "1]"}, "rule x has more than 10000 references"},
		"nested heads":          {"x", "", []string{"x := " + strings.Repeat("[", 25) + "1" + strings.Repeat(" | true]", 25)}, "checking rule x takes more than 5000 steps"},
	} {
		t.Run(name, func(t *testing.T) {
			rego := "package p\nimport rego.v1\n\ndeny contains \"x\" if { " + strings.TrimSuffix(c.body, "\n") + "\n}\n" + c.first + "\n" + strings.Join(c.rules, "\n") + "\n"
			_, err := Compile(definition.Source{Name: "s", Files: map[string]string{"p.rego": rego}})
			require.ErrorContains(t, err, c.error)
			require.Len(t, err, 1, "only the rule at fault is named")
		})
	}
}

// TestOrdinaryTypesAreNotBounded: the values of many rules, and the references to them, have
// one type if their types are equal.
func TestOrdinaryTypesAreNotBounded(t *testing.T) {
	alternatives := sixty("l%[1]d := l%[2]d if input.a\nl%[1]d := l%[2]d if input.b\nl%[1]d := l%[2]d if input.c")
	parts := sixty(`l%[1]d := {"a": [l%[2]d.a[0]], "b": l%[2]d.b, "c": l%[2]d.b}`)
	for name, rules := range map[string][]string{
		"alternatives of one type": append([]string{`l0 := {"a": [1], "b": "x"}`}, alternatives...),
		"parts":                    append([]string{`l0 := {"a": [1], "b": "x"}`}, parts...),
		"parts of alternatives":    append([]string{`l0 := {"a": [1], "b": "x"} if input.a`, `l0 := {"a": [true], "b": [2]} if input.b`}, parts...),
		"a large table":            {"l60 := [" + strings.Repeat(`{"name": "x", "ports": [1, 2]}, `, 5000) + "1]"},
		"every within every":       {"l60 if " + strings.Repeat("every a in input.x { a; ", 20) + "true" + strings.Repeat("}", 20)},
		"comprehensions":           {"l60 := " + strings.Repeat("[1 | x := ", 10) + "1" + strings.Repeat("]", 10), "m if " + strings.Repeat("every a in [1 | ", 5) + "true" + strings.Repeat("] { a }", 5), "n := " + strings.Repeat("[", 10) + "1" + strings.Repeat(" | true]", 10)},
		"a chain of rules":         append(chained(1000, "r0 := 1"), "l60 := r1000"),
		"members":                  append([]string{"l0 contains input.x"}, sixty("l%[1]d contains x if some x in l%[2]d\nl%[1]d contains x if { some x; l%[2]d[x] }")...),
	} {
		t.Run(name, func(t *testing.T) {
			rego := "package p\nimport rego.v1\ndeny contains \"x\" if l60\n" + strings.Join(rules, "\n")
			_, err := Compile(definition.Source{Name: "s", Files: map[string]string{"p.rego": rego}})
			require.NoError(t, err)
		})
	}
}
