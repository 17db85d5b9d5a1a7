package sidecar

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/test/properties"
)

var anyDomain = Domain{Name: "models", Packages: []string{"openclaw.enterprise.models"}}

// randomInputs are all inputs that random policies tell apart.
func randomInputs() []string {
	var inputs []string
	for _, a := range []string{``, `"a": "x"`, `"a": "y"`} {
		for _, b := range []string{``, `"b": true`, `"b": 7`} {
			inputs = append(inputs, "{"+strings.Trim(a+","+b, ",")+"}")
		}
	}
	return inputs
}

var randomConditions = []string{
	`input.a == "x"`, `input.a == "y"`, `input.b`, `not input.b`, `input.b > 5`, `not input.a`, `input.a != "x"`,
}

// randomValues of decisions, by order; the last row is what a hostile author tries.
var randomValues = map[string][]string{
	"allow":              {"true", "true", "false"},
	"allow_export":       {"true", "false"},
	"deny":               {"true", "false"},
	"deny_export":        {"true", "false"},
	"autonomy_level":     {`"auto"`, `"autonomous"`, `"notify"`, `"approve"`, `"blocked"`, `"block"`},
	"classification":     {`"public"`, `"internal"`, `"restricted"`},
	"max_classification": {`"public"`, `"internal"`, `"restricted"`},
	"max_tokens":         {"0", "10", "20.5", "1e3"},
	"rate_limit":         {"1", "2"},
	"retention_days":     {"30", "365"},
	"allowed_models":     {`["m", "n"]`, `{"m", "n", "o"}`, `["o"]`, `[]`},
	"trusted_peers":      {`{"m"}`, `["m", "n"]`},
	"require_mfa":        {"true", "false"},
	"blocked_models":     {`["m"]`, `{"n"}`, "true"},
	"reason":             {`"because"`, `{"a": 1}`},
}

var hostileValues = []string{"null", "-1", `{1, 2}`, `"unheard of"`, `{"a": true}`, "[]", `"true"`, "1"}

// randomPolicy is the text of a policy. A hostile one says anything of anything.
func randomPolicy(random *rand.Rand, hostile bool) string {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	text := "package openclaw.enterprise.models\n"
	for _, decision := range slices.Sorted(maps.Keys(randomValues)) {
		if random.IntN(3) > 0 {
			continue
		}
		values := randomValues[decision]
		if hostile && random.IntN(2) == 0 {
			values = hostileValues
		}
		switch {
		case strings.HasPrefix(decision, "deny") && random.IntN(2) == 0:
			text += fmt.Sprintf("%s contains \"no %s\" if { %s }\n", decision, decision, pick(randomConditions))
			continue
		case random.IntN(3) == 0:
			text += fmt.Sprintf("default %s := %s\n", decision, strings.NewReplacer("{1, 2}", "[1, 2]").Replace(pick(values)))
		}
		text += fmt.Sprintf("%s := %s if { %s } else := %s if { %s; %s }\n",
			decision, pick(values), pick(randomConditions), pick(values), pick(randomConditions), pick(randomConditions))
	}
	return text
}

func mustParse(t testing.TB, level Level, name, content string) *Policy {
	p, err := Parse(Source{Level: level, Name: name, Domain: anyDomain, Content: content})
	require.NoError(t, err, content)
	return p
}

// evaluator returns a function that evaluates a composed bundle for an input, as a gateway does.
func evaluator(t testing.TB, policies []*Policy) func(input string) map[string]any {
	files, err := Compose(policies)
	require.NoError(t, err)
	options := []func(*rego.Rego){rego.Query("x := data.openclaw.enterprise.models"), rego.Capabilities(gatewayCapabilities())}
	for name, text := range files {
		options = append(options, rego.Module(name, text))
	}
	query, err := rego.New(options...).PrepareForEval(t.Context())
	require.NoError(t, err)
	return func(input string) map[string]any {
		results, err := query.Eval(t.Context(), rego.EvalParsedInput(ast.MustParseTerm(input).Value))
		require.NoError(t, err)
		if len(results) == 0 {
			return map[string]any{}
		}
		return results[0].Bindings["x"].(map[string]any)
	}
}

