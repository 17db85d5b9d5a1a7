package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	ozv1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/test/openzro"
)

// groupsInBulk are the objects that are applied while the server is away.
const groupsInBulk = 100

// TestOpenZroServerIsStoppedUnderLoad: 100 objects are applied, among them some that are
// deleted immediately, while the server stops and starts. No item is lost and none exists
// twice.
func TestOpenZroServerIsStoppedUnderLoad(t *testing.T) {
	if management.Double == nil {
		t.Log("nobody stops a real one")
		return
	}
	x := newTenant(t, "first")
	before := x.everything(t)
	started := make(chan struct{})
	var loading errgroup.Group
	loading.Go(func() error { return x.applyInBulk(t.Context(), started) })
	<-started
	management.Double.Stop()
	t.Cleanup(func() { _ = management.Double.Resume() }) // where the test fails before
	require.NoError(t, loading.Wait())
	x.await(t, "ozgroup", fmt.Sprintf("bulk-%d", groupsInBulk-1), ozv1.ReasonAPIError)
	// Deleted while the server is unreachable: the finalizer waits, and reports the reason.
	mustKubectl(t, "", "delete", "-n", x.namespace, "ozgroup", "bulk-0", "bulk-50", "--wait=false")
	require.NoError(t, management.Double.Resume())
	eventually(t, func() bool {
		output := mustGet(t, "ozgroups", "-n", x.namespace, "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].reason}{"\n"}{end}`)
		return strings.Count(output, ozv1.ReasonReconciled) == groupsInBulk-2
	}, "all to be Reconciled but for those that are deleted")
	found := map[string]int{}
	for _, g := range x.account.Groups() {
		found[g.Name]++
	}
	for i := range groupsInBulk {
		want := 1
		if i == 0 || i == 50 {
			want = 0
		}
		require.Equal(t, want, found[fmt.Sprintf("bulk %d", i)], "bulk %d", i)
	}
	mustKubectl(t, "", "delete", "-n", x.namespace, "ozgroups", "--all", "--timeout=90s")
	require.Equal(t, before, x.everything(t))
}

// applyInBulk closes started when a part of the objects exists.
func (x tenant) applyInBulk(ctx context.Context, started chan<- struct{}) error {
	for part := range 4 {
		var objects strings.Builder
		for i := part * groupsInBulk / 4; i < (part+1)*groupsInBulk/4; i++ {
			objects.WriteString(x.object("OZGroup", fmt.Sprintf("bulk-%d", i), map[string]any{"name": fmt.Sprintf("bulk %d", i)}) + "\n---\n")
		}
		if output, err := cluster.Kubectl(ctx, objects.String(), "apply", "-f", "-"); err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		if part == 0 {
			close(started)
		}
	}
	return nil
}

// TestOpenZroServerThatMisbehaves: the object reports each fault and is Reconciled once the
// server recovers, with one group of the name.
func TestOpenZroServerThatMisbehaves(t *testing.T) {
	inParallel(t)
	if management.Double == nil {
		t.Log("a real one does not on demand")
		return
	}
	other := newTenant(t, "second")
	for name, fault := range map[string]struct {
		what   openzro.Misbehaviour
		reason string
	}{
		"unauthorized": {openzro.Failure(http.StatusUnauthorized), ozv1.ReasonUnauthorized},
		"forbidden":    {openzro.Failure(http.StatusForbidden), ozv1.ReasonForbidden},
		"limited":      {openzro.Limit(time.Second), ozv1.ReasonAPIError},
		"failing":      {openzro.Failure(http.StatusInternalServerError), ozv1.ReasonAPIError},
		"unavailable":  {openzro.Failure(http.StatusServiceUnavailable), ozv1.ReasonAPIError},
		"html":         {openzro.HTML(http.StatusOK), ozv1.ReasonAPIError},
		"html-error":   {openzro.HTML(http.StatusBadGateway), ozv1.ReasonAPIError},
		"hanging":      {openzro.Hang(), ozv1.ReasonAPIError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Of its own, for a server that fails again and again is asked less and less often.
			x := newTenant(t, "first")
			end := management.Double.Fault(openzro.Call{Account: x.account.Name}, 0, fault.what)
			defer end()
			x.apply(t, "OZGroup", name, map[string]any{"name": name})
			message := x.await(t, "ozgroup", name, fault.reason)
			require.NotContains(t, message, x.token)
			require.NotContains(t, message, "<", "no page of HTML")
			// A tenant does not wait for another's server.
			other.apply(t, "OZGroup", name, map[string]any{"name": name})
			other.reconciled(t, "ozgroup", name)
			end()
			x.reconciled(t, "ozgroup", name)
			x.hasOneGroup(t, name)
		})
	}
}

