package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// TestKindsThatCarryRightsAreMutatedByGrant is the attack of a team whose policy adds its
// own user to a RoleBinding that an administrator creates in the team's namespace.
func TestKindsThatCarryRightsAreMutatedByGrant(t *testing.T) {
	const (
		binding = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"admins","namespace":"shop"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[]}`
		account = `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"deployer","namespace":"shop"},"subjects":[]}`
		config  = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"shop"},"subjects":[]}`
		// As JSON, the attack is independent of the kind.
		attack   = "package p\npatch contains {\"op\": \"add\", \"path\": \"/subjects/-\", \"value\": {\"kind\": \"User\", \"name\": \"mallory\"}} if input.request.object.subjects == []"
		defaults = "package p\ndefaults.metadata.labels.evil := \"yes\""
	)
	match := func(kinds, rego string) string {
		return "# METADATA\n# custom:\n#   match: {operations: [CREATE, UPDATE], kinds: [" + kinds + "]}\n" + rego
	}
	roleBinding := admission.GroupVersionKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}
	type outcome int
	const (
		left outcome = iota
		refused
		mutated
	)
	for name, c := range map[string]struct {
		rego, object string
		grants       hierarchy.Grants
		want         outcome
	}{
		"without match":            {attack, binding, hierarchy.Grants{}, left},
		"defaults":                 {defaults, binding, hierarchy.Grants{}, left},
		"every kind":               {match(`{group: "*", kind: "*"}`, attack), binding, hierarchy.Grants{}, left},
		"every kind of a group":    {match(`{group: "", kind: "*"}`, attack), account, hierarchy.Grants{}, left},
		"every kind with rights":   {match(`{group: rbac.authorization.k8s.io, kind: "*"}`, attack), binding, hierarchy.Grants{}, refused},
		"the kind":                 {match(`{group: rbac.authorization.k8s.io, kind: RoleBinding}`, attack), binding, hierarchy.Grants{}, refused},
		"the kind in any group":    {match(`{group: "*", kind: RoleBinding}`, attack), binding, hierarchy.Grants{}, refused},
		"the kind by defaults":     {match(`{group: "", kind: ServiceAccount}`, defaults), account, hierarchy.Grants{}, refused},
		"another grant":            {match(`{group: "", kind: ServiceAccount}`, attack), account, hierarchy.Grants{Mutates: []admission.GroupVersionKind{roleBinding}}, refused},
		"the kind, granted":        {match(`{group: rbac.authorization.k8s.io, kind: RoleBinding}`, attack), binding, hierarchy.Grants{Mutates: []admission.GroupVersionKind{roleBinding}}, mutated},
		"by a wildcard, granted":   {attack, binding, hierarchy.Grants{Mutates: []admission.GroupVersionKind{roleBinding}}, mutated},
		"what carries no rights":   {attack, config, hierarchy.Grants{}, mutated},
		"no rights, by a wildcard": {match(`{group: "", kind: "*"}`, attack), config, hierarchy.Grants{}, mutated},
	} {
		t.Run(name, func(t *testing.T) {
			enterprise := scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise, Grants: c.grants}, "package all\nwarn contains \"x\"")
			team := scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), c.rego)
			snapshot := snapshotOf(enterprise, team)
			reviews := []*admission.Review{makeReview(t, c.object)}
			if strings.Contains(c.rego, "UPDATE") {
				reviews = append(reviews, update(t, c.object))
			}
			for _, review := range reviews {
				mutation := snapshot.Mutate(t.Context(), review, Options{})
				require.Equal(t, c.want == mutated, len(mutation.Patch) > 0)
				if c.want != refused {
					require.Empty(t, textsOf(mutation.Denials))
					continue
				}
				require.Len(t, mutation.Denials, 1)
				require.Contains(t, mutation.Denials[0].Words, "policy p cannot be evaluated: it mutates "+review.Kind.WithoutVersion().String()+", which carries rights")
			}
			explained := snapshot.ExplainMutation(t.Context(), makeReview(t, c.object), Options{})[0]
			require.Equal(t, map[outcome]Answer{left: AnswerNotMatched, refused: AnswerCannotBeAsked, mutated: AnswerAsked}[c.want], explained.Answer)
			if c.want == left {
				require.Contains(t, explained.Reason, "carries rights")
			}
		})
	}

	t.Run("the enterprise mutates them without a grant", func(t *testing.T) {
		snapshot := snapshotOf(scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, attack), scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), no))
		require.NotEmpty(t, snapshot.Mutate(t.Context(), makeReview(t, binding), Options{}).Patch)
	})
	t.Run("under Ignore, the object is admitted as it is", func(t *testing.T) {
		team := scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), match(`{group: rbac.authorization.k8s.io, kind: RoleBinding}`, attack), func(s *definition.Source) { s.FailurePolicy = definition.Ignore })
		mutation := snapshotOf(team).Mutate(t.Context(), makeReview(t, binding), Options{})
		require.Empty(t, mutation.Patch)
		require.True(t, mutation.Allowed())
		require.Contains(t, mutation.Warnings[0].Words, "which carries rights")
	})
	t.Run("an org in between that does not grant it", func(t *testing.T) {
		grants := hierarchy.Grants{Mutates: []admission.GroupVersionKind{roleBinding}}
		snapshot := snapshotOf(
			scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise, Grants: grants}, "package all\nwarn contains \"x\""),
			scoped(t, "org", scopeOf(hierarchy.Org, "retail", "", "shop"), "package org\nwarn contains \"x\""),
			scoped(t, "team", scopeOf(hierarchy.Team, "shop", "retail", "shop"), attack),
		)
		require.Empty(t, snapshot.Mutate(t.Context(), makeReview(t, binding), Options{}).Patch)
	})
}
