package restriction

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/sidecar"
)

// TestWhoIsTheFirstToAnswer is told so: nobody broader is exceeded, and what gateways do
// without an answer is not known.
func TestWhoIsTheFirstToAnswer(t *testing.T) {
	for name, c := range map[string]struct{ parent, child, warning string }{
		"a ceiling":                        {"allow if input.a", "max_tokens := 5", "max_tokens of child stands where no broader scope says any: it exceeds nothing, and gateways go by it; if they permit less without one, have the enterprise scope say a default"},
		"a floor":                          {"allow if input.a", "retention_days := 5", "retention_days of child stands"},
		"a list":                           {"allow if input.a", `allowed_models := ["m"]`, "allowed_models of child stands"},
		"a word":                           {"allow if input.a", `autonomy_level := "auto"`, "autonomy_level of child stands"},
		"on some inputs":                   {"max_tokens := 5 if input.a", "max_tokens := 5", `say a default, such as on input {}`},
		"on inputs of its own":             {`allowed_models := {"m"} if input.a == "x"`, `allowed_models := {"n"} if input.a == "y"`, `such as on input {"a":"y"}`},
		"where a broader one fails":        {"max_tokens := 5 if input.a\nmax_tokens := 6 if input.b", "max_tokens := 5 if { input.a; input.b }", `such as on input {"a":`},
		"a default":                        {"default max_tokens := 5", "max_tokens := 5 if input.a", ""},
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
