package hierarchy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

func TestPlacesOfTheEnterpriseAlone(t *testing.T) {
	require.Nil(t, PlacesOf([]Scope{{Level: Enterprise}, {Level: Enterprise, Namespaces: []string{"a"}}}))
}

func TestAScopeHasWhatAllScopesAboveHave(t *testing.T) {
	places := PlacesOf([]Scope{
		{Level: Enterprise},
		{Level: Org, Name: "o", Namespaces: []string{"shop-*"}},
		{Level: Team, Name: "t", Parent: "o", Namespaces: []string{"*-web", "other"}},
	})
	require.Len(t, places, 3)
	require.False(t, places[0].Below)
	require.True(t, places[0].Parent)
	require.True(t, places[1].Below && places[1].Parent)
	require.True(t, places[2].Below && !places[2].Parent)
	for namespace, has := range map[string]bool{"shop-web": true, "shop-db": false, "bank-web": false, "other": false} {
		require.Equal(t, has, places[2].Has(namespace), namespace)
		require.Equal(t, has, places[2].Sees(admission.GroupVersionKind{Kind: "Pod"}, namespace), namespace)
	}
	require.True(t, places[1].Has("shop-db"))
	require.False(t, places[1].Has("bank-web"))
	require.False(t, places[2].Sees(admission.GroupVersionKind{Kind: "Node"}, ""), "cluster-scoped objects are granted by kind")
}

func TestWhatAScopeMayRequire(t *testing.T) {
	resources := admission.BuiltinResources()
	node, secret, pod := admission.GroupVersionKind{Kind: "Node"}, admission.GroupVersionKind{Kind: "Secret"}, admission.GroupVersionKind{Kind: "Pod"}
	require.NoError(t, Grants{}.MayRequire(pod, resources))
	require.ErrorContains(t, Grants{}.MayRequire(node, resources), "requires Node, which is cluster-scoped")
	require.ErrorContains(t, Grants{}.MayRequire(secret, resources), "requires Secret, which contains confidential data")
	require.NoError(t, Grants{Requires: []admission.GroupVersionKind{node, secret}}.MayRequire(node, resources))
	require.NoError(t, Grants{Requires: []admission.GroupVersionKind{node, secret}}.MayRequire(secret, resources))
}

func TestWhatAScopeMayMutate(t *testing.T) {
	kind := func(group, kind string) admission.GroupVersionKind {
		return admission.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	}
	roleBinding, secret := kind("rbac.authorization.k8s.io", "RoleBinding"), kind("", "Secret")
	for _, free := range []admission.GroupVersionKind{kind("", "Pod"), kind("apps", "Deployment"), kind("", "ConfigMap"), kind("example.com", "Role"), kind("openclaw.enterprise.io", "OpenClawInstance")} {
		require.NoError(t, Grants{}.MayMutate(free))
	}
	for _, bound := range []admission.GroupVersionKind{
		roleBinding, secret, kind("", "ServiceAccount"), kind("", "ResourceQuota"), kind("", "Endpoints"), kind("discovery.k8s.io", "EndpointSlice"),
		kind("certificates.k8s.io", "CertificateSigningRequest"), kind("certificates.k8s.io", "PodCertificateRequest"),
		kind("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"), kind("authorization.k8s.io", "LocalSubjectAccessReview"),
		kind("policy.lintel.dev", "PolicySource"), kind("openclaw.enterprise.io", "PolicyBundle"), kind("iam.services.k8s.aws", "Role"),
	} {
		require.ErrorContains(t, Grants{}.MayMutate(bound), "mutates "+bound.WithoutVersion().String()+", which carries rights")
	}
	granted := Grants{Mutates: []admission.GroupVersionKind{roleBinding.WithoutVersion()}}
	require.NoError(t, granted.MayMutate(roleBinding))
	require.Error(t, granted.MayMutate(secret))
	require.Error(t, Grants{Requires: granted.Mutates}.MayMutate(roleBinding), "to read is another grant")
	require.Error(t, granted.MayRequire(secret, admission.BuiltinResources()))
}

func TestNamedRights(t *testing.T) {
	match := func(group, kind string) []admission.GroupVersionKind {
		return []admission.GroupVersionKind{{Group: group, Kind: kind}}
	}
	const rbac = "rbac.authorization.k8s.io"
	for name, c := range map[string]struct {
		kinds []admission.GroupVersionKind
		want  []string
	}{
		"no kinds":                    {nil, nil},
		"everything":                  {match("*", "*"), nil},
		"a group of other kinds, too": {match("", "*"), nil},
		"a kind":                      {match(rbac, "RoleBinding"), []string{"RoleBinding." + rbac}},
		"a kind of any group":         {match("*", "RoleBinding"), []string{"RoleBinding." + rbac}},
		"a group":                     {match(rbac, "*"), []string{"RoleBinding." + rbac, "Role." + rbac}},
		"a kind that is not served":   {match("iam.example.com", "Grant"), []string{"Grant.iam.example.com"}},
		"a kind without rights":       {match("apps", "Deployment"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var named []string
			for _, kind := range RightsKinds(c.kinds, admission.BuiltinResources()) {
				named = append(named, kind.String())
			}
			require.Equal(t, c.want, named)
		})
	}
}
