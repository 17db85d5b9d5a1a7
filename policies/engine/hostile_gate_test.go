//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// repeated is a text for each of the numbers up to n, of which %[1]d is the number.
func repeated(n int, format string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

// TestHostileTexts: what OPA, or the planner, would take long to compile, or what makes too
// much of a text, is refused with a place and with what to write; what only looks so is not.
func TestHostileTexts(t *testing.T) {
	for name, c := range map[string]struct{ rego, want string }{
		"a number with a large exponent":    {"deny contains \"x\" if input.request.object.n == 1e30000", "policy.rego:2:1: rule deny names a number of more than 1000 digits"},
		"a number of many digits":           {"deny contains \"x\" if { some n in [" + strings.Repeat("7", 2000) + "]; n == 1 }", "policy.rego:2:1: rule deny names a number of more than 1000 digits"},
		"a large default":                   {"default n := 1e30000\ndeny contains \"x\" if n == 1", "policy.rego:2:"},
		"5,000 else branches":               {"p := 1 if input.a\n" + repeated(5000, "else := %[1]d if input.b == %[1]d\n") + "deny contains \"x\" if p == 1", "has more than 1000 else branches"},
		"2,000 every in one body":           {"deny contains \"x\" if {\n" + repeated(2000, "every x%[1]d in input.a { x%[1]d > 0 }\n") + "}", "policy.rego:2:1: rule deny has more than 1000 comprehensions and every; make some of them rules of their own"},
		"a comprehension within another 20": {"deny contains \"x\" if { count(" + strings.Repeat("[x | x := ", 20) + "1" + strings.Repeat("]", 20) + ") > 0 }", "each comprehension within another doubles them"},
		"10,000 rules of one set":           {repeated(10000, "deny contains \"%[1]d\" if input.request.object.n == %[1]d\n"), ""},
		"a path of 20,000 keys":             {"deny contains \"x\" if input" + strings.Repeat(".a", 20000) + " == 1", ""},
		"an object of 20,000 keys":          {"o := {" + repeated(20000, "\"k%[1]d\": %[1]d, ") + "}\ndeny contains \"x\" if o[input.name] == 1", ""},
		"a list of 20,000 elements":         {"o := [" + repeated(20000, "%[1]d, ") + "]\ndeny contains \"x\" if o[_] == input.name", ""},
		"1,000 functions in a chain":        {callChain(1000) + "deny contains \"x\" if g999(1) == 2", ""},
		"a body of 1,000 expressions":       {"deny contains \"x\" if {\n" + repeated(1000, "input.a%[1]d == %[1]d\n") + "}", ""},
		"200 loops in one body":             {"deny contains \"x\" if {\n" + repeated(200, "some x%[1]d in input.a\n") + "}", ""},
		"400 not in one body":               {"deny contains \"x\" if {\n" + repeated(400, "not input.a%[1]d\n") + "}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			peak := watchHeap()
			set, err := policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"policy.rego": "package p\n" + c.rego}})
			t.Logf("%s, %d MiB", time.Since(start).Round(time.Millisecond), peak()>>20)
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				require.IsType(t, definition.CompileErrorList{}, err)
				return
			}
			require.NoError(t, err)
			decision := snapshotOf(set).Validate(t.Context(), makeReview(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"n":7}`), Options{})
			for _, denial := range decision.Denials {
				require.Empty(t, denial.Limit, "%q", denial.Words)
			}
		})
	}
}

func callChain(n int) string {
	text := "g0(x) := x\n"
	for i := 1; i < n; i++ {
		text += fmt.Sprintf("g%d(x) := g%d(x)\n", i, i-1)
	}
	return text
}
