package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The policies of these tests. The first is Rego v0, as the product's own examples are.
const (
	enterpriseModels = `package openclaw.enterprise.models

default allow = false

allow {
  input.model.provider == "internal"
}
`
	widerModels = `package openclaw.enterprise.models

import rego.v1

allow if input.model.provider in {"internal", "external"}
`
	narrowerModels = `package openclaw.enterprise.models

import rego.v1

allow if {
	input.model.provider == "internal"
	input.user.team == "research"
}
`
	patternModels = `package openclaw.enterprise.models

import rego.v1

allow if regex.match("^in[t]ernal$", input.model.provider)
`
)

func TestProve(t *testing.T) {
	dir := folder(t, map[string]string{
		"enterprise.rego": enterpriseModels, "wider.rego": widerModels, "narrower.rego": narrowerModels, "pattern.rego": patternModels,
		"broken.rego": "package openclaw.enterprise.models\n\nallow if {\n\tinput.x ==\n}\n",
		"data.rego":   "package openclaw.enterprise.data\n",
		"ocip.rego":   "package openclaw.enterprise.ocip\n\nallow := true\n",
	})
	t.Chdir(dir)
	for name, test := range map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"wider": {
			[]string{"--domain", "models", "--parent", "enterprise.rego", "--child", "wider.rego"}, 1,
			`domain "models": team scope cannot expand beyond enterprise scope
  input: {"model":{"provider":"external"}}
  wider.rego:5: allow is true
  enterprise.rego:3: allow is false
  wider.rego grants allow where enterprise.rego does not
`, "",
		},
		"scopes": {
			[]string{"--domain", "models", "--parent", "enterprise.rego", "--child", "wider.rego", "--parent-scope", "org", "--child-scope", "user"}, 1,
			`domain "models": user scope cannot expand beyond org scope`, "",
		},
		"narrower": {
			[]string{"--domain", "models", "--parent", "enterprise.rego", "--child", "narrower.rego"}, 0,
			"domain \"models\": narrower.rego permits no more than broader scopes, on any input\n", "",
		},
		"two parents": {
			[]string{"--domain", "models", "--parent", "wider.rego", "--parent", "narrower.rego", "--child", "enterprise.rego"}, 1,
			"enterprise.rego grants allow where narrower.rego does not", "",
		},
		"unknown": {
			[]string{"--domain", "models", "--parent", "enterprise.rego", "--child", "pattern.rego"}, 3,
			"domain \"models\": cannot determine whether pattern.rego permits more than broader scopes: pattern.rego:5: the analysis does not support a call of regex.match (allow)\n", "",
		},
		"alias of the package": {
			[]string{"--domain", "agent-to-agent", "--parent", "ocip.rego", "--child", "ocip.rego"}, 0, "permits no more", "",
		},
		"does not compile": {
			[]string{"--domain", "models", "--parent", "enterprise.rego", "--child", "broken.rego"}, 2, "", "lintel: broken.rego:5:1: ",
		},
		"wrong package": {
			[]string{"--domain", "models", "--parent", "enterprise.rego", "--child", "data.rego"}, 2, "", "lintel: data.rego:1:1: it is in package openclaw.enterprise.data",
		},
		"no file":        {[]string{"--domain", "models", "--parent", "enterprise.rego", "--child", "none.rego"}, 2, "", "none.rego"},
		"no domain":      {[]string{"--parent", "enterprise.rego", "--child", "wider.rego"}, 2, "", "no domain"},
		"unknown domain": {[]string{"--domain", "model", "--parent", "enterprise.rego", "--child", "wider.rego"}, 2, "", "--domain model is unknown: it is one of models"},
		"no parent":      {[]string{"--domain", "models", "--child", "wider.rego"}, 2, "", "no parent"},
		"no child":       {[]string{"--domain", "models", "--parent", "wider.rego"}, 2, "", "no child"},
		"unknown scope":  {[]string{"--domain", "models", "--parent", "wider.rego", "--child", "wider.rego", "--child-scope", "squad"}, 2, "", "unknown scope \"squad\""},
		"upside down":    {[]string{"--domain", "models", "--parent", "wider.rego", "--child", "wider.rego", "--child-scope", "org", "--parent-scope", "team"}, 2, "", "--child-scope org is broader"},
		"both ways":      {[]string{"-f", "x.yaml", "--child", "wider.rego"}, 2, "", "-f stands for all"},
		"no time":        {[]string{"--domain", "models", "--parent", "wider.rego", "--child", "wider.rego", "--timeout", "0s"}, 2, "", "--timeout 0s"},
		"no format":      {[]string{"-f", "x.yaml", "-o", "yaml"}, 2, "", "--output yaml"},
		"an argument":    {[]string{"wider.rego"}, 2, "", "stands alone"},
	} {
		t.Run(name, func(t *testing.T) {
			got := lintel(t, "", append([]string{"prove"}, test.args...)...)
			assert.Equal(t, test.code, got.code, got.stderr)
			assert.Contains(t, got.stdout, test.stdout)
			assert.Contains(t, got.stderr, test.stderr)
		})
	}
}

