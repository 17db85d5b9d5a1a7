package openzro

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroups(t *testing.T) {
	name := unique("Group with spaces")
	group := create[Group](t, "groups", fields{"name": name})
	require.Equal(t, Group{ID: group.ID, Name: name, Issued: "api"}, group)
	require.NotEmpty(t, group.ID)
	require.Equal(t, group, get[Group](t, "groups/"+group.ID))
	require.Contains(t, get[[]Group](t, "groups"), group)

	refused(t, http.StatusConflict, http.MethodPost, "groups", fields{"name": name})
	refused(t, http.StatusConflict, http.MethodPost, "groups", fields{"name": "All"})
	refused(t, http.StatusUnprocessableEntity, http.MethodPost, "groups", fields{"name": ""})
	refused(t, http.StatusUnprocessableEntity, http.MethodPut, "groups/"+group.ID, fields{"name": ""})
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		path := map[string]string{http.MethodPost: "groups", http.MethodPut: "groups/" + group.ID}[method]
		refused(t, http.StatusUnprocessableEntity, method, path, fields{"name": unique("group"), "peers": []string{unknown}})
	}
	require.Equal(t, group, get[Group](t, "groups/"+group.ID))
}

// TestAGroupIsRenamed, even to a name that another has.
func TestAGroupIsRenamed(t *testing.T) {
	group, other := makeGroup(t), makeGroup(t)
	renamed := ask[Group](t, http.MethodPut, "groups/"+group.ID, fields{"name": other.Name})
	require.Equal(t, other.Name, renamed.Name)
	require.Equal(t, group.ID, renamed.ID)
	require.Equal(t, renamed, get[Group](t, "groups/"+group.ID))
}

// TestAPutOfAGroupEmptiesIt checks that omitted fields are emptied: defect Z1 of the original.
func TestAPutOfAGroupEmptiesIt(t *testing.T) {
	group, network := makeGroup(t), makeNetwork(t)
	resource := makeResource(t, network, group.ID)
	filled := get[Group](t, "groups/"+group.ID)
	require.Equal(t, []Link{{resource.ID, "host"}}, filled.Resources)
	require.Equal(t, 1, filled.ResourcesCount)

	kept := ask[Group](t, http.MethodPut, "groups/"+group.ID, fields{"name": group.Name, "resources": filled.Resources})
	require.Equal(t, filled, kept)
	emptied := ask[Group](t, http.MethodPut, "groups/"+group.ID, fields{"name": group.Name})
	require.Empty(t, emptied.Resources)
	require.Empty(t, get[Resource](t, "networks/"+network.ID+"/resources/"+resource.ID).Groups)
}

// TestAGroupTakesAnyResource checks that the server does not check whether the resource exists.
func TestAGroupTakesAnyResource(t *testing.T) {
	group := create[Group](t, "groups", fields{"name": unique("group"), "resources": []Link{{unknown, "host"}}})
	require.Equal(t, []Link{{unknown, "host"}}, group.Resources)
	refused(t, http.StatusBadRequest, http.MethodDelete, "groups/"+group.ID, nil)
	ask[Group](t, http.MethodPut, "groups/"+group.ID, fields{"name": group.Name})
}

func TestTheGroupOfAll(t *testing.T) {
	groups := get[[]Group](t, "groups")
	at := slices.IndexFunc(groups, func(g Group) bool { return g.Name == "All" })
	require.GreaterOrEqual(t, at, 0)
	refused(t, http.StatusUnprocessableEntity, http.MethodPut, "groups/"+groups[at].ID, fields{"name": "Everybody"})
	refused(t, http.StatusBadRequest, http.MethodDelete, "groups/"+groups[at].ID, nil)
	refused(t, http.StatusUnprocessableEntity, http.MethodPost, "setup-keys", reusable("k", groups[at].ID))
}

// TestALinkedGroupStays until what links to it is gone, and the message has its name.
func TestALinkedGroupStays(t *testing.T) {
	network := makeNetwork(t)
	for what, link := range map[string]func(group string) (path, name string){
		"policy, as source": func(group string) (string, string) {
			p := create[Policy](t, "policies", policyOf(unique("policy"), accept([]string{group}, []string{})))
			return "policies/" + p.ID, p.Name
		},
		"policy, as destination": func(group string) (string, string) {
			p := create[Policy](t, "policies", policyOf(unique("policy"), accept([]string{}, []string{group})))
			return "policies/" + p.ID, p.Name
		},
		"setup key": func(group string) (string, string) {
			k := create[SetupKey](t, "setup-keys", reusable(unique("key"), group))
			return "setup-keys/" + k.ID, k.Name
		},
		"user": func(group string) (string, string) {
			u, _ := makeServiceUser(t, "user", group)
			return "users/" + u.ID, u.ID
		},
		"router": func(group string) (string, string) {
			r := create[Router](t, "networks/"+network.ID+"/routers", fields{"metric": 1, "peer_groups": []string{group}})
			return "networks/" + network.ID + "/routers/" + r.ID, r.ID
		},
		"resource": func(group string) (string, string) {
			r := makeResource(t, network, group)
			return "networks/" + network.ID + "/resources/" + r.ID, r.ID
		},
	} {
		t.Run(what, func(t *testing.T) {
			group := makeGroup(t)
			path, name := link(group.ID)
			require.Contains(t, refused(t, http.StatusBadRequest, http.MethodDelete, "groups/"+group.ID, nil), name)
			require.Equal(t, group.ID, get[Group](t, "groups/"+group.ID).ID)
			ask[fields](t, http.MethodDelete, path, nil)
			ask[fields](t, http.MethodDelete, "groups/"+group.ID, nil)
		})
	}
}

// TestZonesAndSettingsAreNoLinks: the group goes, and its ID stays there.
func TestZonesAndSettingsAreNoLinks(t *testing.T) {
	group := makeGroup(t)
	zone := create[Zone](t, "dns/zones", zoneOf(group.ID))
	account := keepSettings(t)
	settings := account.Settings
	settings.AdmissionExemptGroups = append(slices.Clone(settings.AdmissionExemptGroups), group.ID)
	ask[AccountAnswer](t, http.MethodPut, "accounts/"+account.ID, fields{"settings": settings})
	ask[fields](t, http.MethodDelete, "groups/"+group.ID, nil)
	require.Contains(t, get[[]AccountAnswer](t, "accounts")[0].Settings.AdmissionExemptGroups, group.ID)
	require.Equal(t, []string{group.ID}, get[Zone](t, "dns/zones/"+zone.ID).DistributionGroups)
}
