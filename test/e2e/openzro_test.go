package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	ozv1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/test/openzro"
)

// applyFive applies the five kinds of the product document.
func (x tenant) applyFive(t *testing.T) {
	t.Helper()
	x.apply(t, "OZGroup", "developers", map[string]any{"name": "e2e developers"})
	x.apply(t, "OZGroup", "databases", map[string]any{"name": "e2e databases"})
	x.apply(t, "OZSetupKey", "laptops", map[string]any{"name": "e2e laptops", "autoGroups": []string{"e2e developers"}})
	x.apply(t, "OZRoutingPeer", "router", map[string]any{"replicas": 1})
	x.reconciledRouter(t, "router")
	network, _ := x.status(t, "ozroutingpeer", "router")
	x.apply(t, "OZPolicy", "db-access", map[string]any{
		"name": "e2e db", "description": "to the databases", "sourceGroups": []string{"e2e developers"}, "destinationGroups": []string{"e2e databases"},
		"protocols": []string{"tcp"}, "ports": []int{5432},
	})
	x.apply(t, "OZResource", "db", map[string]any{
		"name": "e2e db", "networkID": network.NetworkID, "address": "10.9.8.7", "groups": []string{"e2e databases"}, "policyName": "db-access", "tcpPorts": []int{6432},
	})
}

// reconciledRouter waits for a routing peer, whose Pods do not run here: the test sets their
// status.
func (x tenant) reconciledRouter(t *testing.T, name string) {
	t.Helper()
	eventually(t, func() bool {
		_, ok := get(t, "deployment", name, "-n", x.namespace)
		return ok
	}, "the Deployment of "+name)
	replicas := mustGet(t, "deployment", name, "-n", x.namespace, "-o", "jsonpath={.spec.replicas} {.metadata.generation}")
	var wanted, generation int
	_, err := fmt.Sscan(replicas, &wanted, &generation)
	require.NoError(t, err)
	mustKubectl(t, "", "patch", "deployment", name, "-n", x.namespace, "--subresource=status", "--type=merge", "-p", asJSON(map[string]any{"status": map[string]any{
		"observedGeneration": generation, "replicas": wanted, "readyReplicas": wanted, "availableReplicas": wanted, "updatedReplicas": wanted,
		"conditions": []map[string]any{{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "available"}},
	}}))
	x.reconciled(t, "ozroutingpeer", name)
}

var five = map[string]string{"ozgroup": "developers", "ozsetupkey": "laptops", "ozroutingpeer": "router", "ozpolicy": "db-access", "ozresource": "db"}

// TestOpenZroFiveKinds: the product document's, what the server has of them, a second
// tenant with the same ones, and the server as it was once all are deleted.
func TestOpenZroFiveKinds(t *testing.T) {
	inParallel(t)
	first, second := newTenant(t, "first"), newTenant(t, "second")
	before := map[string]map[string][]string{"first": first.everything(t), "second": second.everything(t)}
	first.applyFive(t)
	second.applyFive(t)
	for _, x := range []tenant{first, second} {
		for kind, name := range five {
			x.reconciled(t, kind, name)
			require.Regexp(t, `(?m)^`+name+` +Reconciled `, mustKubectl(t, "", "get", kind, name, "-n", x.namespace))
		}
		x.holdsFive(t)
	}
	firstDeveloper, _ := first.groupNamed(t, "e2e developers")
	secondDeveloper, _ := second.groupNamed(t, "e2e developers")
	require.NotEqual(t, firstDeveloper.ID, secondDeveloper.ID, "each tenant has its own")

	held := second.everything(t)
	mustKubectl(t, "", "delete", "-n", first.namespace, openZroKinds, "--all", "--timeout=90s")
	require.Equal(t, before["first"], first.everything(t), "the server is as it was")
	require.Equal(t, held, second.everything(t), "the other tenant is as it was")
	mustKubectl(t, "", "delete", "-n", second.namespace, openZroKinds, "--all", "--timeout=90s")
	require.Equal(t, before["second"], second.everything(t))
}