func TestProveInJSON(t *testing.T) {
	dir := folder(t, map[string]string{"enterprise.rego": enterpriseModels, "wider.rego": widerModels})
	parent, child := filepath.Join(dir, "enterprise.rego"), filepath.Join(dir, "wider.rego")
	got := lintel(t, "", "prove", "--domain", "models", "--parent", parent, "--child", child, "-o", "json")
	assert.Equal(t, 1, got.code)
	var report map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	assert.Positive(t, report["elapsed_ms"])
	delete(report, "elapsed_ms")
	assert.Equal(t, map[string]any{
		"verdict": "counterexample", "decision": "allow",
		"input":  map[string]any{"model": map[string]any{"provider": "external"}},
		"parent": false, "child": true,
		"reason": child + " grants allow where " + parent + " does not",
		"domain": "models", "child_policy": child, "child_scope": "team", "child_line": 5.0,
		"parent_policy": parent, "parent_scope": "enterprise", "parent_line": 3.0,
	}, report)

	got = lintel(t, "", "prove", "--domain", "models", "--parent", child, "--child", parent, "-o", "json")
	assert.Equal(t, 0, got.code)
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	assert.Equal(t, "proved", report["verdict"])
	assert.Nil(t, report["input"])
}

const enterpriseBundle = `apiVersion: openclaw.enterprise.io/v1
kind: PolicyBundle
metadata:
  name: enterprise
spec:
  policies:
  - scope: enterprise
    domain: models
    name: models
    content: |
      package openclaw.enterprise.models
      allow { input.model.provider == "internal" }
      preferred = "small"
  - scope: enterprise
    domain: actions
    name: models
    content: |
      package openclaw.enterprise.actions
      autonomy_level = "approve" { input.action.type == "write" }
`

const teamBundle = `apiVersion: openclaw.enterprise.io/v1
kind: PolicyBundle
metadata:
  name: team
spec:
  policies:
  - scope: team
    domain: models
    name: first
    content: |
      package openclaw.enterprise.models
      allow { input.model.provider == "internal"; input.user.team == "research" }
      preferred = "large"
  - scope: user
    domain: models
    name: second
    content: |
      package openclaw.enterprise.models
      allow { input.model.provider == "internal"; input.user.team == "sales" }
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: of-no-interest
`

