package restriction

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// comparedOnEmpty compares a child with a parent that allows nothing for an empty input.
func comparedOnEmpty(t *testing.T, check *verifier, rules string) (verdict Verdict, gateway, own outcome) {
	t.Helper()
	empty := ast.NewObject()
	parents := []*sidecar.Policy{parsed("enterprise", "parent", policyHeader+"allow if input.x")}
	child := parsed("team", "child", policyHeader+rules)
	require.NotNil(t, child, rules)
	check.comparedWith(parents)
	c := newComparison("allow", child, parents)
	verdict = analyzeOne(t.Context(), c)
	check.verdict(c, verdict, []ast.Value{empty})
	gateway.value, gateway.err = check.gateway.replay(t.Context()).run(child, "allow", empty, nil)
	own.value, own.err = check.own.run(child, "allow", empty, nil)
	return verdict, gateway, own
}

// TestConflictsInEvery: both versions of OPA detect two values of a key in an every expression.
func TestConflictsInEvery(t *testing.T) {
	t.Parallel()
	check := newVerifier(t)
	for name, helpers := range map[string]string{
		"fixed keys":     "po.k := 1 if not input.x\npo.k := 2 if not input.x\n",
		"variable keys":  "po[k] := 1 if { some k in [\"k\"]; not input.x }\npo[k] := 2 if { some k in [\"k\"]; not input.x }\n",
		"several values": "po[k] := v if { some v in [1, 2]; some k in [\"k\"]; not input.x }\n",
	} {
		for _, body := range []string{
			`every v in [1] { po.k == v }`, `every v in [2] { v == po.k }`, `every k, v in {"k": 1} { po[k] == v }`, `every v in ["k"] { po[v] }`,
			`every v in ["k", "k"] { po[v] == 1 }`, `every v in [0] { w := po.k; w > v }`, `every v in [1] { v; po.k }`, `every v in [1] { po[_] == v }`,
			`every v in ["k"] { every w in [1] { po[v] == w } }`, `every v in [1] { same(po.k, v) }`, `every k, v in po { k != v }`,
		} {
			t.Run(name+" "+body, func(t *testing.T) {
				verdict, gateway, own := comparedOnEmpty(t, check, helpers+"same(x, y) if x == y\nallow if {\n\t"+body+"\n}")
				require.ErrorContains(t, gateway.err, "conflict")
				require.ErrorContains(t, own.err, "conflict")
				require.NotEqual(t, Counterexample, verdict.Outcome)
			})
		}
	}
}

// TestEveryWithoutConflict is proved, so that conflicts are not the only reason for a verdict.
func TestEveryWithoutConflict(t *testing.T) {
	t.Parallel()
	check := newVerifier(t)
	for _, helpers := range []string{"po.k := 1 if input.x\npo.j := 2 if not input.x\n", "po[k] := 1 if { some k in [\"k\"]; input.x }\n"} {
		for _, body := range []string{`every v in [1] { po.k == v }`, `every v in ["k"] { po[v] }`, `every k, v in {"k": 1} { po[k] == v }`} {
			verdict, _, _ := comparedOnEmpty(t, check, helpers+"allow if {\n\tinput.x\n\t"+body+"\n}")
			require.Equal(t, Proved, verdict.Outcome, "%s%s: %s", helpers, body, verdict.Reason)
		}
	}
}

// TestNegationsWithinNegations: after the first result of a negated expression, the OPA of
// gateways finds no value of a rule with a negation, and caches that. The child then allows what
// its rules forbid, and there is no proof.
func TestNegationsWithinNegations(t *testing.T) {
	t.Parallel()
	check := newVerifier(t)
	const rest = "\nsecret if not input.x\ndefault allow := true\nallow := false if secret\n"
	for name, c := range map[string]struct {
		rules string
		wrong bool // the OPA of gateways allows an empty input, as the analysis assumes for all
	}{
		"a rule with two values":        {"t := 1 if not input.y\nt := 2 if { secret; input.z }\nallow := false if not t", true},
		"a function with two values":    {"t(_) := 1 if not input.y\nt(_) := 2 if { secret; input.z }\nallow := false if not t(1)", true},
		"behind another rule":           {"t := 1 if not input.y\nt := 2 if { u; input.z }\nu if secret\nallow := false if not t", true},
		"within a comprehension":        {"t := 1 if not input.y\nt := 2 if { count([1 | secret]) > 5 }\nallow := false if not t", true},
		"within an every":               {"t := 1 if not input.y\nt := 2 if { every v in [1] { secret; v > 5 } }\nallow := false if not t", true},
		"a rule that reads such a rule": {"s if t\nt := 1 if not input.y\nt := 2 if { secret; input.z }\nallow := false if not s", false},
		"the elements of a set":         {"t contains 1 if not input.y\nt contains 1 if { secret; input.z }\nallow := false if not t[1]", false},
	} {
		t.Run(name, func(t *testing.T) {
			verdict, gateway, own := comparedOnEmpty(t, check, c.rules+rest)
			require.Equal(t, Unknown, verdict.Outcome)
			require.Contains(t, verdict.Reason, "after the first result of this negation, OPA "+sidecar.Version+" evaluates other rules with negations wrongly")
			policy := parsed("enterprise", "policy", policyHeader+c.rules+rest)
			require.Equal(t, []string{strings.Replace(verdict.Reason, "child:", "policy:", 1)}, Warnings(t.Context(), policy, nil))
			require.NoError(t, gateway.err)
			require.NoError(t, own.err)
			require.Equal(t, ast.Boolean(c.wrong), gateway.value)
			require.Equal(t, ast.Boolean(false), own.value)
		})
	}
	for name, rules := range map[string]string{
		"one value":                 "t if not input.y\nt if { secret; input.z }\nallow := false if not t",
		"evaluated before":          "t := 1 if not input.y\nt := 2 if { input.z }\nallow := false if { not t; secret }",
		"a set that is complete":    "t contains 1 if not input.y\nt contains 2 if { secret; input.z }\nallow := false if not 1 in t",
		"a comprehension":           "t := 1 if not input.y\nt := 2 if { secret; input.z }\nallow := false if not count([1 | t]) > 0",
		"read by the negation only": "t := 1 if not input.y\nt := 2 if { hidden; input.z }\nhidden if not input.x\nallow := false if not t",
	} {
		t.Run("proved: "+name, func(t *testing.T) {
			verdict, gateway, _ := comparedOnEmpty(t, check, rules+rest)
			require.Equal(t, Proved, verdict.Outcome, verdict.Reason)
			require.Equal(t, ast.Boolean(false), gateway.value)
			require.Empty(t, Warnings(t.Context(), parsed("enterprise", "policy", policyHeader+rules+rest), nil))
		})
	}
}
