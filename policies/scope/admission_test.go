package scope

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// source compiles files of a scope; a Rego text stands for policy.rego.
func source(t *testing.T, name string, scope hierarchy.Scope, files ...string) *engine.PolicySet {
	t.Helper()
	s := definition.Source{Name: name, Scope: scope, Files: map[string]string{"policy.rego": files[0]}}
	for i := 1; i < len(files); i += 2 {
		s.Files[files[i]] = files[i+1]
	}
	set, err := policyset.Compile(s)
	require.NoError(t, err)
	return set
}

func metadata(lines string, rego string) string {
	return "# METADATA\n# custom:\n#   " + strings.ReplaceAll(lines, "\n", "\n#   ") + "\n" + rego
}

const mutates = "package team.labels\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/team\", \"value\": \"shop\"}"

const denies = "package team.labels\ndeny contains \"no\""

func TestASourceKeepsWithinItsScope(t *testing.T) {
	team := func(namespaces ...string) hierarchy.Scope {
		return hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Parent: "retail", Namespaces: namespaces}
	}
	acme := hierarchy.Scope{Level: hierarchy.Enterprise, Name: "acme", Grants: hierarchy.Grants{Wildcards: true}}
	retail := hierarchy.Scope{Level: hierarchy.Org, Name: "retail", Namespaces: []string{"shop-*", "till"}, Grants: hierarchy.Grants{Wildcards: true}}
	granting := func(scope hierarchy.Scope) hierarchy.Scope {
		scope.Grants = hierarchy.Grants{
			Clock: true, Wildcards: true, Requires: []admission.GroupVersionKind{{Kind: "Secret"}, {Kind: "Node"}},
			Mutates: []admission.GroupVersionKind{{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}},
		}
		return scope
	}
	const (
		base    = "package acme.base\nwarn contains \"x\" if data.exemptions[input.name]\nwarn contains data.acme.lib.text"
		patches = "package acme.base\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/owner\", \"value\": \"x\"}\npatch contains {\"op\": \"add\", \"path\": sprintf(\"/spec/containers/%d/image\", [0]), \"value\": \"x\"}\ndefaults := {\"spec\": {\"hostNetwork\": false}}"
		makes   = "package acme.base\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {}} if not input.request.object.metadata.labels\npatch contains {\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"owner\": \"x\"}} if not input.request.object.metadata.annotations"
	)
	for name, c := range map[string]struct {
		scope      hierarchy.Scope
		candidate  []string
		enterprise string // base unless set
		grants     bool
		withheld   bool   // by the org: kinds that a policy does not name
		reason     string // empty: it keeps within
		message    string
	}{
		"it denies":       {scope: team("shop-a"), candidate: []string{denies}},
		"no such parent":  {scope: hierarchy.Scope{Level: hierarchy.Team, Name: "x", Parent: "nobody", Namespaces: []string{"a"}}, candidate: []string{denies}, reason: ReasonNoParent, message: `no live source declares a scope named "nobody"`},
		"beyond the org":  {scope: team("shop-a", "bank"), candidate: []string{denies}, reason: ReasonOutsideParent, message: `they match "bank", and org retail has shop-*, till only`},
		"a wider glob":    {scope: team("s*"), candidate: []string{denies}, reason: ReasonOutsideParent, message: `they match "s"`},
		"another parent":  {scope: hierarchy.Scope{Level: hierarchy.Org, Name: "retail", Parent: "acme", Namespaces: []string{"till"}}, candidate: []string{denies}, reason: ReasonOutsideParent, message: "one scope has one parent"},
		"its own pattern": {scope: team("shop-*"), candidate: []string{metadata(`match: {namespaces: ["shop-a*"]}`, denies)}},
		"others, excluded": {
			scope: team("shop-*"), candidate: []string{metadata(`match: {namespaces: ["shop-*", "till"], excludedNamespaces: [till]}`, denies)},
		},
		"a namespace of others": {
			scope: team("shop-*"), candidate: []string{metadata(`match: {namespaces: ["*"]}`, denies)},
			reason: ReasonMatchesOutside, message: `match.namespaces (*) matches "a", and team shop has shop-* only`,
		},
		"cluster-scoped": {
			scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: "", kind: Namespace}]}`, denies)},
			reason: ReasonMatchesOutside, message: "Namespace is cluster-scoped",
		},
		"a version": {
			scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}]}`, denies)},
			reason: ReasonMatchesOutside, message: "names version v1 of HorizontalPodAutoscaler.autoscaling",
		},
		"Secrets":            {scope: team("shop-*"), candidate: []string{metadata(`requires: [{group: "", kind: Secret}]`, denies)}, reason: ReasonNotGranted, message: "requires Secret, which holds what must stay secret"},
		"Secrets, granted":   {scope: team("shop-*"), candidate: []string{metadata(`requires: [{group: "", kind: Secret}, {group: "", kind: Node}]`, denies)}, grants: true},
		"Nodes":              {scope: team("shop-*"), candidate: []string{metadata(`requires: [{group: "", kind: Node}]`, denies)}, reason: ReasonNotGranted, message: "requires Node, which is cluster-scoped"},
		"ConfigMaps":         {scope: team("shop-*"), candidate: []string{metadata(`requires: [{group: "", kind: ConfigMap}]`, denies)}},
		"the clock":          {scope: team("shop-*"), candidate: []string{metadata(`clock: true`, denies)}, reason: ReasonNotGranted, message: "reads the time"},
		"the clock, granted": {scope: team("shop-*"), candidate: []string{metadata(`clock: true`, denies)}, grants: true},
		"more time":          {scope: team("shop-*"), candidate: []string{metadata(`timeout: 1s`, denies)}, reason: ReasonNotGranted, message: "has timeout: 1s"},
		"RoleBindings": {
			scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: rbac.authorization.k8s.io, kind: RoleBinding}]}`, mutates)},
			reason: ReasonNotGranted, message: "policy.rego:4: policy team.labels mutates RoleBinding.rbac.authorization.k8s.io, which carries rights: a scope below the enterprise may do so only where every scope above grants it (spec.scope.grants.mutates of their PolicySources); take the kind out of match.kinds",
		},
		"RoleBindings of any group": {
			scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: "*", kind: RoleBinding}]}`, mutates)},
			reason: ReasonNotGranted, message: "mutates RoleBinding.rbac.authorization.k8s.io, which carries rights",
		},
		"RoleBindings, granted":      {scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: rbac.authorization.k8s.io, kind: RoleBinding}]}`, mutates)}, grants: true},
		"RoleBindings, denied":       {scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: rbac.authorization.k8s.io, kind: RoleBinding}]}`, denies)}},
		"a group, granted in part":   {scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: rbac.authorization.k8s.io, kind: "*"}]}`, mutates)}, grants: true, reason: ReasonNotGranted, message: "mutates Role.rbac.authorization.k8s.io"},
		"every kind leaves them out": {scope: team("shop-*"), candidate: []string{mutates}},
		"a parent's package":         {scope: team("shop-*"), candidate: []string{"package acme.base\ndeny contains \"no\""}, reason: ReasonRedeclares, message: "package acme.base has the path of policy acme.base of source all"},
		"within it":                  {scope: team("shop-*"), candidate: []string{denies, "lib.rego", "package acme.base.exceptions\nx := 1"}, reason: ReasonRedeclares, message: "lib.rego:1: package acme.base.exceptions"},
		"around it":                  {scope: team("shop-*"), candidate: []string{denies, "lib.rego", "package acme\nbase := {}"}, reason: ReasonRedeclares, message: "package acme has the path"},
		"what a parent reads":        {scope: team("shop-*"), candidate: []string{denies, "lib.rego", "package exemptions\nweb := true"}, reason: ReasonExempts, message: "read data.exemptions: exemptions belong to the scope that owns the rule"},
		"as data":                    {scope: team("shop-*"), candidate: []string{denies, "data.yaml", "exemptions: {web: true}"}, reason: ReasonExempts, message: "a data file defines data.exemptions"},
		"as data in a folder":        {scope: team("shop-*"), candidate: []string{denies, "exemptions/data.yaml", "web: true"}, reason: ReasonExempts, message: "a data file defines data.exemptions"},
		"no kinds":                   {scope: team("shop-*"), candidate: []string{denies}, withheld: true, reason: ReasonNotGranted, message: "policy.rego:1: policy team.labels matches kinds that it does not name"},
		"every kind":                 {scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: apps, kind: Deployment}, {group: apps, kind: "*"}]}`, denies)}, withheld: true, reason: ReasonNotGranted, message: "spec.scope.grants.wildcards"},
		"every group":                {scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: "*", kind: Deployment}]}`, denies)}, withheld: true, reason: ReasonNotGranted, message: "name the kinds in match.kinds"},
		"kinds by their name":        {scope: team("shop-*"), candidate: []string{metadata(`match: {kinds: [{group: apps, version: "*", kind: Deployment}]}`, denies)}, withheld: true},
		"a library of the same name": {
			scope: team("shop-*"), candidate: []string{denies, "lib.rego", "package acme.lib\ntext := \"mine\""},
		},
		"a parent's label": {
			scope: team("shop-*"), enterprise: patches,
			candidate: []string{"package p\npatch contains {\"op\": \"replace\", \"path\": \"/metadata/labels/owner\", \"value\": \"me\"}"},
			reason:    ReasonPatchesParent, message: "policy p changes /metadata/labels/owner, which policy acme.base of source all sets (policy.rego:2)",
		},
		"above it": {
			scope: team("shop-*"), enterprise: patches,
			candidate: []string{"package p\npatch contains {\"op\": \"remove\", \"path\": \"/metadata/labels\"}"},
			reason:    ReasonPatchesParent, message: "policy p changes /metadata/labels, which",
		},
		"a computed element": {
			scope: team("shop-*"), enterprise: patches,
			candidate: []string{"package p\npatch contains {\"op\": \"replace\", \"path\": \"/spec/containers/3/image\", \"value\": \"me\"}"},
			reason:    ReasonPatchesParent, message: "/spec/containers/3/image",
		},
		"a default": {
			scope: team("shop-*"), enterprise: patches,
			candidate: []string{"package p\ndefaults.spec.hostNetwork := true"},
			reason:    ReasonPatchesParent, message: "policy p changes /spec/hostNetwork",
		},
		"moved away": {
			scope: team("shop-*"), enterprise: patches,
			candidate: []string{"package p\npatch contains {\"op\": \"move\", \"from\": \"/metadata/labels/owner\", \"path\": \"/metadata/labels/mine\"}"},
			reason:    ReasonPatchesParent, message: "/metadata/labels/owner",
		},
		"another label": {
			scope: team("shop-*"), enterprise: patches,
			candidate: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/mine\", \"value\": \"me\"}"},
		},
		"a label where a map is made": {
			scope: team("shop-*"), enterprise: makes,
			candidate: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/mine\", \"value\": \"me\"}\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {}}\npatch contains {\"op\": \"add\", \"path\": \"/metadata/annotations/mine\", \"value\": \"me\"}"},
		},
		"what is put into a map that is made": {
			scope: team("shop-*"), enterprise: makes,
			candidate: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/annotations/owner\", \"value\": \"me\"}"},
			reason:    ReasonPatchesParent, message: "policy p changes /metadata/annotations/owner, which",
		},
		"the map that is made, replaced": {
			scope: team("shop-*"), enterprise: makes,
			candidate: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"mine\": \"me\"}}"},
			reason:    ReasonPatchesParent, message: "policy p changes /metadata/annotations, which",
		},
		"the map that is made, removed": {
			scope: team("shop-*"), enterprise: makes,
			candidate: []string{"package p\npatch contains {\"op\": \"remove\", \"path\": \"/metadata/labels\"}"},
			reason:    ReasonPatchesParent, message: "policy p changes /metadata/labels, which",
		},
		"of another kind": {
			scope: team("shop-*"), enterprise: metadata(`match: {kinds: [{group: apps, kind: Deployment}]}`, patches),
			candidate: []string{metadata(`match: {kinds: [{group: "", kind: Pod}]}`, "package p\npatch contains {\"op\": \"replace\", \"path\": \"/metadata/labels/owner\", \"value\": \"me\"}")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			enterprise, org := acme, retail
			if c.grants {
				enterprise, org = granting(acme), granting(retail)
			}
			if c.withheld {
				org.Grants = hierarchy.Grants{}
			}
			if c.enterprise == "" {
				c.enterprise = base
			}
			others := []*engine.PolicySet{
				source(t, "all", enterprise, c.enterprise, "acme/lib/lib.rego", "package acme.lib\ntext := \"x\""),
				source(t, "retail", org, "package retail.base\nwarn contains \"x\""),
				source(t, "other-team", hierarchy.Scope{Level: hierarchy.Team, Name: "bank", Namespaces: []string{"bank"}}, denies),
			}
			violations := Check(source(t, "shop", c.scope, c.candidate...), nil, others, admission.BuiltinResources())
			if c.reason == "" {
				require.Empty(t, violations)
				return
			}
			require.NotEmpty(t, violations)
			require.Equal(t, c.reason, violations[0].Reason, "%v", violations)
			require.Contains(t, violations[0].Error(), c.message)
		})
	}
}

func TestTwoSourcesOfOneScopeHaveTheirOwnPackages(t *testing.T) {
	others := []*engine.PolicySet{source(t, "first", hierarchy.Scope{}, denies)}
	violations := Check(source(t, "second", hierarchy.Scope{}, denies), nil, others, admission.BuiltinResources())
	require.Len(t, violations, 1)
	require.Equal(t, ReasonPackageConflict, violations[0].Reason)
	require.Contains(t, violations[0].Error(), "policy.rego:1: source first has a policy team.labels, too (policy.rego:1)")
	require.Empty(t, Check(source(t, "second", hierarchy.Scope{}, "package other\ndeny contains \"no\""), nil, others, admission.BuiltinResources()))
}

// TestTheOlderSourceKeepsAPackage that two live sources have. A source that is not live, or has
// no such package live, cannot claim the package of a younger one.
func TestTheOlderSourceKeepsAPackage(t *testing.T) {
	at := func(name string, created int64) *engine.PolicySet {
		set, err := policyset.Compile(definition.Source{Name: name, Files: map[string]string{"policy.rego": denies}, Created: time.Unix(created, 0)})
		require.NoError(t, err)
		return set
	}
	unstored, err := policyset.Compile(definition.Source{Name: "a", Files: map[string]string{"policy.rego": denies}})
	require.NoError(t, err)
	for _, c := range []struct{ older, younger *engine.PolicySet }{
		{at("b", 1), at("a", 2)}, {at("a", 1), at("b", 1)}, {at("b", 1), unstored},
	} {
		require.Empty(t, CheckPackages(c.older, []*engine.PolicySet{c.younger}))
		require.Empty(t, Check(c.older, c.older, []*engine.PolicySet{c.younger}, admission.BuiltinResources()), "both are live")
		require.Len(t, Check(c.older, nil, []*engine.PolicySet{c.younger}, admission.BuiltinResources()), 1, "the younger one is live")
		require.Len(t, CheckPackages(c.younger, []*engine.PolicySet{c.older}), 1)
		require.Len(t, Check(c.younger, c.younger, []*engine.PolicySet{c.older}, admission.BuiltinResources()), 1)
	}
	other := source(t, "other", hierarchy.Scope{Level: hierarchy.Team, Name: "bank", Namespaces: []string{"bank"}}, denies)
	require.Empty(t, CheckPackages(at("b", 2), []*engine.PolicySet{other}), "another scope")
}

// TestTheEnterpriseHasNoParent, whatever it names.
func TestTheEnterpriseHasNoParent(t *testing.T) {
	require.Empty(t, CheckScope(hierarchy.Scope{Level: hierarchy.Enterprise, Parent: "nobody"}, []hierarchy.Scope{{Level: hierarchy.Enterprise}}))
}

// What narrower scopes have holds no broader one up.
func TestABroaderScopeIsNotJudgedByNarrowerOnes(t *testing.T) {
	child := source(t, "child", hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Namespaces: []string{"shop"}}, "package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/x\", \"value\": \"y\"}")
	parent := source(t, "parent", hierarchy.Scope{}, "package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/x\", \"value\": \"z\"}")
	require.Empty(t, Check(parent, nil, []*engine.PolicySet{child}, admission.BuiltinResources()))
	require.NotEmpty(t, Check(child, nil, []*engine.PolicySet{parent}, admission.BuiltinResources()))
}
