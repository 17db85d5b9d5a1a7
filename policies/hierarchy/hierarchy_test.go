package hierarchy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

func TestHierarchy(t *testing.T) {
	scopeOf := func(level Level, name, parent string, namespaces ...string) Scope {
		return Scope{Level: level, Name: name, Parent: parent, Namespaces: namespaces}
	}
	acme := Scope{Level: Enterprise, Name: "acme"}
	retail := scopeOf(Org, "retail", "acme", "shop-*")
	shop := scopeOf(Team, "shop", "retail", "shop-a")
	h := New(acme, retail, shop)
	require.Equal(t, []Key{{Level: Enterprise}, {Org, "retail"}}, h.Above(shop))
	require.Equal(t, []Key{{Level: Enterprise}}, h.Above(scopeOf(User, "u", "nobody", "x")), "the enterprise binds all")
	require.Nil(t, h.Above(acme))

	_, err := h.Parent(scopeOf(User, "u", "nobody"))
	require.ErrorContains(t, err, `no live source declares a scope named "nobody"`)
	_, err = h.Parent(scopeOf(Org, "o", "shop"))
	require.ErrorContains(t, err, "broader than org", "a team is no parent of an org")
	_, err = New(retail, scopeOf(Team, "retail", "", "x")).Parent(scopeOf(User, "u", "retail"))
	require.ErrorContains(t, err, "several scopes")

	clock, pods := Grants{Clock: true}, Grants{Requires: []admission.GroupVersionKind{{Kind: "Secret"}}}
	granting := func(scope Scope, grants Grants) Scope { scope.Grants = grants; return scope }
	require.Equal(t, clock, New(granting(acme, clock), granting(retail, clock)).GrantsTo(shop))
	require.Zero(t, New(granting(acme, clock), granting(retail, pods)).GrantsTo(shop).Clock, "what only one of them grants")
	require.Empty(t, New(granting(acme, clock), granting(retail, pods)).GrantsTo(shop).Requires)
	both := Grants{Mutates: []admission.GroupVersionKind{{Kind: "Secret"}, {Kind: "ServiceAccount"}}}
	one := Grants{Mutates: []admission.GroupVersionKind{{Kind: "ServiceAccount"}}}
	require.Equal(t, one, New(granting(acme, both), granting(retail, one)).GrantsTo(shop))
	require.Empty(t, New(granting(acme, both), retail).GrantsTo(shop).Mutates, "a scope in between does not grant it")
	require.Zero(t, New().GrantsTo(retail), "without an enterprise there is nobody to grant")
}