// holdsFive checks what the server has of the five kinds.
func (x tenant) holdsFive(t *testing.T) {
	t.Helper()
	developers, there := x.groupNamed(t, "e2e developers")
	require.True(t, there)
	databases, there := x.groupNamed(t, "e2e databases")
	require.True(t, there)

	policies := x.policies(t)
	require.NotContains(t, policies, "e2e db UDP")
	require.Contains(t, policies, "e2e db TCP", "%v", slices.Collect(maps.Keys(policies)))
	rule := policies["e2e db TCP"].Rules[0]
	require.Equal(t, []string{"e2e developers"}, names(rule.Sources))
	require.Equal(t, []string{"e2e databases"}, names(rule.Destinations))
	require.ElementsMatch(t, []string{"5432", "6432"}, rule.Ports)
	require.Equal(t, "tcp", rule.Protocol)
	require.True(t, rule.Bidirectional)

	resources := list[openzro.Resource](t, x, "networks/resources")
	at := slices.IndexFunc(resources, func(r openzro.Resource) bool { return r.Name == "e2e db" })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, "10.9.8.7/32", resources[at].Address)
	require.Equal(t, []openzro.Link{{ID: resources[at].ID, Type: "host"}}, databases.Resources)

	keys := list[openzro.SetupKey](t, x, "setup-keys")
	at = slices.IndexFunc(keys, func(k openzro.SetupKey) bool { return k.Name == "e2e laptops" })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, []string{developers.ID}, keys[at].AutoGroups)
	require.Equal(t, "valid", keys[at].State)
	stored := x.secret(t, "laptops-key")["setupKey"]
	require.Regexp(t, `^[0-9A-F-]{36}$`, stored)
	require.Equal(t, keys[at].Key, stored[:5]+"****")

	s, _ := x.status(t, "ozroutingpeer", "router")
	networks := list[openzro.Network](t, x, "networks")
	at = slices.IndexFunc(networks, func(n openzro.Network) bool { return n.ID == s.NetworkID })
	require.GreaterOrEqual(t, at, 0)
	require.Len(t, networks[at].Routers, 1)
}

// TestOpenZroDefaultKey: a namespace without a Secret uses the manager's key if that is
// permitted, and otherwise reports the missing Secret.
func TestOpenZroDefaultKey(t *testing.T) {
	inParallel(t)
	permitted := tenant{namespace: "e2e-openzro-default", token: management.Token}
	without := tenant{namespace: "e2e-openzro-without", token: management.Token}
	for _, x := range []tenant{permitted, without} {
		makeNamespace(t, x.namespace)
		x.apply(t, "OZGroup", "g", map[string]any{"name": "e2e default"})
		t.Cleanup(func() {
			_, _ = cluster.Kubectl(context.Background(), "", "delete", "-n", x.namespace, "ozgroup", "g", "--timeout=60s")
		})
	}
	permitted.reconciled(t, "ozgroup", "g")
	_, there := permitted.groupNamed(t, "e2e default")
	require.True(t, there)
	require.Contains(t, without.await(t, "ozgroup", "g", ozv1.ReasonNoKey), ozv1.APIKeySecret)
	permitted.remove(t, "ozgroup", "g")
	_, there = permitted.groupNamed(t, "e2e default")
	require.False(t, there)
	without.remove(t, "ozgroup", "g")
}

