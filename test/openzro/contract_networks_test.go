package openzro

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNetworks(t *testing.T) {
	name := unique("network")
	network := create[Network](t, "networks", fields{"name": name, "description": "d"})
	require.Equal(t, name, network.Name)
	require.Equal(t, "d", network.Description)
	require.Empty(t, network.Resources)
	require.Empty(t, network.Routers)
	require.Empty(t, network.Policies)
	twin := create[Network](t, "networks", fields{"name": name})
	require.NotEqual(t, network.ID, twin.ID, "names need not be unique")
	create[Network](t, "networks", fields{})

	group := makeGroup(t)
	resource := makeResource(t, network, group.ID)
	router := create[Router](t, "networks/"+network.ID+"/routers", fields{"metric": 1, "peer_groups": []string{group.ID}})
	policy := create[Policy](t, "policies", policyOf(unique("policy"), accept([]string{}, []string{group.ID})))
	direct := create[Policy](t, "policies", policyOf(unique("policy"), accept([]string{}, nil).without("destinations").with("destinationResource", Link{resource.ID, "host"})))
	create[Policy](t, "policies", policyOf(unique("policy"), accept([]string{}, []string{group.ID})).with("enabled", false))
	full := get[Network](t, "networks/"+network.ID)
	require.Equal(t, []string{resource.ID}, full.Resources)
	require.Equal(t, []string{router.ID}, full.Routers)
	require.ElementsMatch(t, []string{policy.ID, direct.ID}, full.Policies, "those that are enabled")

	renamed := ask[Network](t, http.MethodPut, "networks/"+network.ID, fields{"name": unique("other")})
	require.Empty(t, renamed.Description, "what is left out is emptied")
	require.Equal(t, full.Resources, renamed.Resources)
}

// TestANetworkTakesAllWithIt, and its resource leaves its groups.
func TestANetworkTakesAllWithIt(t *testing.T) {
	group, network := makeGroup(t), makeNetwork(t)
	resource := makeResource(t, network, group.ID)
	router := create[Router](t, "networks/"+network.ID+"/routers", fields{"metric": 1, "peer_groups": []string{group.ID}})
	ask[fields](t, http.MethodDelete, "networks/"+network.ID, nil)
	for path, id := range map[string]string{"networks/resources": resource.ID, "networks/routers": router.ID} {
		require.NotContains(t, string(send(t, http.MethodGet, path, nil).Body), id)
	}
	require.Empty(t, get[Group](t, "groups/"+group.ID).Resources)
	ask[fields](t, http.MethodDelete, "groups/"+group.ID, nil)
}

func TestAddressesOfResources(t *testing.T) {
	network := makeNetwork(t)
	path := "networks/" + network.ID + "/resources"
	for address, want := range map[string]Resource{
		"10.0.0.1":           {Type: "host", Address: "10.0.0.1/32"},
		"10.0.0.1/32":        {Type: "host", Address: "10.0.0.1/32"},
		"10.0.0.0/24":        {Type: "subnet", Address: "10.0.0.0/24"},
		"10.0.0.7/24":        {Type: "subnet", Address: "10.0.0.7/24"}, // the host part stays
		"0.0.0.0/0":          {Type: "subnet", Address: "0.0.0.0/0"},
		"2001:db8::1":        {Type: "host", Address: "2001:db8::1/128"},
		"2001:DB8:0::1":      {Type: "host", Address: "2001:db8::1/128"},
		"2001:db8::/64":      {Type: "subnet", Address: "2001:db8::/64"},
		"2001:db8::/32":      {Type: "host", Address: "2001:db8::/32"}, // taken for IPv4's
		"example.com":        {Type: "domain", Address: "example.com"},
		"Example.COM":        {Type: "domain", Address: "Example.COM"},
		"*.example.com":      {Type: "domain", Address: "*.example.com"},
		"-a-.example.com":    {Type: "domain", Address: "-a-.example.com"},
		"svc.default.svc.cl": {Type: "domain", Address: "svc.default.svc.cl"},
	} {
		t.Run(address, func(t *testing.T) {
			created := create[Resource](t, path, host(unique("resource")).with("address", address))
			want.ID, want.Name, want.Enabled = created.ID, created.Name, true
			require.Equal(t, want, withoutEmptyGroups(created))
			require.Equal(t, want, withoutEmptyGroups(get[Resource](t, path+"/"+created.ID)))
		})
	}
	for _, address := range []string{"", "localhost", "10.0.0.256", "10.0.0.0/33", "10.0.0.0/", "example", "example.c", "exa_mple.com", "a.*.com", "*", "*.com.", "example.com.", "example.c0m", " 10.0.0.1", "10.0.0.1 ", "10.0.0.1-10.0.0.9", "http://example.com", "example.com:80"} {
		t.Run("not "+address, func(t *testing.T) {
			refused(t, http.StatusInternalServerError, http.MethodPost, path, host(unique("resource")).with("address", address))
		})
	}
	resource := makeResource(t, network)
	refused(t, http.StatusInternalServerError, http.MethodPut, path+"/"+resource.ID, host(resource.Name).with("address", "localhost"))
	require.Equal(t, resource.Address, get[Resource](t, path+"/"+resource.ID).Address)
}

func withoutEmptyGroups(r Resource) Resource {
	if len(r.Groups) == 0 {
		r.Groups = nil
	}
	return r
}

