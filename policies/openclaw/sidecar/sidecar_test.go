package sidecar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/test/opaserver"
)

// openclawDomain is a domain as OpenClaw's gateways have it.
func openclawDomain(name string) Domain {
	domain := Domain{Name: name, Packages: []string{"openclaw.enterprise." + strings.ReplaceAll(name, "-", "_")}}
	if name == "agent-to-agent" {
		domain.Packages = append(domain.Packages, "openclaw.enterprise.agent_exchange")
	}
	return domain
}

// enterprisePolicies are those of the product document, in Rego v0, and two more.
var enterprisePolicies = map[string]string{
	"models": `default allow = false
allow { input.model.provider == "internal" }
allow { input.model.provider == "external"; input.data.classification == "public" }
deny { input.model.provider == "external"; input.data.classification == "confidential" }
deny { input.model.provider == "external"; input.data.classification == "restricted" }`,
	"actions": `default autonomy_level = "blocked"
autonomy_level = "autonomous" { input.action.type == "read" }
autonomy_level = "approve" { input.action.type == "write"; input.action.target_system != "external" }
autonomy_level = "blocked" { input.action.type == "write"; input.action.target_system == "external" }`,
	"integrations": `default allow = false
allow { input.connector.enabled == true; input.operation == "read" }
allow { input.connector.enabled == true; input.operation == "write"; input.connector.write_enabled == true }`,
	"agent-to-agent": `default allow_ocip_message = false
allow_ocip_message { trusted_organizations[input.source.organization] }
trusted_organizations = {"acme", "initech"}
deny_ocip_message[msg] { input.envelope.hops > 5; msg := "too many hops" }
max_rounds = 3 { true }`,
	"features": `default allow_feature = false
allow_feature { input.feature.name == "auto_response" }
require_mfa = true { input.feature.name == "org_intelligence" }`,
	"data": `default classification = "confidential"
classification = "restricted" { input.data.source == "unknown" }
classification = input.data.source_classification { input.data.derived == true }`,
	"audit": `default retention_days = 365
retention_days = 365 { true }
allow_delete = false
allow_update = false`,
}

// sidecarQuestions are asked of a domain, with what the enterprise policies answer.
var sidecarQuestions = []struct{ domain, input, answer string }{
	{"models", `{"model": {"provider": "internal"}}`, `{"allow": true, "deny": false}`},
	{"models", `{"model": {"provider": "external"}, "data": {"classification": "public"}}`, `{"allow": true, "deny": false}`},
	{"models", `{"model": {"provider": "external"}, "data": {"classification": "restricted"}}`, `{"allow": false, "deny": true}`},
	{"models", `{}`, `{"allow": false, "deny": false}`},
	{"actions", `{"action": {"type": "read"}}`, `{"autonomy_level": "autonomous"}`},
	{"actions", `{"action": {"type": "write", "target_system": "crm"}}`, `{"autonomy_level": "approve"}`},
	{"actions", `{"action": {"type": "write", "target_system": "external"}}`, `{"autonomy_level": "blocked"}`},
	{"actions", `{"action": {"type": "drop"}}`, `{"autonomy_level": "blocked"}`},
	{"integrations", `{"connector": {"enabled": true}, "operation": "read"}`, `{"allow": true}`},
	{"integrations", `{"connector": {"enabled": true}, "operation": "write"}`, `{"allow": false}`},
	{"agent-to-agent", `{"source": {"organization": "acme"}}`, `{"allow_ocip_message": true, "deny_ocip_message": [], "max_rounds": 3, "trusted_organizations": ["acme", "initech"]}`},
	{"agent-to-agent", `{"source": {"organization": "acme"}, "envelope": {"hops": 6}}`, `{"allow_ocip_message": false, "deny_ocip_message": ["too many hops"], "max_rounds": 3, "trusted_organizations": ["acme", "initech"]}`},
	{"features", `{"feature": {"name": "auto_response"}}`, `{"allow_feature": true}`},
	{"features", `{"feature": {"name": "org_intelligence"}}`, `{"allow_feature": false, "require_mfa": true}`},
	{"data", `{"data": {"source": "unknown"}}`, `{"classification": "restricted"}`},
	{"data", `{"data": {"derived": true, "source_classification": "public"}}`, `{"classification": "public"}`},
	{"data", `{}`, `{"classification": "confidential"}`},
	{"audit", `{}`, `{"retention_days": 365, "allow_delete": false, "allow_update": false}`},
}

// hostilePolicies try to give more than the enterprise does, in every domain.
var hostilePolicies = map[string][]string{
	"models": {
		"default allow := true\ndeny := false",
		"import rego.v1\nallow := true\ndeny contains x if { x := input.nothing }\nallow_export := true",
		"allow if not {1}",
		"allow { not set() } else { not {input.x} }",
	},
	"actions":        {`autonomy_level := null`, `autonomy_level := "auto"`, `autonomy_level := {"autonomous"}`, `autonomy_level := -1`},
	"integrations":   {`allow := "true"`, `allow := true`, `allow := 1`},
	"agent-to-agent": {`max_rounds := -1`, `max_rounds := null`, `max_rounds := {5, 6}`, `trusted_organizations := {"evil"}`, `trusted_organizations := null`, "allow_ocip_message := true\ndeny_ocip_message := false"},
	"features":       {"allow_feature := true\nrequire_mfa := false"},
	"data":           {`classification := "public"`, `classification := input.data.source_classification`},
	"audit":          {"retention_days := 0\nallow_delete := true\nallow_update := true", "retention_days := null"},
}

