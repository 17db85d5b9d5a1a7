package openzro

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// management is what the contract is held against.
var management *Management

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if management, err = Open(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer management.Close()
		return m.Run()
	}())
}

// fields are a body.
type fields map[string]any

// with are the fields with another.
func (f fields) with(name string, value any) fields {
	changed := fields{name: value}
	for other, value := range f {
		if other != name {
			changed[other] = value
		}
	}
	return changed
}

// without are the fields but one.
func (f fields) without(name string) fields {
	changed := f.with(name, nil)
	delete(changed, name)
	return changed
}

// send calls the server as the administrator.
func send(t *testing.T, method, path string, body any) Answer {
	t.Helper()
	return sendAs(t, management.Token, method, path, body)
}

func sendAs(t *testing.T, token, method, path string, body any) Answer {
	t.Helper()
	answer, err := management.Send(t.Context(), token, method, path, body)
	require.NoError(t, err)
	return answer
}

// ask is the answer to a call that succeeds.
func ask[T any](t *testing.T, method, path string, body any) (result T) {
	t.Helper()
	answer := send(t, method, path, body)
	require.Equal(t, http.StatusOK, answer.Status, "%s %s %v: %s", method, path, body, answer.Body)
	require.NoError(t, answer.Into(&result))
	return result
}

func get[T any](t *testing.T, path string) T {
	t.Helper()
	return ask[T](t, http.MethodGet, path, nil)
}

// refused is the message with which a call is refused.
func refused(t *testing.T, status int, method, path string, body any) string {
	t.Helper()
	return message(t, status, send(t, method, path, body), fmt.Sprintf("%s %s %v", method, path, body))
}

func message(t *testing.T, status int, answer Answer, what string) string {
	t.Helper()
	require.Equal(t, status, answer.Status, "%s: %s", what, answer.Body)
	var refusal Refused
	require.NoError(t, answer.Into(&refusal), what)
	assert.Equal(t, status, refusal.Code, what)
	assert.NotEmpty(t, refusal.Message, what)
	return refusal.Message
}

// create makes something that is gone after the test.
func create[T any](t *testing.T, path string, body fields) T {
	t.Helper()
	created := ask[fields](t, http.MethodPost, path, body)
	remove(t, path+"/"+created["id"].(string))
	return again[T](t, created)
}

// again is an answer in another type.
func again[T any](t *testing.T, from any) (result T) {
	t.Helper()
	content, err := encoded(from)
	require.NoError(t, err)
	require.NoError(t, Answer{Body: content}.Into(&result))
	return result
}

// remove deletes something after the test, if it is still there.
func remove(t *testing.T, path string) {
	t.Cleanup(func() {
		answer, err := management.Send(context.Background(), management.Token, http.MethodDelete, path, nil)
		assert.NoError(t, err)
		gone := strings.HasPrefix(path, "groups/") && answer.Status == http.StatusBadRequest || answer.Status == http.StatusNotFound
		assert.True(t, answer.Status == http.StatusOK || gone, "%s: %d %s", path, answer.Status, answer.Body)
	})
}

// unique returns a name that is unique at the server.
func unique(name string) string { return "contract-" + strings.ToLower(rand.Text()[:8]) + "-" + name }

// unknown is an ID that nothing has.
const unknown = "d0000000000000000000"

func makeGroup(t *testing.T) Group {
	t.Helper()
	return create[Group](t, "groups", fields{"name": unique("group")})
}

func makeNetwork(t *testing.T) Network {
	t.Helper()
	return create[Network](t, "networks", fields{"name": unique("network")})
}

func host(name string, groups ...string) fields {
	return fields{"name": name, "address": "10.1.2.3", "enabled": true, "groups": never(groups)}
}

func makeResource(t *testing.T, network Network, groups ...string) Resource {
	t.Helper()
	return create[Resource](t, "networks/"+network.ID+"/resources", host(unique("resource"), groups...))
}

func accept(sources, destinations []string) fields {
	return fields{"name": "rule", "enabled": true, "action": "accept", "protocol": "tcp", "bidirectional": true, "ports": []string{"443"}, "sources": sources, "destinations": destinations}
}

func policyOf(name string, of ...fields) fields {
	return fields{"name": name, "enabled": true, "rules": of}
}

func reusable(name string, groups ...string) fields {
	return fields{"name": name, "type": "reusable", "expires_in": 0, "usage_limit": 0, "auto_groups": never(groups)}
}

func zoneOf(groups ...string) fields {
	name := unique("zone")
	return fields{"name": name, "domain": name + ".example", "distribution_groups": groups}
}