func TestResources(t *testing.T) {
	first, second := makeGroup(t), makeGroup(t)
	network, other := makeNetwork(t), makeNetwork(t)
	path := "networks/" + network.ID + "/resources"
	resource := makeResource(t, network, first.ID)
	require.Equal(t, []GroupSize{{first.ID, first.Name, 0, 1}}, resource.Groups)
	require.Contains(t, get[[]Resource](t, path), resource)
	require.Contains(t, get[[]Resource](t, "networks/resources"), resource)

	require.NotEmpty(t, refused(t, http.StatusUnprocessableEntity, http.MethodPost, path, host(resource.Name)))
	refused(t, http.StatusUnprocessableEntity, http.MethodPost, "networks/"+other.ID+"/resources", host(resource.Name)) // unique in the account
	refused(t, http.StatusNotFound, http.MethodPost, path, host(unique("resource"), unknown))
	sibling := makeResource(t, network)
	refused(t, http.StatusUnprocessableEntity, http.MethodPut, path+"/"+sibling.ID, host(resource.Name))
	refused(t, http.StatusNotFound, http.MethodPut, path+"/"+resource.ID, host(resource.Name, unknown))
	require.Equal(t, resource, get[Resource](t, path+"/"+resource.ID), "nothing of it happened")

	changed := ask[Resource](t, http.MethodPut, path+"/"+resource.ID, host(resource.Name, second.ID).with("enabled", false))
	require.Equal(t, []GroupSize{{second.ID, second.Name, 0, 1}}, changed.Groups)
	require.False(t, changed.Enabled)
	require.Empty(t, get[Group](t, "groups/"+first.ID).Resources)
	require.Equal(t, []Link{{resource.ID, "host"}}, get[Group](t, "groups/"+second.ID).Resources)
}

// TestAnotherNetwork checks that reading an item through the wrong network is an internal error
// of the server, and that a write moves it there.
func TestAnotherNetwork(t *testing.T) {
	network, other := makeNetwork(t), makeNetwork(t)
	resource := makeResource(t, network)
	wrong := "networks/" + other.ID + "/resources/" + resource.ID
	refused(t, http.StatusInternalServerError, http.MethodGet, wrong, nil)
	refused(t, http.StatusInternalServerError, http.MethodDelete, wrong, nil)
	ask[Resource](t, http.MethodPut, wrong, host(resource.Name))
	require.Equal(t, []string{resource.ID}, get[Network](t, "networks/"+other.ID).Resources)
	require.Empty(t, get[Network](t, "networks/"+network.ID).Resources)
	ask[fields](t, http.MethodDelete, wrong, nil)

	router := create[Router](t, "networks/"+network.ID+"/routers", fields{"metric": 1})
	wrong = "networks/" + other.ID + "/routers/" + router.ID
	refused(t, http.StatusInternalServerError, http.MethodGet, wrong, nil)
	refused(t, http.StatusBadRequest, http.MethodDelete, wrong, nil)
	ask[Router](t, http.MethodPut, wrong, fields{"metric": 2})
	require.Equal(t, []string{router.ID}, get[Network](t, "networks/"+other.ID).Routers)
	ask[fields](t, http.MethodDelete, wrong, nil)
}

func TestRouters(t *testing.T) {
	group, network := makeGroup(t), makeNetwork(t)
	path := "networks/" + network.ID + "/routers"
	router := create[Router](t, path, fields{"enabled": false, "masquerade": true, "metric": 9999, "peer_groups": []string{group.ID}})
	require.Equal(t, Router{ID: router.ID, PeerGroups: []string{group.ID}, Masquerade: true, Metric: 9999, Enabled: true}, router, "a creation enables")
	require.Equal(t, router, get[Router](t, path+"/"+router.ID))
	require.Contains(t, get[[]Router](t, path), router)
	require.Contains(t, get[[]Router](t, "networks/routers"), router)

	changed := ask[Router](t, http.MethodPut, path+"/"+router.ID, fields{"enabled": false, "metric": 5})
	require.Equal(t, Router{ID: router.ID, PeerGroups: changed.PeerGroups, Metric: 5}, changed, "what is left out is emptied")
	require.Empty(t, changed.PeerGroups)
	body := send(t, http.MethodGet, path+"/"+router.ID, nil).Body
	require.Contains(t, string(body), `"peer":""`)
	require.Contains(t, string(body), `"peer_groups":`)
}

// TestRoutersThatAreNotRefused, though one might think so.
func TestRoutersThatAreNotRefused(t *testing.T) {
	network := makeNetwork(t)
	path := "networks/" + network.ID + "/routers"
	for what, body := range map[string]fields{
		"metric 0":       {"metric": 0},
		"metric 10000":   {"metric": 10000},
		"nothing":        {},
		"unknown groups": {"peer_groups": []string{unknown}},
		"unknown peer":   {"peer": unknown},
		"both":           {"peer": unknown, "peer_groups": []string{unknown}},
	} {
		t.Run(what, func(t *testing.T) { create[Router](t, path, body) })
	}
}

// TestAPutOfARouterMakesIt where there is none.
func TestAPutOfARouterMakesIt(t *testing.T) {
	network := makeNetwork(t)
	id := strings.ReplaceAll(unique("r"), "-", "")
	path := "networks/" + network.ID + "/routers/" + id
	made := ask[Router](t, http.MethodPut, path, fields{"metric": 7, "enabled": true})
	require.Equal(t, id, made.ID)
	require.Equal(t, 7, get[Router](t, path).Metric)
	require.Equal(t, []string{id}, get[Network](t, "networks/"+network.ID).Routers)
}
