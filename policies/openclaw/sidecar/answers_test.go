package sidecar

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/hierarchy"
)

func TestOrders(t *testing.T) {
	for decision, want := range map[string]Order{
		"allow": Grant, "allow_export": Grant, "allowed_models": Subset, "trusted_peers": Subset,
		"deny": United, "deny_export": United, "require_mfa": United, "log_all": United, "blocked_models": United,
		"autonomy_level": Word, "classification": Word, "data_classification": Word, "max_classification_out": Word,
		"max_tokens": Ceiling, "rate_limit": Ceiling, "retention_days": Floor, "min_length": Floor,
		"allowance": Unordered, "denial": Unordered, "limit": Unordered, "tier": Unordered, "classification_of": Unordered,
	} {
		assert.Equal(t, want, OrderOf(decision), decision)
		assert.Equal(t, want == Word, Ranks(decision) != nil, decision)
	}
	assert.Equal(t, map[string]int{"autonomous": 1, "auto": 1, "notify": 2, "approve": 3, "block": 4, "blocked": 4}, Ranks("autonomy_level"))
	assert.Less(t, Ranks("classification")["public"], Ranks("classification")["restricted"])
	assert.Greater(t, Ranks("max_classification")["public"], Ranks("max_classification")["restricted"])

	flag := mustParse(t, "enterprise", "a", "package openclaw.enterprise.models\nmax_reached if input.a")
	number := mustParse(t, "team", "b", "package openclaw.enterprise.models\nmax_reached := 3")
	assert.Equal(t, Unordered, OrderAmong("max_reached", []*Policy{flag, number}), "the broadest can only say true")
	assert.Equal(t, Ceiling, OrderAmong("max_reached", []*Policy{number, flag}))
}

// TestAnswers asks composed bundles: what the policies of several scopes answer together.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		enterprise, org, team string
		decision, want        string // as JSON; "" where it is undefined
	}{
		"a grant of all":                {"allow := true", "allow := true", "", "allow", "true"},
		"a grant that one withholds":    {"allow := true", "allow := true if input.c", "", "allow", "false"},
		"a grant that one denies":       {"allow := true", "", `deny contains "no"`, "allow", "false"},
		"a grant with its own denial":   {"allow_x := true", "", "deny_x := true", "allow_x", "false"},
		"a grant with another's denial": {"allow_x := true", "", "deny_y := true", "allow_x", "true"},
		"a grant from below":            {"other := 1", "allow := true", "", "allow", "false"},
		"the strictest word":            {`autonomy_level := "notify"`, `autonomy_level := "block"`, `autonomy_level := "auto"`, "autonomy_level", `"block"`},
		"of equal words the broadest's": {`autonomy_level := "blocked"`, `autonomy_level := "block"`, "", "autonomy_level", `"blocked"`},
		"a word that counts for none":   {`autonomy_level := "notify"`, `autonomy_level := "odd"`, "", "autonomy_level", `"notify"`},
		"the lowest ceiling":            {"max_tokens := 5", "max_tokens := 3", "max_tokens := 9", "max_tokens", "3"},
		"a ceiling below nothing":       {"max_tokens := 5", "max_tokens := -3", "", "max_tokens", "5"},
		"the highest floor":             {"retention_days := 5", "retention_days := 7", "retention_days := 1", "retention_days", "7"},
		"what lists share":              {`allowed_models := ["m", "n"]`, `allowed_models := {"n", "o"}`, "", "allowed_models", `["n"]`},
		"what all require":              {"require_mfa := true", "require_mfa := false", "", "require_mfa", "true"},
		"what any requires":             {"require_mfa := false", "require_mfa := true", "", "require_mfa", "true"},
		"denials of all":                {`deny contains "a"`, `deny contains "b"`, "", "deny", `["a", "b"]`},
		"no denial":                     {`deny contains "a" if input.c`, "", "", "deny", "[]"},
		"a flag that nobody raises":     {"deny if input.c", "", "", "deny", "false"},
		"a flag raised below":           {"deny if input.c", `deny contains "b"`, "", "deny", "true"},
		"what has no order":             {"tier := 1", "tier := 2", "", "tier", "1"},
		"what nobody says":              {"tier := 1 if input.c", "", "", "tier", ""},
	} {
		var policies []*Policy
		for level, text := range map[Level]string{"enterprise": c.enterprise, "org": c.org, "team": c.team} {
			if text != "" {
				policies = append(policies, mustParse(t, level, "p/"+string(level), "package openclaw.enterprise.models\nimport rego.v1\n"+text))
			}
		}
		answer, said := evaluator(t, policies)(`{"a": 1}`)[c.decision]
		if c.want == "" {
			assert.False(t, said, name)
			continue
		}
		text, err := json.Marshal(answer)
		require.NoError(t, err)
		assert.JSONEq(t, c.want, string(text), name)
	}
}