// TestBodies checks that invalid JSON and wrong types are rejected before anything else.
func TestBodies(t *testing.T) {
	group, network := makeGroup(t), makeNetwork(t)
	zone := create[Zone](t, "dns/zones", zoneOf(group.ID))
	for _, path := range []string{
		"groups", "setup-keys", "policies", "networks", "networks/" + network.ID + "/resources", "networks/" + network.ID + "/routers",
		"dns/zones", "dns/zones/" + zone.ID + "/records", "users",
	} {
		refused(t, http.StatusBadRequest, http.MethodPost, path, "no JSON")
		refused(t, http.StatusBadRequest, http.MethodPost, path, `{"name": 5, "metric": "x", "role": 5}`)
	}
	refused(t, http.StatusBadRequest, http.MethodPut, "groups/"+group.ID, "no JSON")
	refused(t, http.StatusBadRequest, http.MethodPut, "networks/"+network.ID, "no JSON")
}

// TestWhatIsMissing: only the deletion of a group says 400.
func TestWhatIsMissing(t *testing.T) {
	group, network := makeGroup(t), makeNetwork(t)
	zone := create[Zone](t, "dns/zones", zoneOf(group.ID))
	bodies := map[string]fields{
		"groups/":                                {"name": unique("group")},
		"setup-keys/":                            {"auto_groups": []string{}, "revoked": false},
		"policies/":                              policyOf("p", accept([]string{group.ID}, []string{group.ID})),
		"networks/":                              {"name": "n"},
		"networks/" + network.ID + "/resources/": host(unique("resource")),
		"networks/" + unknown + "/resources/":    host(unique("resource")),
		"networks/" + unknown + "/routers/":      {"metric": 1, "peer_groups": []string{}},
		"dns/zones/":                             zoneOf(group.ID),
		"dns/zones/" + zone.ID + "/records/":     {"name": zone.Domain, "type": "A", "content": "10.0.0.1"},
		"dns/zones/" + unknown + "/records/":     {"name": zone.Domain, "type": "A", "content": "10.0.0.1"},
	}
	for path, body := range bodies {
		refused(t, http.StatusNotFound, http.MethodGet, path+unknown, nil)
		refused(t, http.StatusNotFound, http.MethodPut, path+unknown, body)
		deleted := http.StatusNotFound
		if path == "groups/" {
			deleted = http.StatusBadRequest
		}
		refused(t, deleted, http.MethodDelete, path+unknown, nil)
	}
	refused(t, http.StatusNotFound, http.MethodGet, "networks/"+network.ID+"/routers/"+unknown, nil)
	refused(t, http.StatusNotFound, http.MethodDelete, "networks/"+network.ID+"/routers/"+unknown, nil)
	for _, path := range []string{"resources", "routers"} {
		refused(t, http.StatusNotFound, http.MethodPost, "networks/"+unknown+"/"+path, host(unique("resource")).with("metric", 1))
		require.Empty(t, get[[]fields](t, "networks/"+unknown+"/"+path), "nobody asks whether there is such a network")
	}
	refused(t, http.StatusNotFound, http.MethodGet, "dns/zones/"+unknown+"/records", nil)
}

// TestDeletionsAnswerAnEmptyObject checks that a deletion returns an empty JSON object, and that
// the item is deleted.
func TestDeletionsAnswerAnEmptyObject(t *testing.T) {
	group, network := makeGroup(t), makeNetwork(t)
	zone := create[Zone](t, "dns/zones", zoneOf(group.ID))
	for _, path := range []string{
		"networks/" + network.ID + "/resources/" + makeResource(t, network).ID,
		"networks/" + network.ID + "/routers/" + create[Router](t, "networks/"+network.ID+"/routers", fields{"metric": 1}).ID,
		"networks/" + network.ID,
		"setup-keys/" + create[SetupKey](t, "setup-keys", reusable("k")).ID,
		"policies/" + create[Policy](t, "policies", policyOf("p", accept([]string{group.ID}, []string{group.ID}))).ID,
		"dns/zones/" + zone.ID + "/records/" + create[Record](t, "dns/zones/"+zone.ID+"/records", fields{"name": zone.Domain, "type": "A", "content": "10.0.0.1"}).ID,
		"dns/zones/" + zone.ID,
		"groups/" + group.ID,
	} {
		require.Empty(t, ask[fields](t, http.MethodDelete, path, nil), path)
		refused(t, http.StatusNotFound, http.MethodGet, path, nil)
	}
}