// TestOpenZroKeysAreRotatedLive: the old token is revoked first, so nothing goes on with it.
func TestOpenZroKeysAreRotatedLive(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	x.apply(t, "OZGroup", "before", map[string]any{"name": "e2e before"})
	x.reconciled(t, "ozgroup", "before")
	service := makeAtServer[openzro.User](t, x, "users", map[string]any{"name": "e2e", "role": "admin", "is_service_user": true, "auto_groups": []string{}})
	t.Cleanup(func() {
		_, err := management.Send(context.Background(), x.token, http.MethodDelete, "users/"+service.ID, nil)
		assert.NoError(t, err)
	})
	tokens := "users/" + service.ID + "/tokens"
	newToken := func() openzro.NewToken {
		return makeAtServer[openzro.NewToken](t, x, tokens, map[string]any{"name": "e2e", "expires_in": 1})
	}
	old, next := newToken(), newToken()
	x.setKey(t, old.PlainToken)
	x.apply(t, "OZGroup", "old", map[string]any{"name": "e2e old"})
	x.reconciled(t, "ozgroup", "old")

	answer, err := management.Send(t.Context(), x.token, http.MethodDelete, tokens+"/"+old.PersonalAccessToken.ID, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
	x.apply(t, "OZGroup", "between", map[string]any{"name": "e2e between"})
	message := x.await(t, "ozgroup", "between", ozv1.ReasonUnauthorized)
	require.Contains(t, message, ozv1.APIKeySecret)
	require.NotContains(t, message, old.PlainToken)
	x.setKey(t, next.PlainToken)
	for _, name := range []string{"before", "old", "between"} {
		x.reconciled(t, "ozgroup", name)
	}
	for _, secret := range []string{x.token, old.PlainToken, next.PlainToken} {
		require.NotContains(t, managerLog(t), secret, "keys stand in no log")
	}
	require.NotContains(t, mustKubectl(t, "", "get", "events,"+openZroKinds, "-n", x.namespace, "-o", "yaml"), "nbp_")
	x.setKey(t, x.token) // the other goes with the test, before the objects
}

// TestOpenZroChangesBehindOnesBackAreRepaired within an interval, and at rest nothing is
// written.
func TestOpenZroChangesBehindOnesBackAreRepaired(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	x.applyFive(t)
	for kind, name := range five {
		x.reconciled(t, kind, name)
	}
	edit := func(method, path string, body any) {
		t.Helper()
		answer, err := management.Send(t.Context(), x.token, method, path, body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	}
	policy := x.policies(t)["e2e db TCP"]
	edit(http.MethodDelete, "policies/"+policy.ID, nil)
	eventually(t, func() bool { _, there := x.policies(t)["e2e db TCP"]; return there }, "the policy to be made again")

	developers, _ := x.groupNamed(t, "e2e developers")
	edit(http.MethodPut, "groups/"+developers.ID, map[string]any{"name": "e2e renamed"})
	eventually(t, func() bool { _, there := x.groupNamed(t, "e2e developers"); return there }, "the group to have its name again")

	resources := list[openzro.Resource](t, x, "networks/resources")
	at := slices.IndexFunc(resources, func(r openzro.Resource) bool { return r.Name == "e2e db" })
	network, _ := x.status(t, "ozroutingpeer", "router")
	edit(http.MethodPut, "networks/"+network.NetworkID+"/resources/"+resources[at].ID, map[string]any{"name": "e2e db", "address": "10.0.0.9", "enabled": true, "groups": []string{}})
	eventually(t, func() bool {
		resources := list[openzro.Resource](t, x, "networks/resources")
		at := slices.IndexFunc(resources, func(r openzro.Resource) bool { return r.Name == "e2e db" })
		return at >= 0 && resources[at].Address == "10.9.8.7/32" && len(resources[at].Groups) == 1
	}, "the resource to be as it was")
	eventually(t, func() bool { _, there := x.groupNamed(t, "e2e renamed"); return !there || management.Double == nil }, "no group to be left over")
	x.restsAtTheServer(t)
}

// restsAtTheServer waits until a few intervals have gone by, and fails where something was
// written in them.
func (x tenant) restsAtTheServer(t *testing.T) {
	t.Helper()
	if management.Double == nil {
		return // a real server does not count
	}
	for kind, name := range five {
		x.reconciled(t, kind, name)
	}
	lists := openzro.Call{Account: x.account.Name, Method: http.MethodGet, Route: "groups"}
	quiet := func() bool {
		before, writes := management.Double.Count(lists), management.Double.Writes(openzro.Call{Account: x.account.Name})
		eventually(t, func() bool { return management.Double.Count(lists) >= before+3 }, "three more lists")
		return management.Double.Writes(openzro.Call{Account: x.account.Name}) == writes
	}
	eventually(t, quiet, "nothing to be written at rest")
	require.True(t, quiet(), "and it stays so")
}