// TestBundlesAreTheSame: the order of the policies changes neither the bundle nor the results at
// each package of a domain.
func TestBundlesAreTheSame(t *testing.T) {
	domain := openclawDomain("agent-to-agent")
	of := func(level hierarchy.Level, name, rules string) *Policy {
		p, err := Parse(Source{level, name, domain, "package " + domain.Packages[1] + "\nimport rego.v1\n" + rules})
		require.NoError(t, err)
		return p
	}
	a, b := of("team", "b/a", "max_rounds := helper\nhelper := 2"), of("enterprise", "b/b", "max_rounds := 3")
	files, err := Compose([]*Policy{a, b})
	require.NoError(t, err)
	require.Equal(t, []string{
		"lintel/answers/agent-to-agent.rego", "lintel/answers/openclaw.enterprise.agent_exchange.rego", "lintel/meet.rego",
		"lintel/policies/agent-to-agent/enterprise/b/b.rego", "lintel/policies/agent-to-agent/team/b/a.rego", "lintel/stated/agent-to-agent.rego",
	}, slices.Sorted(maps.Keys(files)))
	again, err := Compose([]*Policy{b.Composable(), a.Composable()})
	require.NoError(t, err)
	require.Equal(t, files, again)
	require.Contains(t, files["lintel/policies/agent-to-agent/team/b/a.rego"], `package lintel.policies["agent-to-agent"].team["b/a"]`)
}

// TestWhatIsWrongIsSaidWhere: line and column are those of the text.
func TestWhatIsWrongIsSaidWhere(t *testing.T) {
	const header = "package openclaw.enterprise.models\n"
	for text, want := range map[string]string{
		header + "allow if {":                             "b/p:2:10: rego_parse_error",
		header + "allow { input.a":                        "b/p:2:",
		header + "import rego.v1\nallow if x":             "b/p:3:10: rego_unsafe_var_error: var x is unsafe",
		header + "allow if http.send({})":                 "b/p:2:10: http.send reaches the network or the environment, and is not available to policies",
		header + "allow if data.system.x":                 "b/p:2:10: data.system.x belongs to another policy",
		header + "allow { all([true]) }":                  "b/p:2:9: all is not part of Rego v1; use every x in <collection> { x }",
		"package openclaw.enterprise.data\nallow := true": `b/p:1:1: it is in package openclaw.enterprise.data; a policy of domain "models" must be in package openclaw.enterprise.models`,
	} {
		_, err := Parse(Source{Level: "team", Name: "b/p", Domain: anyDomain, Content: text})
		require.ErrorContains(t, err, want, text)
		require.IsType(t, ParseErrors{}, err)
	}
	require.Equal(t, "p: why; p:2: why", ParseErrors{{File: "p", Message: "why"}, {File: "p", Line: 2, Message: "why"}}.Error())
	_, err := ParseLevel("everyone")
	require.EqualError(t, err, `unknown scope "everyone": it is one of enterprise, org, team, user`)
}

// TestWhatCannotBePlanned, as it would be planned without end, is an error for a decision
// that is one rule and for one that is made of several.
func TestWhatCannotBePlanned(t *testing.T) {
	text := "package openclaw.enterprise.models\nk := input.a\nr0 if k\n" +
		repeated(20, "r%[2]d if { r%[1]d with data.openclaw.enterprise.models.k as input.b; r%[1]d with data.openclaw.enterprise.models.k as input.c }\n")
	for decision, rule := range map[string]string{"allow": "allow if r20", "limits": "limits.most := 1 if r20"} {
		_, err := mustParse(t, "team", "p", text+rule).Program(decision, false)
		require.ErrorContains(t, err, "this reference is planned again", decision)
	}
}

// TestRulesOfAPolicy are asked for by name.
func TestRulesOfAPolicy(t *testing.T) {
	p := mustParse(t, "team", "p", "package openclaw.enterprise.models\ndefault allow := false\nallow if f(1)\nf(x) if x > 0\nlimits.most := 1")
	require.Equal(t, []string{"allow", "limits"}, p.Decisions, "functions decide nothing")
	require.True(t, p.Defines("limits"))
	require.False(t, p.Defines("f"))
	for name, count := range map[string]int{"allow": 2, "f": 1, "limits": 1, "none": 0} {
		require.Len(t, p.Rules(name), count, name)
		of, own := p.RuleName(append(p.Ref(name), p.Ref("x")[0]))
		require.True(t, own)
		require.Equal(t, name, of)
	}
	_, own := p.RuleName(p.Path)
	require.False(t, own)
	require.False(t, strings.Contains(fmt.Sprint(p.Ref("allow")), "lintel"), "as it was written")
}
