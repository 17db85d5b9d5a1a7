package registration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// TestExpandedKinds: the webhook is called for kinds whose Pod templates are reviewed, in the versions
// that ExpansionTemplates name. A policy that is written for another version is a conflict: the Pods
// would not be reviewed.
func TestExpandedKinds(t *testing.T) {
	t.Parallel()
	resources := admission.BuiltinResources()
	scaler := func(version string) []admission.GroupVersionKind {
		return []admission.GroupVersionKind{{Group: "autoscaling", Version: version, Kind: "HorizontalPodAutoscaler"}}
	}
	expanding := validates("X/a", definition.Match{
		Kinds: []admission.GroupVersionKind{{Kind: "Pod"}}, Operations: []string{"CREATE", "UPDATE"}, Expand: definition.ExpandDeny, ExpandedKinds: scaler("v1"),
	})
	expanding.AnyVersion = true
	for name, c := range map[string]struct {
		others   []engine.PolicyInfo
		version  string
		conflict string
	}{
		"alone":                       {nil, "*", ""},
		"next to the same version":    {[]engine.PolicyInfo{validates("b", definition.Match{Kinds: scaler("v1")})}, "v1", ""},
		"next to another version":     {[]engine.PolicyInfo{validates("b", definition.Match{Kinds: scaler("v2")})}, "v2", "policies b (team) and X/a (team) by its ExpansionTemplate want HorizontalPodAutoscaler.autoscaling in two versions, v2 and v1"},
		"next to a policy for others": {[]engine.PolicyInfo{validates("b", definition.Match{Kinds: []admission.GroupVersionKind{{Kind: "Secret"}}})}, "*", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, conflicts := validatingRules(append([]engine.PolicyInfo{expanding}, c.others...), nil, resources)
			if c.conflict == "" {
				require.Empty(t, conflicts)
			} else {
				require.NotEmpty(t, conflicts)
				require.Contains(t, conflicts[0].Error(), c.conflict)
			}
			found := false
			for _, rule := range rules {
				if rule.Resources[0] == "horizontalpodautoscalers" {
					found = true
					require.Equal(t, []string{c.version}, rule.APIVersions)
				}
			}
			require.True(t, found, "the webhook is called for the kind")
		})
	}
}
