package restriction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// TestDecisionsOfParts: a decision may be one rule, or what rules below its name make.
func TestDecisionsOfParts(t *testing.T) {
	p := parse(t, hierarchy.Team, "p", `package openclaw.enterprise.models
whole := 3
limits.most := 1
limits.least := input.least
keys[k] := 1 if some k in ["a", "b"]
keys.c := 2
nothing.here if input.least > 1
`)
	r := newReplay(t.Context())
	input := ast.MustParseTerm(`{"least": 0}`).Value
	for decision, want := range map[string]string{"whole": "3", "limits": `{"least": 0, "most": 1}`, "keys": `{"a": 1, "b": 1, "c": 2}`, "nothing": "{}"} {
		require.Equal(t, want, r.decide(p, decision, input).String(), decision)
	}
	require.Nil(t, r.decide(p, "nowhere", input))
}

// TestAPolicyThatCannotBePlanned: a policy whose planning does not terminate is not evaluated,
// and its verdict is unknown.
func TestAPolicyThatCannotBePlanned(t *testing.T) {
	parent := parse(t, hierarchy.Enterprise, "parent", "package openclaw.enterprise.models\nallow if { input.a; regex.match(input.b, input.c) }")
	text := strings.Builder{}
	text.WriteString("package openclaw.enterprise.models\nk := input.a\nr0 if k\n")
	for i := range 20 {
		fmt.Fprintf(&text, "r%d if { r%d with data.openclaw.enterprise.models.k as input.b; r%d with data.openclaw.enterprise.models.k as input.c }\n", i+1, i, i)
	}
	text.WriteString("allow if r20\n")
	verdict := Analyze(t.Context(), parse(t, hierarchy.Team, "child", text.String()), []*sidecar.Policy{parent})
	require.Equal(t, Unknown, verdict.Outcome, "%+v", verdict)
	require.Contains(t, verdict.Reason, "this reference is planned again", "%+v", verdict)
}