func (x tenant) hasOneGroup(t *testing.T, name string) {
	t.Helper()
	count := 0
	for _, g := range list[openzro.Group](t, x, "groups") {
		if g.Name == name {
			count++
		}
	}
	require.Equal(t, 1, count, "groups named %s", name)
}

// TestOpenZroLostAnswers: an item that was created, but whose answer was lost, is found and not
// created twice, and it belongs to the object: it is deleted with it.
func TestOpenZroLostAnswers(t *testing.T) {
	inParallel(t)
	if management.Double == nil {
		t.Log("a real one does not on demand")
		return
	}
	// Of one tenant each, for a server that fails again and again is asked less and less often.
	for name, routes := range map[string][]string{
		"access":   {"groups", "setup-keys", "policies"},
		"networks": {"networks", "networks/{network}/routers", "networks/{network}/resources"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTenant(t, "first")
			before := x.everything(t)
			for _, route := range routes {
				t.Cleanup(management.Double.Fault(openzro.Call{Account: x.account.Name, Method: http.MethodPost, Route: route}, 1, openzro.LoseAnswer()))
			}
			x.applyFive(t)
			for kind, name := range five {
				x.reconciled(t, kind, name)
				s, _ := x.status(t, kind, name)
				require.False(t, s.Adopted, "%s %s", kind, name)
			}
			x.holdsFive(t)
			mustKubectl(t, "", "delete", "-n", x.namespace, openZroKinds, "--all", "--timeout=90s")
			require.Equal(t, before, x.everything(t))
		})
	}
}

// TestOpenZroPlainUser: the tokens of a service that only reads, and of a person who does
// not even.
func TestOpenZroPlainUser(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	service := makeAtServer[openzro.User](t, x, "users", map[string]any{"name": "e2e", "role": "user", "is_service_user": true, "auto_groups": []string{}})
	t.Cleanup(func() {
		_, err := management.Send(context.Background(), x.token, http.MethodDelete, "users/"+service.ID, nil)
		assert.NoError(t, err)
	})
	plain := map[string]string{
		"plain-service": makeAtServer[openzro.NewToken](t, x, "users/"+service.ID+"/tokens", map[string]any{"name": "e2e", "expires_in": 1}).PlainToken,
	}
	if management.UserToken != "" {
		plain["plain-person"] = management.UserToken
	}
	for name, token := range plain {
		x.setKey(t, token)
		x.apply(t, "OZGroup", name, map[string]any{"name": name})
		message := x.await(t, "ozgroup", name, ozv1.ReasonForbidden)
		require.Contains(t, message, ozv1.APIKeySecret)
		require.Contains(t, message, "admin")
	}
	x.setKey(t, x.token)
	for name := range plain {
		x.reconciled(t, "ozgroup", name)
	}
}