func TestProveBundles(t *testing.T) {
	t.Chdir(folder(t, map[string]string{
		"enterprise.yaml": enterpriseBundle, "team.yaml": teamBundle,
		"scope.yaml":  strings.ReplaceAll(enterpriseBundle, "scope: enterprise", "scope: squad"),
		"domain.yaml": strings.ReplaceAll(enterpriseBundle, "domain: models", "domain: model"),
		"rego.yaml":   strings.ReplaceAll(enterpriseBundle, `"approve" {`, `"approve" { {`),
		"kind.yaml":   strings.ReplaceAll(enterpriseBundle, "PolicyBundle", "Bundle"),
	}))
	got := lintel(t, "", "prove", "-f", "enterprise.yaml", "-f", "team.yaml")
	assert.Equal(t, 1, got.code, got.stderr)
	assert.Equal(t, `domain "models": there is no broader policy than enterprise/models
domain "actions": there is no broader policy than enterprise/models
domain "models": team/first permits no more than broader scopes, on any input
  warning: preferred of team/first has no effect: enterprise/models of the enterprise scope defines it, and values of this name have no known order
domain "models": user scope cannot expand beyond team scope
  input: {"model":{"provider":"internal"},"user":{"team":"sales"}}
  team/second:2: allow is true
  team/first:2: allow is undefined
  team/second grants allow where team/first does not
`, got.stdout)

	got = lintel(t, teamBundle, "prove", "-f", "enterprise.yaml", "-f", "-", "-o", "json")
	assert.Equal(t, 1, got.code)
	var list []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &list))
	require.Len(t, list, 4)
	assert.Equal(t, "proved", list[2]["verdict"])
	assert.Equal(t, "team/first", list[2]["child_policy"])
	assert.Equal(t, "counterexample", list[3]["verdict"])

	// Two policies of one scope with values that have no known order.
	got = lintel(t, strings.ReplaceAll(teamBundle, "scope: user", "scope: team"), "prove", "-f", "-")
	assert.Equal(t, 0, got.code, got.stdout)
	contradicting := strings.ReplaceAll(strings.ReplaceAll(teamBundle, "scope: user", "scope: team"), `input.user.team == "sales" }`, `input.user.team == "sales" }
      preferred = "small"`)
	got = lintel(t, contradicting, "prove", "-f", "-")
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.stdout, "two policies of the team scope contradict each other\n  input: {}\n  team/second:3: preferred is \"small\"\n  team/first:3: preferred is \"large\"\n")

	for file, message := range map[string]string{
		"scope.yaml":  `spec.policies[0].scope: unknown scope "squad"`,
		"domain.yaml": `spec.policies[0].domain: unknown domain "model"`,
		"rego.yaml":   "enterprise/models:",
		"kind.yaml":   "there are no PolicyBundles",
		"none.yaml":   "none.yaml",
	} {
		got := lintel(t, "", "prove", "-f", file)
		assert.Equal(t, 2, got.code, file)
		assert.Contains(t, got.stderr, message)
		assert.Empty(t, got.stdout)
	}
	got = lintel(t, "", "prove", "-f", "enterprise.yaml", "-f", "enterprise.yaml")
	assert.Equal(t, 2, got.code)
}

// TestProveShowsEveryDecision: otherwise each correction would only reveal the next one.
func TestProveShowsEveryDecision(t *testing.T) {
	const header = "package openclaw.enterprise.models\n\nimport rego.v1\n\n"
	t.Chdir(folder(t, map[string]string{
		"parent.rego": header + "allow if input.a\n\nmax_tokens := 10\n\nmin_age := 3\n",
		"child.rego":  header + "allow if input.b\n\nmax_tokens := 20\n\nmin_age := 4\n",
	}))
	got := lintel(t, "", "prove", "--domain", "models", "--parent", "parent.rego", "--child", "child.rego")
	assert.Equal(t, 1, got.code, got.stderr)
	for _, line := range []string{"child.rego:5: allow is true", "child.rego:7: max_tokens is 20", "  proved: min_age\n"} {
		assert.Contains(t, got.stdout, line)
	}
	got = lintel(t, "", "prove", "--domain", "models", "--parent", "parent.rego", "--child", "child.rego", "-o", "json")
	var report struct{ Decisions []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.Len(t, report.Decisions, 3)
	assert.Equal(t, "counterexample", report.Decisions[1]["verdict"])
	got = lintel(t, "", "prove", "--domain", "models", "--parent", "parent.rego", "--child", "parent.rego")
	assert.Equal(t, "domain \"models\": parent.rego permits no more than broader scopes, on any input\n  proved: allow, max_tokens, min_age\n", got.stdout)
}

// TestProveTellsWhoIsTheFirstToSetALimit: it is proved, and what gateways did without is
// not known.
func TestProveTellsWhoIsTheFirstToSetALimit(t *testing.T) {
	const header = "package openclaw.enterprise.models\nimport rego.v1\n"
	t.Chdir(folder(t, map[string]string{
		"parent.rego": header + "allowed_models := {\"m\"} if input.user.team == \"a\"\n",
		"child.rego":  header + "allowed_models := {\"n\"} if input.user.team == \"b\"\n",
	}))
	got := lintel(t, "", "prove", "--domain", "models", "--parent", "parent.rego", "--child", "child.rego")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, `domain "models": child.rego permits no more than broader scopes, on any input
  warning: child.rego defines allowed_models, which no broader scope defines on inputs such as {"user":{"team":"b"}}: the value exceeds nothing, and gateways apply it; if gateways permit less without a value, define a default in the enterprise scope
`, got.stdout)
}