// TestAChildNeverWidens composes random chains with and without one additional policy of a
// narrower or the narrowest scope, and compares the results.
func TestAChildNeverWidens(t *testing.T) {
	t.Parallel()
	chains := properties.Count(60, 600) // by nine inputs each
	random := newRandom(1)
	inputs := randomInputs()
	compared := 0
	for i := range chains {
		var policies []*Policy
		narrowest, broadest := 0, len(hierarchy.AllLevels)
		var texts []string
		for j := range 1 + random.IntN(3) {
			level := random.IntN(3)
			narrowest, broadest = max(narrowest, level), min(broadest, level)
			text := randomPolicy(random, random.IntN(4) == 0)
			texts = append(texts, fmt.Sprintf("# %s\n%s", hierarchy.AllLevels[level], text))
			policies = append(policies, mustParse(t, hierarchy.AllLevels[level], fmt.Sprintf("b%d/p", j), text))
		}
		level := narrowest + random.IntN(len(hierarchy.AllLevels)-narrowest)
		text := randomPolicy(random, true)
		child := mustParse(t, hierarchy.AllLevels[level], "child/p", text)
		before, after := evaluator(t, policies), evaluator(t, append(policies, child))
		for _, input := range inputs {
			chain, both := before(input), after(input)
			for decision, order := range ordersIn([]*Policy{child}) {
				// A narrower scope cannot grant a decision that the broadest scope does not
				// grant.
				if order == Grant && level > broadest && chain[decision] == nil {
					require.NotEqual(t, true, both[decision], "chain %d, input %s: %s is new\n%s\n# child\n%s", i, input, decision, strings.Join(texts, "\n"), text)
				}
			}
			for decision, order := range ordersIn(policies) {
				if level == narrowest && order != Grant && !strings.HasPrefix(decision, "deny") {
					continue // policies of one scope complete each other
				}
				compared++
				require.True(t, restricts(decision, order, chain[decision], both[decision]),
					"chain %d, input %s: %s was %v and is %v\n%s\n# child, %s\n%s", i, input, decision, chain[decision], both[decision], strings.Join(texts, "\n"), hierarchy.AllLevels[level], text)
			}
		}
	}
	require.Greater(t, compared, 15*chains)
}

func ordersIn(policies []*Policy) map[string]Order {
	orders := map[string]Order{}
	for _, p := range policies {
		for _, decision := range p.Decisions {
			orders[decision] = OrderOf(decision)
		}
	}
	return orders
}

// TestNamesOfPeersDecideNothing swaps the names of policies of one scope: the results stay the
// same.
func TestNamesOfPeersDecideNothing(t *testing.T) {
	t.Parallel()
	chains := properties.Count(15, 300)
	random := newRandom(3)
	for i := range chains {
		var texts []string
		for range 2 + random.IntN(2) {
			texts = append(texts, randomPolicy(random, random.IntN(2) == 0))
		}
		with := func(names ...string) func(string) map[string]any {
			var policies []*Policy
			for j, text := range texts {
				policies = append(policies, mustParse(t, "team", names[j], text))
			}
			return evaluator(t, policies)
		}
		one, other := with("a/p", "b/p", "c/p"), with("c/p", "b/p", "a/p")
		for _, input := range randomInputs() {
			require.Equal(t, nameless(one(input)), nameless(other(input)), "chain %d, input %s\n%s", i, input, strings.Join(texts, "\n# and\n"))
		}
	}
}

// nameless leaves out who says that something is denied or required.
func nameless(answer map[string]any) map[string]any {
	for decision, value := range answer {
		if list, ok := value.([]any); ok && OrderOf(decision) == United {
			var said []any
			for _, member := range list {
				if text, ok := member.(string); !ok || !strings.Contains(text, " by ") {
					said = append(said, member)
				}
			}
			answer[decision] = said
		}
	}
	return answer
}

// TestTheTypeOfADenialStays: what a narrower scope says does not make a list of what the
// broadest scope answers with true or false, nor the other way round.
func TestTheTypeOfADenialStays(t *testing.T) {
	const header = "package openclaw.enterprise.models\nimport rego.v1\n"
	narrower := []string{"deny := set()", `deny contains "no" if input.a`, "deny := true", "deny := false", `deny := "no"`, `deny := {"a": 1}`, "deny := 7", "deny := []"}
	for root, isFlag := range map[string]bool{
		"deny if input.b == true": true, "default deny := false\ndeny if input.b == 7": true, "deny := input.nothing": true,
		`deny contains "x" if input.b`: false, `deny := {"x"} if input.b`: false, `deny := ["x"] if input.b`: false,
	} {
		for _, text := range narrower {
			answer := evaluator(t, []*Policy{mustParse(t, "enterprise", "root", header+root), mustParse(t, "team", "child", header+text)})
			for _, input := range randomInputs() {
				_, flag := answer(input)["deny"].(bool)
				require.Equal(t, isFlag, flag, "%s below %s, input %s: %v", text, root, input, answer(input)["deny"])
			}
		}
	}
}

// newRandom is seeded by LINTEL_SEED.
func newRandom(otherwise uint64) *rand.Rand {
	seed := properties.Seed(otherwise)
	return rand.New(rand.NewPCG(seed, seed+1))
}
