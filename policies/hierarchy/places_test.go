package hierarchy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

func TestPlacesOfTheEnterpriseAlone(t *testing.T) {
	require.Nil(t, Places([]Scope{{Level: Enterprise}, {Level: Enterprise, Namespaces: []string{"a"}}}))
}

func TestAScopeHasWhatAllScopesAboveHave(t *testing.T) {
	places := Places([]Scope{
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
	require.ErrorContains(t, Grants{}.MayRequire(secret, resources), "requires Secret, which holds what must stay secret")
	require.NoError(t, Grants{Requires: []admission.GroupVersionKind{node, secret}}.MayRequire(node, resources))
	require.NoError(t, Grants{Requires: []admission.GroupVersionKind{node, secret}}.MayRequire(secret, resources))
}
