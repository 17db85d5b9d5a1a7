package e2e

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// TestRulesFollowThePolicies: what no policy matches is never called out for.
func TestRulesFollowThePolicies(t *testing.T) {
	namespace := newNamespace(t)
	require.NotContains(t, registered(t), "configmaps")

	applySource(t, "on-config-maps", inNamespace(namespace, configMapKind, "package on_config_maps\ndeny contains \"no ConfigMaps here\""), nil)
	require.Contains(t, registered(t), "configmaps", "a source that is Ready is registered")
	output, ok := apply(t, configMap(namespace, "c"))
	require.False(t, ok)
	require.Contains(t, output, "denied the request: no ConfigMaps here [on_config_maps deny, policy.rego:7, on-config-maps@")

	removeSource(t.Context(), "on-config-maps")
	eventually(t, func() bool { return !slices.Contains(registered(t), "configmaps") }, "the rule to go with the policy")
	output, ok = apply(t, configMap(namespace, "c"))
	require.True(t, ok, output)
}

// registered are the resources that the entries of user policies are called for. It
// fails when any entry lacks its CA bundle.
func registered(t *testing.T) []string {
	t.Helper()
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	require.NoError(t, json.Unmarshal([]byte(mustKubectl(t, "", "get", "validatingwebhookconfiguration", "lintel", "-o", "json")), &validating))
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	require.NoError(t, json.Unmarshal([]byte(mustKubectl(t, "", "get", "mutatingwebhookconfiguration", "lintel", "-o", "json")), &mutating))
	var names, resources []string
	add := func(name string, bundle []byte, rules []admissionregistrationv1.RuleWithOperations) {
		require.NotEmpty(t, bundle, "entry %s has lost its CA bundle", name)
		names = append(names, name)
		for _, rule := range rules {
			if name != "policysource.policy.lintel.dev" {
				resources = append(resources, rule.Resources...)
			}
		}
	}
	for _, w := range validating.Webhooks {
		add(w.Name, w.ClientConfig.CABundle, w.Rules)
	}
	for _, w := range mutating.Webhooks {
		add(w.Name, w.ClientConfig.CABundle, w.Rules)
	}
	require.Equal(t, []string{
		"policysource.policy.lintel.dev", "ignore.policies.lintel.dev", "fail.policies.lintel.dev",
		"ignore.policies.lintel.dev", "fail.policies.lintel.dev",
	}, names, "the entries are always the same")
	return resources
}

func TestSomebodyElsesEditOfTheRegistrationIsUndone(t *testing.T) {
	namespace := newNamespace(t)
	applySource(t, "guarded", inNamespace(namespace, configMapKind, "package guarded\ndeny contains \"guarded\""), nil)
	mustKubectl(t, "", "patch", "validatingwebhookconfiguration", "lintel", "--type=json", "-p",
		`[{"op":"replace","path":"/webhooks/2/rules","value":[]}]`)
	eventually(t, func() bool { return slices.Contains(registered(t), "configmaps") }, "the rules to come back")
}