// TestProveRefusesWhatAdmissionRefuses: a bundle is read as a whole.
func TestProveRefusesWhatAdmissionRefuses(t *testing.T) {
	rules := strings.Repeat("      a if true\n", 5000)
	large := strings.NewReplacer("      preferred = \"large\"\n", "      import rego.v1\n"+rules, "team == \"sales\" }\n", "team == \"sales\" }\n"+rules).Replace(teamBundle)
	got := lintel(t, large, "prove", "-f", "-")
	assert.Equal(t, 2, got.code, got.stdout)
	assert.Contains(t, got.stderr, "spec.policies[1].content: team/second:")
	assert.Contains(t, got.stderr, "up to here the bundle has more than 30000 words")
}

func TestProveHelp(t *testing.T) {
	got := lintel(t, "", "prove", "--help")
	for _, text := range []string{"A rule is compared by its name", "Denials of the broader policies are left aside", "docs/concepts/how-policies-are-compared.md", "docs/reference/scope-rules.md"} {
		assert.Contains(t, got.stdout, text)
	}
}

const tenantSources = `apiVersion: policy.lintel.dev/v1alpha1
kind: PolicySource
metadata: {name: acme}
spec:
  scope: {level: enterprise, name: acme, grants: {wildcards: true}}
  inline:
    files:
      owner.rego: |
        package acme.owner
        patch contains {"op": "add", "path": "/metadata/labels", "value": {}} if not input.request.object.metadata.labels
        patch contains {"op": "add", "path": "/metadata/labels/owner", "value": "acme"} if not input.request.object.metadata.labels.owner
---
apiVersion: policy.lintel.dev/v1alpha1
kind: PolicySource
metadata: {name: payments}
spec:
  scope: {level: team, name: payments, namespaces: [payments]}
  inline:
    files:
      mine.rego: |
        package payments.mine
        patch contains {"op": "add", "path": "/metadata/labels/LABEL", "value": "x"} if not input.request.object.metadata.labels.LABEL
`

func TestProvePolicySources(t *testing.T) {
	got := lintel(t, strings.ReplaceAll(tenantSources, "LABEL", "team"), "prove", "-f", "-")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, `source "acme": keeps within its scope, the enterprise: it denies more, and loosens nothing
source "payments": keeps within its scope, team payments: it denies more, and loosens nothing
`, got.stdout)
	got = lintel(t, strings.ReplaceAll(tenantSources, "LABEL", "owner"), "prove", "-f", "-")
	assert.Equal(t, 1, got.code, got.stderr)
	assert.Contains(t, got.stdout, "source \"payments\": reaches beyond its scope, team payments\n  PatchesParentPath: mine.rego:2: policy payments.mine changes /metadata/labels/owner, which policy acme.owner of source acme sets (owner.rego:3)")
	got = lintel(t, strings.ReplaceAll(tenantSources, "LABEL", "owner"), "prove", "-f", "-", "-o", "json")
	var list []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &list))
	require.Len(t, list, 2)
	assert.Equal(t, "counterexample", list[1]["verdict"])
	assert.Equal(t, "payments", list[1]["source"])
	inOneScope := strings.NewReplacer("  scope: {level: team, name: payments, namespaces: [payments]}\n", "", "payments.mine", "acme.owner", "scope: {level: enterprise, name: acme, grants: {wildcards: true}}", "failurePolicy: Fail").Replace(tenantSources)
	got = lintel(t, inOneScope, "prove", "-f", "-")
	assert.Equal(t, 1, got.code, got.stderr)
	assert.Contains(t, got.stdout, "source \"acme\": has a package that another source has, too\n  PackageConflict: ")
	assert.Contains(t, got.stdout, "source \"payments\": has a package that another source has, too\n  PackageConflict: ")
	assert.NotContains(t, got.stdout, "scope,")
	got = lintel(t, strings.ReplaceAll(tenantSources, "package payments.mine", "package payments.mine\n        x :="), "prove", "-f", "-")
	assert.Equal(t, 2, got.code)
}