// TestOpenZroDeletedWhileTheServerIsDown: an item that was never created there does not delay
// the deletion once the server is back.
func TestOpenZroDeletedWhileTheServerIsDown(t *testing.T) {
	if management.Double == nil {
		t.Log("nobody stops a real one")
		return
	}
	x := newTenant(t, "first")
	before := x.everything(t)
	for _, name := range []string{"made", "stays"} {
		x.apply(t, "OZGroup", name, map[string]any{"name": name})
		x.reconciled(t, "ozgroup", name)
	}
	management.Double.Stop()
	t.Cleanup(func() { _ = management.Double.Resume() })
	x.apply(t, "OZGroup", "never", map[string]any{"name": "never"})
	mustKubectl(t, "", "delete", "-n", x.namespace, "ozgroup", "made", "never", "--wait=false")
	eventually(t, func() bool {
		output := mustGet(t, "ozgroup", "made", "-n", x.namespace, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].reason}`)
		return output == ozv1.ReasonAPIError
	}, "the object to say why it is still there")
	require.Contains(t, x.await(t, "ozgroup", "stays", ozv1.ReasonServerUnavailable), "was last read at")
	require.NoError(t, management.Double.Resume())
	x.reconciled(t, "ozgroup", "stays")
	eventually(t, func() bool {
		output := mustGet(t, "ozgroups", "-n", x.namespace, "-o", "name")
		return strings.TrimSpace(output) == "ozgroup.openzro.io/stays"
	}, "both to be gone")
	x.remove(t, "ozgroup", "stays")
	require.Equal(t, before, x.everything(t))
}

// TestOpenZroKeySecretIsEditedAndDeleted, and nothing at the server is lost by it.
func TestOpenZroKeySecretIsEditedAndDeleted(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	x.apply(t, "OZGroup", "g", map[string]any{"name": "e2e edited"})
	x.reconciled(t, "ozgroup", "g")
	x.setKey(t, "nbp_000000000000000000000000000000000000")
	require.Contains(t, x.await(t, "ozgroup", "g", ozv1.ReasonUnauthorized), ozv1.APIKeySecret)
	x.setKey(t, "")
	require.Contains(t, x.await(t, "ozgroup", "g", ozv1.ReasonNoKey), ozv1.APIKey)
	mustKubectl(t, "", "delete", "secret", ozv1.APIKeySecret, "-n", x.namespace)
	require.Contains(t, x.await(t, "ozgroup", "g", ozv1.ReasonNoKey), ozv1.APIKeySecret)
	x.setKey(t, x.token)
	x.reconciled(t, "ozgroup", "g")
	x.hasOneGroup(t, "e2e edited")
	s, _ := x.status(t, "ozgroup", "g")
	require.False(t, s.Adopted, "it is still its own")
	x.remove(t, "ozgroup", "g")
	_, there := x.groupNamed(t, "e2e edited")
	require.False(t, there)
}

// TestOpenZroNamesThatAreTaken are refused. With the annotation they are adopted: a group
// stays with its members, and a resource is restored.
func TestOpenZroNamesThatAreTaken(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	before := x.everything(t)
	group := makeAtServer[openzro.Group](t, x, "groups", map[string]any{"name": "e2e taken"})
	x.atServer(t, "groups/"+group.ID)
	network := makeAtServer[openzro.Network](t, x, "networks", map[string]any{"name": "e2e taken"})
	x.atServer(t, "networks/"+network.ID)
	resource := makeAtServer[openzro.Resource](t, x, "networks/"+network.ID+"/resources", map[string]any{"name": "e2e taken", "address": "10.0.0.1", "enabled": true, "groups": []string{group.ID}})
	policy := makeAtServer[openzro.Policy](t, x, "policies", map[string]any{"name": "e2e taken TCP", "enabled": true, "rules": []map[string]any{{
		"name": "by hand", "enabled": true, "action": "drop", "protocol": "tcp", "ports": []string{"22"}, "sources": []string{group.ID}, "destinations": []string{group.ID},
	}}})
	x.atServer(t, "policies/"+policy.ID)
	kept := x.policies(t)["e2e taken TCP"]

	x.apply(t, "OZPolicy", "taken", map[string]any{"name": "e2e taken", "sourceGroups": []string{"All"}, "destinationGroups": []string{"e2e taken"}, "ports": []int{80}, "protocols": []string{"tcp"}})
	require.Contains(t, x.await(t, "ozpolicy", "taken", ozv1.ReasonDuplicateName), ozv1.AdoptAnnotation)
	require.Equal(t, kept, x.policies(t)["e2e taken TCP"])
	x.adopt(t, "ozpolicy", "taken")
	x.reconciled(t, "ozpolicy", "taken")
	require.Equal(t, []string{"80"}, x.policies(t)["e2e taken TCP"].Rules[0].Ports)
	x.remove(t, "ozpolicy", "taken")
	require.Equal(t, kept, x.policies(t)["e2e taken TCP"], "it is restored")

	x.apply(t, "OZGroup", "taken", map[string]any{"name": "e2e taken"})
	x.await(t, "ozgroup", "taken", ozv1.ReasonDuplicateName)
	x.adopt(t, "ozgroup", "taken")
	x.reconciled(t, "ozgroup", "taken")
	s, _ := x.status(t, "ozgroup", "taken")
	require.True(t, s.Adopted)
	x.remove(t, "ozgroup", "taken")
	stays, there := x.groupNamed(t, "e2e taken")
	require.True(t, there)
	require.Equal(t, []openzro.Link{{ID: resource.ID, Type: "host"}}, stays.Resources)

	x.apply(t, "OZResource", "taken", map[string]any{"name": "e2e taken", "networkID": network.ID, "address": "10.0.0.2", "groups": []string{"e2e taken"}})
	x.await(t, "ozresource", "taken", ozv1.ReasonDuplicateName)
	x.adopt(t, "ozresource", "taken")
	x.reconciled(t, "ozresource", "taken")
	x.remove(t, "ozresource", "taken")
	resources := list[openzro.Resource](t, x, "networks/resources")
	require.True(t, slices.ContainsFunc(resources, func(r openzro.Resource) bool { return r.ID == resource.ID && r.Address == "10.0.0.1/32" }), "it is restored")
	mustKubectl(t, "", "delete", "-n", x.namespace, openZroKinds, "--all", "--timeout=60s")
	x.deleteAtServer(t, "networks/"+network.ID)
	x.deleteAtServer(t, "policies/"+policy.ID)
	x.deleteAtServer(t, "groups/"+group.ID)
	require.Equal(t, before, x.everything(t))
}

// adopt permits an object to adopt what the server already has.
func (x tenant) adopt(t *testing.T, kind, name string) {
	t.Helper()
	mustKubectl(t, "", "annotate", "-n", x.namespace, kind, name, ozv1.AdoptAnnotation+"=true")
}

// atServer deletes something at the server after the test, where it is still there.
func (x tenant) atServer(t *testing.T, path string) {
	t.Helper()
	t.Cleanup(func() { _, _ = management.Send(context.Background(), x.token, http.MethodDelete, path, nil) })
}

func (x tenant) deleteAtServer(t *testing.T, path string) {
	t.Helper()
	answer, err := management.Send(t.Context(), x.token, http.MethodDelete, path, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status, "%s: %s", path, answer.Body)
}

// TestOpenZroOneAccountOfTwoNamespaces: the other namespace does not get an item until the
// first one releases it.
func TestOpenZroOneAccountOfTwoNamespaces(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	y := tenant{namespace: x.namespace + "-too", token: x.token}
	makeNamespace(t, y.namespace)
	y.setKey(t, y.token)
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "-n", y.namespace, openZroKinds, "--all", "--timeout=60s")
	})
	x.apply(t, "OZGroup", "shared", map[string]any{"name": "e2e shared"})
	x.reconciled(t, "ozgroup", "shared")
	y.apply(t, "OZGroup", "shared", map[string]any{"name": "e2e shared"})
	y.apply(t, "OZPolicy", "in", map[string]any{"name": "e2e in", "sourceGroups": []string{"All"}, "destinationGroups": []string{"e2e shared"}, "ports": []int{22}})
	require.Contains(t, y.await(t, "ozgroup", "shared", ozv1.ReasonDuplicateName), "another namespace")
	require.Contains(t, y.await(t, "ozpolicy", "in", ozv1.ReasonGroupNotFound), "another namespace")
	require.NotContains(t, y.policies(t), "e2e in TCP")
	x.remove(t, "ozgroup", "shared")
	y.reconciled(t, "ozgroup", "shared")
	y.reconciled(t, "ozpolicy", "in")
	require.Contains(t, y.policies(t), "e2e in TCP")
	mustKubectl(t, "", "delete", "-n", y.namespace, openZroKinds, "--all", "--timeout=60s")
	_, there := y.groupNamed(t, "e2e shared")
	require.False(t, there)
}

// TestOpenZroPolicyWaitsForItsGroups and says which it waits for: the server would drop
// them in silence.
func TestOpenZroPolicyWaitsForItsGroups(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	x.apply(t, "OZGroup", "there", map[string]any{"name": "e2e there"})
	x.apply(t, "OZPolicy", "waits", map[string]any{
		"name": "e2e waits", "sourceGroups": []string{"e2e there"}, "destinationGroups": []string{"e2e there", "e2e missing"}, "ports": []int{80},
	})
	require.Contains(t, x.await(t, "ozpolicy", "waits", ozv1.ReasonGroupNotFound), "e2e missing")
	require.NotContains(t, x.policies(t), "e2e waits TCP")
	x.apply(t, "OZGroup", "late", map[string]any{"name": "e2e missing"})
	x.reconciled(t, "ozpolicy", "waits")
	policies := x.policies(t)
	for _, name := range []string{"e2e waits TCP", "e2e waits UDP"} {
		require.ElementsMatch(t, []string{"e2e there", "e2e missing"}, names(policies[name].Rules[0].Destinations))
	}
	// The group is in use: it stays as long, says by what, and then goes.
	mustKubectl(t, "", "delete", "-n", x.namespace, "ozgroup", "late", "--wait=false")
	eventually(t, func() bool {
		return strings.Contains(mustGet(t, "ozgroup", "late", "-n", x.namespace, "-o", "jsonpath={.status.conditions}"), "e2e waits")
	}, "the group to say what uses it")
	x.remove(t, "ozpolicy", "waits")
	eventually(t, func() bool {
		_, there := x.groupNamed(t, "e2e missing")
		return !there && mustGet(t, "ozgroup", "late", "-n", x.namespace, "--ignore-not-found") == ""
	}, "the group to go")
}

// TestOpenZroBadInput is refused before anybody asks the server.
func TestOpenZroBadInput(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	policy := func(ports ...any) map[string]any {
		return map[string]any{"name": "e2e bad", "sourceGroups": []string{"All"}, "destinationGroups": []string{"All"}, "ports": ports}
	}
	for what, ports := range map[string][]any{"zero": {0}, "above": {65536}, "twice": {80, 80}, "below": {-1}} {
		t.Run("port "+what, func(t *testing.T) {
			require.Contains(t, x.refused(t, "OZPolicy", "bad", policy(ports...)), "port")
		})
	}
	for _, address := range []string{"localhost", "10.0.0.256", "10.0.0.0/33", "http://example.com", "example.com.", "10.0.0.1-10.0.0.9", " 10.0.0.1"} {
		t.Run("address "+address, func(t *testing.T) {
			require.Contains(t, x.refused(t, "OZResource", "bad", map[string]any{"name": "bad", "networkID": "n", "address": address, "groups": []string{"g"}}), "address")
		})
	}
	x.apply(t, "OZGroup", "one", map[string]any{"name": "e2e one"})
	require.Contains(t, x.refused(t, "OZGroup", "two", map[string]any{"name": "e2e one"}), "e2e one")
	require.Contains(t, x.refused(t, "OZGroup", "one", map[string]any{"name": "e2e other"}), "immutable")
	require.NotEmpty(t, x.refused(t, "OZGroup", "empty", map[string]any{"name": ""}))
	output, ok := apply(t, x.object("OZPolicy", "wide", map[string]any{"name": "e2e wide", "sourceGroups": []string{"All"}, "destinationGroups": []string{"All"}, "ports": []int{80}}))
	require.True(t, ok, output)
	require.Contains(t, output, "Warning", "everything reaches everything")
}

// TestOpenZroRoutes: the server does not have this service, and is not called repeatedly.
func TestOpenZroRoutes(t *testing.T) {
	inParallel(t)
	x := newTenant(t, "first")
	x.apply(t, "OZRoutingPeer", "router", map[string]any{"replicas": 1})
	x.reconciledRouter(t, "router")
	mustKubectl(t, asJSON(map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web", "namespace": x.namespace}, "spec": map[string]any{"ports": []map[string]any{{"port": 80}}},
	}), "apply", "-f", "-")
	address := mustGet(t, "service", "web", "-n", x.namespace, "-o", "jsonpath={.spec.clusterIP}")
	x.apply(t, "OZNetworkResource", "web", map[string]any{"routingPeerRef": map[string]any{"name": "router"}, "serviceRef": map[string]any{"name": "web"}})
	x.reconciled(t, "oznetworkresource", "web")
	require.True(t, slices.ContainsFunc(list[openzro.Resource](t, x, "networks/resources"), func(r openzro.Resource) bool { return r.Address == address+"/32" }))
	x.apply(t, "OZHTTPRoute", "web", map[string]any{"domain": "web.example.com", "targets": []map[string]any{{"networkResourceRef": map[string]any{"name": "web"}}}})
	x.await(t, "ozhttproute", "web", ozv1.ReasonNotSupportedByServer)
	if management.Double == nil {
		return
	}
	asked := func() int { return management.Double.Count(openzro.Call{Account: x.account.Name, Route: "services"}) }
	before, lists := asked(), openzro.Call{Account: x.account.Name, Method: http.MethodGet, Route: "networks"}
	seen := management.Double.Count(lists)
	eventually(t, func() bool { return management.Double.Count(lists) >= seen+3 }, "three more intervals")
	require.Equal(t, before, asked())
}
