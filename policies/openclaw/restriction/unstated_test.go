package restriction

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// TestWhoIsTheFirstToAnswer: the author receives a warning. The policy exceeds no broader
// scope, but the behavior of gateways without a value is unknown.
func TestWhoIsTheFirstToAnswer(t *testing.T) {
	for name, c := range map[string]struct{ parent, child, warning string }{
		"a ceiling":                        {"allow if input.a", "max_tokens := 5", "child defines max_tokens, which no broader scope defines: the value exceeds nothing, and gateways apply it; if gateways permit less without a value, define a default in the enterprise scope"},
		"a floor":                          {"allow if input.a", "retention_days := 5", "child defines retention_days, which no broader scope defines: the value exceeds nothing"},
		"a list":                           {"allow if input.a", `allowed_models := ["m"]`, "child defines allowed_models, which no broader scope defines: the value exceeds nothing"},
		"a word":                           {"allow if input.a", `autonomy_level := "auto"`, "child defines autonomy_level, which no broader scope defines: the value exceeds nothing"},
		"on some inputs":                   {"max_tokens := 5 if input.a", "max_tokens := 5", `which no broader scope defines on inputs such as {}: the value`},
		"on inputs of its own":             {`allowed_models := {"m"} if input.a == "x"`, `allowed_models := {"n"} if input.a == "y"`, `on inputs such as {"a":"y"}: the value`},
		"where a broader one fails":        {"max_tokens := 5 if input.a\nmax_tokens := 6 if input.b", "max_tokens := 5 if { input.a; input.b }", `on inputs such as {"a":`},
		"a default":                        {"default max_tokens := 5", "max_tokens := 5 if input.a", ""},
		"a default whose rules disagree":   {"default max_tokens := 5\nmax_tokens := 4 if input.a\nmax_tokens := 3 if input.b", "max_tokens := 3", ""},
		"all inputs":                       {"max_tokens := 5 if input.a\nmax_tokens := 5 if not input.a", "max_tokens := 5", ""},
		"the same inputs":                  {"max_tokens := 5 if input.a", "max_tokens := 4 if { input.a; input.b }", ""},
		"a partial set":                    {"allowed_models contains \"m\" if input.a", `allowed_models := ["m"]`, ""},
		"a word where the broadest has it": {`autonomy_level := "block" if input.a`, `autonomy_level := "auto" if not input.a`, ""},
		"a grant":                          {"deny if input.a", "allow if input.b", ""},
		"a denial":                         {"allow if input.a", "deny if input.b\nrequire_mfa := true", ""},
		"another name":                     {"allow if input.a", "tier := 1", ""},
		"a rule that can only be true":     {"allow if input.a", "max_reached if input.b", ""},
		"what the analysis does not see":   {"max_tokens := 5 if time.now_ns() > 7", "max_tokens := 5 if time.now_ns() > 5", ""},
	} {
		t.Run(name, func(t *testing.T) {
			warnings := Warnings(t.Context(), policyOf(t, "team", "child", c.child), []*sidecar.Policy{policyOf(t, "enterprise", "parent", c.parent)})
			if c.warning == "" {
				require.Empty(t, warnings)
				return
			}
			require.Len(t, warnings, 1)
			require.Contains(t, warnings[0], c.warning)
		})
	}
	child := policyOf(t, "team", "child", "max_tokens := 5")
	require.Empty(t, Warnings(t.Context(), child, nil), "it is the broadest")
	between := []*sidecar.Policy{policyOf(t, "org", "b", "max_tokens := 6"), policyOf(t, "enterprise", "a", "allow if input.a")}
	require.Empty(t, Warnings(t.Context(), child, between), "a scope between says one")
}
