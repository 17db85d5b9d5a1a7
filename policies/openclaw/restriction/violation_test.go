package restriction

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// TestWhoPermitsMore evaluates single inputs, and compares the formula with the results: the
// formula is true for every input on which the child permits more.
func TestWhoPermitsMore(t *testing.T) {
	const enterprise, org = sidecar.Level("enterprise"), sidecar.Level("org")
	type rules map[sidecar.Level]string
	for name, c := range map[string]struct {
		decision string
		parents  rules
		child    string
		input    string
		by       string // the parent that permits less; "" where the child does not permit more
	}{
		"granted by all":                     {"allow", rules{enterprise: "allow if input.a", org: "allow if input.b"}, "allow := true", `{"a": 1, "b": 1}`, ""},
		"not granted by one":                 {"allow", rules{enterprise: "allow if input.a", org: "allow if input.b"}, "allow := true", `{"a": 1}`, "org"},
		"taken back by itself":               {"allow", rules{enterprise: "allow if input.a"}, "allow := true\ndeny if input.b", `{"b": 1}`, ""},
		"a denial of nothing":                {"allow", rules{enterprise: "allow if input.a"}, "allow := true\ndeny := set()", `{"b": 1}`, "enterprise"},
		"a denial that fails":                {"allow", rules{enterprise: "allow if input.a"}, "allow := true\ndeny := 1 if input.b\ndeny := 2 if input.c", `{"b": 1, "c": 1}`, ""},
		"granted as a text":                  {"allow", rules{enterprise: "allow if input.a"}, `allow := "true"`, `{}`, ""},
		"nobody broadest grants":             {"allow", rules{enterprise: "other := 1"}, "allow := true", `{}`, "enterprise"},
		"a stricter word":                    {"autonomy_level", rules{enterprise: `autonomy_level := "notify"`}, `autonomy_level := "block"`, `{}`, ""},
		"an equal word":                      {"autonomy_level", rules{enterprise: `autonomy_level := "block"`}, `autonomy_level := "blocked"`, `{}`, ""},
		"a looser word":                      {"autonomy_level", rules{enterprise: `autonomy_level := "approve"`}, `autonomy_level := "notify"`, `{}`, "enterprise"},
		"looser than the strictest":          {"autonomy_level", rules{enterprise: `autonomy_level := "notify"`, org: `autonomy_level := "block"`}, `autonomy_level := "approve"`, `{}`, "org"},
		"a word without one of the broadest": {"autonomy_level", rules{enterprise: `autonomy_level := "notify" if input.a`, org: `autonomy_level := "block"`}, `autonomy_level := "notify"`, `{}`, ""},
		"an odd word":                        {"autonomy_level", rules{enterprise: `autonomy_level := "notify"`}, `autonomy_level := "odd"`, `{}`, "invalid"},
		"an odd word of a parent":            {"autonomy_level", rules{enterprise: `autonomy_level := "odd"`}, `autonomy_level := "odd"`, `{}`, ""},
		"below a ceiling":                    {"max_tokens", rules{enterprise: "max_tokens := 5"}, "max_tokens := 4", `{}`, ""},
		"at a ceiling":                       {"max_tokens", rules{enterprise: "max_tokens := 5"}, "max_tokens := 5.0", `{}`, ""},
		"above a ceiling":                    {"max_tokens", rules{enterprise: "max_tokens := 5"}, "max_tokens := 5.5", `{}`, "enterprise"},
		"above the lowest ceiling":           {"max_tokens", rules{enterprise: "max_tokens := 5", org: "max_tokens := 3"}, "max_tokens := 4", `{}`, "org"},
		"a ceiling below nothing":            {"max_tokens", rules{enterprise: "max_tokens := 5"}, "max_tokens := -1", `{}`, "invalid"},
		"zero":                               {"max_tokens", rules{enterprise: "max_tokens := 5"}, "max_tokens := 0", `{}`, ""},
		"a ceiling of no number":             {"max_tokens", rules{enterprise: "max_tokens := 5"}, `max_tokens := "4"`, `{}`, "invalid"},
		"where the broadest says none":       {"max_tokens", rules{enterprise: "max_tokens := -1", org: "max_tokens := 3"}, "max_tokens := 4", `{}`, ""},
		"a parent that is silent":            {"max_tokens", rules{enterprise: "max_tokens := 5 if input.a"}, "max_tokens := 9", `{}`, ""},
		"above a floor":                      {"retention_days", rules{enterprise: "retention_days := 5"}, "retention_days := 6", `{}`, ""},
		"below a floor":                      {"retention_days", rules{enterprise: "retention_days := 5"}, "retention_days := 4", `{}`, "enterprise"},
		"below the highest floor":            {"retention_days", rules{enterprise: "retention_days := 5", org: "retention_days := 7"}, "retention_days := 6", `{}`, "org"},
		"a subset":                           {"allowed_models", rules{enterprise: `allowed_models := ["m", "n"]`}, `allowed_models := {"m"}`, `{}`, ""},
		"nothing":                            {"allowed_models", rules{enterprise: `allowed_models := ["m", "n"]`}, `allowed_models := []`, `{}`, ""},
		"one member more":                    {"allowed_models", rules{enterprise: `allowed_models := ["m", "n"]`}, `allowed_models := ["m", "o"]`, `{}`, "enterprise"},
		"a member that one has not":          {"allowed_models", rules{enterprise: `allowed_models := ["m", "n"]`, org: `allowed_models := {"m"}`}, `allowed_models := ["n"]`, `{}`, "org"},
		"no list":                            {"allowed_models", rules{enterprise: `allowed_models := ["m", "n"]`}, `allowed_models := "m"`, `{}`, "invalid"},
		"above two ceilings":                 {"max_tokens", rules{enterprise: "max_tokens := 5", org: "max_tokens := 3"}, "max_tokens := 6", `{}`, "org"},
		"below two floors":                   {"retention_days", rules{enterprise: "retention_days := 5", org: "retention_days := 7"}, "retention_days := 4", `{}`, "org"},
		"looser than two words":              {"autonomy_level", rules{enterprise: `autonomy_level := "notify"`, org: `autonomy_level := "block"`}, `autonomy_level := "auto"`, `{}`, "org"},
		"a member that nobody has":           {"allowed_models", rules{enterprise: `allowed_models := ["m", "n"]`, org: `allowed_models := {"m"}`}, `allowed_models := ["o"]`, `{}`, "enterprise"},
		"without an order, another value":    {"tier", rules{enterprise: `tier := "a"`, org: `tier := "b"`}, `tier := "c"`, `{}`, "enterprise"},
		"without an order, that of one":      {"tier", rules{enterprise: `tier := "a"`, org: `tier := "b"`}, `tier := "a"`, `{}`, "org"},
		"without an order, the same":         {"tier", rules{enterprise: `tier := "a"`}, `tier := "a"`, `{}`, ""},
		"without an order, a silent parent":  {"tier", rules{enterprise: `tier := "a" if input.a`}, `tier := "b"`, `{}`, ""},
		"an object":                          {"allowed_models", rules{enterprise: `allowed_models := ["m", "n"]`}, `allowed_models := {"a": "m"}`, `{}`, "invalid"},
	} {
		var parents []*sidecar.Policy
		for _, level := range []sidecar.Level{enterprise, org} {
			if text := c.parents[level]; text != "" {
				parents = append(parents, policyOf(t, level, string(level), text))
			}
		}
		comparison := newComparison(c.decision, policyOf(t, "team", "child", c.child), parents)
		input := ast.MustParseTerm(c.input).Value
		found := comparison.findViolation(newReplay(t.Context()), input)
		by := ""
		switch {
		case found != nil && found.by == nil:
			by = "invalid"
		case found != nil:
			by = found.by.Name
		}
		assert.Equal(t, c.by, by, name)
		steps, fresh := 0, 0
		translate := func(p *sidecar.Policy) *translation { return newTranslation(t.Context(), p, &steps, &fresh) }
		given := func(at term) (ast.Value, bool) { return input, at.key() == "input" }
		holds, known := truth(comparison.symbolic(translate(comparison.child), translate), given)
		assert.True(t, holds || !known || found == nil, "%s: the formula misses it", name)
		if name != "where the broadest says none" { // which the formula leaves to the evaluation
			assert.True(t, !holds || !known || found != nil, "%s: the formula sees more", name)
		}
	}
}

