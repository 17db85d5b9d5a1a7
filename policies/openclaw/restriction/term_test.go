package restriction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// repeated is n times a text, in which %[1]d is the number and %[2]d the one behind it.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i, i+1)
	}
	return b.String()
}

// TestTermsAreBounded: a value with many references to one part takes no more memory than its
// rules, but its formulas grow exponentially.
func TestTermsAreBounded(t *testing.T) {
	parent := policyOf(t, "enterprise", "parent", "allow if input.y")
	for name, rules := range map[string]string{
		"in a body":  "allow if {\nx0 := input.x\n" + repeated(40, "x%[2]d := sprintf(\"%%v%%v\", [x%[1]d, x%[1]d])\n") + "x40 != \"\"\n}",
		"references": "allow if {\nx0 := input.x\n" + repeated(40, "x%[2]d := input[x%[1]d][x%[1]d]\n") + "x40 == 4\n}",
		"rules":      "x0 := input.x\n" + repeated(40, "x%[2]d := concat(\"\", [x%[1]d, x%[1]d])\n") + "allow if x40 != \"\"",
		"a sum":      "allow if {\nx0 := input.x\n" + repeated(40, "x%[2]d := x%[1]d * x%[1]d\n") + "x40 == input.z\nnot input.y\n}",
	} {
		_, _, why := newComparison("allow", policyOf(t, "team", "child", rules), []*sidecar.Policy{parent}).solve(t.Context(), newReplay(t.Context()))
		require.Equal(t, "the policies are too large to compare", why, name)
	}
}
