package openclaw

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	rules "github.com/lintel-policy/lintel/policies/rules/openclaw"
)

func TestPolicyKeys(t *testing.T) {
	for name, c := range map[string]struct {
		policy v1.Policy
		want   string
	}{
		"plain":        {v1.Policy{Scope: "enterprise", Domain: "models", Name: "model-routing"}, "enterprise-models-model-routing.rego"},
		"hyphens":      {v1.Policy{Scope: "org", Domain: "agent-to-agent", Name: "peers"}, "org-agent_to_agent-peers.rego"},
		"spaces":       {v1.Policy{Scope: "team", Domain: "data", Name: `My Policy/of\two.parts`}, "team-data-my_policy_of_two_parts.rego"},
		"foreign":      {v1.Policy{Scope: "user", Domain: "audit", Name: "Prüfung: ja!"}, "user-audit-pr_fung__ja_.rego"},
		"dots and ../": {v1.Policy{Scope: "user", Domain: "audit", Name: "../x"}, "user-audit-___x.rego"},
	} {
		require.Equal(t, c.want, policyKey(c.policy), name)
	}
	long := func(last string) string {
		return policyKey(v1.Policy{Scope: "enterprise", Domain: "agent-to-agent", Name: strings.Repeat("x", 300) + last})
	}
	require.Len(t, long("a"), maxKey)
	require.Empty(t, validation.IsConfigMapKey(long("a")))
	require.NotEqual(t, long("a"), long("b"), "long names stay apart")
}

func TestTwoPoliciesOfOneKeyAreNamed(t *testing.T) {
	bundle := makeBundle("b", v1.ScopeOrg, allowAll)
	bundle.Spec.Policies = append(bundle.Spec.Policies, bundle.Spec.Policies[0])
	bundle.Spec.Policies[1].Name = "Routing"
	_, err := policyFiles(bundle)
	require.EqualError(t, err, `policies "routing" and "Routing" of scope org and domain "models" both become file org-models-routing.rego; rename one of them`)

	bundle.Spec.Policies[1].Scope = v1.ScopeTeam
	files, err := policyFiles(bundle)
	require.NoError(t, err)
	require.Len(t, files, 2)
}

func TestKeysAreReadBack(t *testing.T) {
	for _, domain := range rules.AllDomains {
		for _, level := range []v1.Scope{"enterprise", "org", "team", "user"} {
			source, err := sourceOf(policyKey(v1.Policy{Scope: level, Domain: domain.Name, Name: "data-x"}))
			require.NoError(t, err)
			require.Equal(t, string(level), string(source.Level))
			require.Equal(t, domain.Name, source.Domain.Name)
			require.Equal(t, "data-x", source.Name)
		}
	}
	_, err := sourceOf("enterprise-nothing-x.rego")
	require.EqualError(t, err, "file enterprise-nothing-x.rego names no scope and domain")
}