// TestSidecar asks a real OPA of the gateways' version, which has loaded a composed
// bundle, before and after hostile policies are added: no answer permits more.
func TestSidecar(t *testing.T) {
	binary := opaserver.Build(t, Version)
	var policies []*Policy
	for _, name := range slices.Sorted(maps.Keys(enterprisePolicies)) {
		domain := openclawDomain(name)
		p, err := Parse(Source{hierarchy.Enterprise, "base/" + name, domain, "package " + domain.Packages[0] + "\n" + enterprisePolicies[name]})
		require.NoError(t, err)
		policies = append(policies, p)
	}
	alone := runSidecar(t, binary, policies)
	for _, question := range sidecarQuestions {
		answer := alone(openclawDomain(question.domain).Packages[0], question.input)
		require.JSONEq(t, question.answer, asJSON(answer), "%s: %s", question.domain, question.input)
	}
	require.Equal(t, alone("openclaw.enterprise.agent_to_agent", `{}`), alone("openclaw.enterprise.agent_exchange", `{}`))

	var hostile []*Policy
	for _, name := range slices.Sorted(maps.Keys(hostilePolicies)) {
		domain := openclawDomain(name)
		for i, text := range hostilePolicies[name] {
			level := hierarchy.AllLevels[1+i%3]
			p, err := Parse(Source{level, fmt.Sprintf("hostile/%s%d", name, i), domain, "package " + domain.Packages[0] + "\n" + text})
			require.NoError(t, err)
			hostile = append(hostile, p)
		}
	}
	joined := runSidecar(t, binary, append(policies, hostile...))
	for _, question := range sidecarQuestions {
		domain := openclawDomain(question.domain)
		before, after := alone(domain.Packages[0], question.input), joined(domain.Packages[0], question.input)
		for decision, value := range before {
			require.True(t, restricts(decision, OrderOf(decision), value, after[decision]),
				"%s, %s: %s was %v and is %v", question.domain, question.input, decision, value, after[decision])
		}
	}
}

// TestSideDoors: a policy that refers to another policy is rejected before composition.
func TestSideDoors(t *testing.T) {
	for text, want := range map[string]string{
		"package lintel.policies.models.enterprise[\"base/models\"]\nallow := true":                                  "must be in package openclaw.enterprise.models",
		"package lintel.meet\ngranted(_, _, _) := true":                                                              "must be in package openclaw.enterprise.models",
		"package openclaw.enterprise.models\nimport data.lintel.meet\nallow := meet.x":                               "data.lintel.meet belongs to another policy",
		"package openclaw.enterprise.models\nallow if data.lintel.policies.models.enterprise[\"base/models\"].allow": "belongs to another policy",
		"package openclaw.enterprise.models\nallow if data.openclaw.enterprise.data.allow":                           "belongs to another policy",
		"package openclaw.enterprise.models\nallow if { some x; data[x] }":                                           "data is read as a whole or by a computed key",
		"package openclaw.enterprise.models\nallow if count(data) > 0":                                               "data is read as a whole",
		"package openclaw.enterprise.models\nx if input\nallow if x with data.lintel.meet.granted as true":           "belongs to another policy",
		"package openclaw.enterprise.models\nallow if http.send({}).status_code == 200":                              "http.send reaches the network or the environment",
		"package openclaw.enterprise.models\nallow if opa.runtime().env.HOME":                                        "opa.runtime reaches the network or the environment",
		"package openclaw.enterprise.models\nallow { re_match(\"a\", input.a) }":                                     "re_match is not part of Rego v1; use regex.match",
		"package openclaw.enterprise.models\n_ := 1":                                                                 "a rule cannot be named _",
	} {
		_, err := Parse(Source{hierarchy.Team, "team/p", openclawDomain("models"), text})
		require.ErrorContains(t, err, want, text)
	}
}

// runSidecar serves the composition of policies until the test ends, and gives a
// function that asks for all that a package decides.
func runSidecar(t *testing.T, binary string, policies []*Policy) func(name, input string) map[string]any {
	files, err := Compose(policies)
	require.NoError(t, err)
	signed, err := Sign(files, "1", "here")
	require.NoError(t, err)
	address := serveBundle(t, binary, signed, signed.Bundle).api
	require.Eventually(t, func() bool { return opaserver.Status(address, "/health?bundles") == http.StatusOK }, time.Minute, 10*time.Millisecond)
	return func(name, input string) (result map[string]any) {
		answer := opaserver.Ask(t, address, strings.ReplaceAll(name, ".", "/"), input)
		if answer == nil {
			return nil
		}
		decoder := json.NewDecoder(bytes.NewReader(answer))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&result))
		return result
	}
}

func TestNamesAreUnique(t *testing.T) {
	p := mustParse(t, hierarchy.Team, "b/p", "package openclaw.enterprise.models\nallow := true")
	_, err := Compose([]*Policy{p, p})
	require.EqualError(t, err, `b/p: two policies of scope team and domain "models" have this name; rename one`)
}

// TestRulesOfAnyName: no name of a rule or policy keeps others from being composed.
func TestRulesOfAnyName(t *testing.T) {
	base := mustParse(t, hierarchy.Enterprise, "base/p", "package openclaw.enterprise.models\nallow := true")
	odd := mustParse(t, hierarchy.Team, "odd/\"] \"\\\n\u2028 p", "package openclaw.enterprise.models\n"+
		"meet := 1\nlintel := 2\nstated := 3\nlevel := 4\ngranted(x) := x\ncount := 5\nallow.x := false")
	answer := evaluator(t, []*Policy{base, odd})(`{}`)
	require.Equal(t, false, answer["allow"])
	require.EqualValues(t, "1", fmt.Sprint(answer["meet"]))
}