// TestExplainedInWords is what people are shown.
func TestExplainedInWords(t *testing.T) {
	parent := policyOf(t, "enterprise", "base/p", "allow if {\n\tinput.a == \"<x>\"\n}")
	child := policyOf(t, "team", "team/p", "default allow := false\nallow if input.a")
	shown := Analyze(t.Context(), child, []*sidecar.Policy{parent})
	require.Equal(t, `domain "models": team scope cannot expand beyond enterprise scope
  input: {"a":"x"}
  team/p:4: allow is true
  base/p: allow is undefined
  team/p grants allow where base/p does not`, Verdict{
		Outcome: Counterexample, Decision: "allow", Input: map[string]any{"a": "x"}, Child: true,
		ChildPolicy: "team/p", ChildLine: 4, ParentPolicy: "base/p", ParentLevel: "enterprise", Reason: shown.Reason,
	}.Explain(child))
	require.Equal(t, 4, shown.ChildLine, "of the rule that has granted, not of the default")
	require.Equal(t, 3, shown.ParentLine)
	require.Equal(t, `{"a":"<x>"}`, Verdict{Input: map[string]any{"a": "<x>"}}.InputText())
	require.Equal(t, "undefined", Verdict{InputUndefined: true}.InputText())
	require.Equal(t, `domain "models": team/p permits no more than broader scopes, on any input`, Verdict{Outcome: Proved}.Explain(child))
	require.Equal(t, `domain "models": cannot determine whether team/p permits more than broader scopes: why (allow)`,
		Verdict{Outcome: Unknown, Reason: "why", Decision: "allow"}.Explain(child))
	require.Equal(t, `domain "models": cannot determine whether team/p differs from another policy of the team scope: why (tier)`,
		Verdict{Outcome: Unknown, Reason: "why", Decision: "tier", Conflict: true}.Explain(child))
}
