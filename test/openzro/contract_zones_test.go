package openzro

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestZones(t *testing.T) {
	first, second := makeGroup(t), makeGroup(t)
	body := zoneOf(first.ID)
	domain := body["domain"].(string)
	zone := create[Zone](t, "dns/zones", body.with("domain", strings.ToUpper(domain)+"."))
	require.Equal(t, Zone{ID: zone.ID, Name: zone.Name, Domain: domain, Enabled: true, DistributionGroups: []string{first.ID}, Records: []Record{}}, zone)
	require.Equal(t, zone, get[Zone](t, "dns/zones/"+zone.ID))
	require.Contains(t, get[[]Zone](t, "dns/zones"), zone)

	changed := ask[Zone](t, http.MethodPut, "dns/zones/"+zone.ID, fields{"name": "n", "domain": domain, "enabled": false, "enable_search_domain": true, "distribution_groups": []string{second.ID}})
	require.Equal(t, Zone{ID: zone.ID, Name: "n", Domain: domain, EnableSearchDomain: true, DistributionGroups: []string{second.ID}, Records: []Record{}}, changed)
	require.Equal(t, changed, get[Zone](t, "dns/zones/"+zone.ID))
	refused(t, http.StatusUnprocessableEntity, http.MethodPut, "dns/zones/"+zone.ID, zoneOf(first.ID)) // another domain

	settings := get[[]AccountAnswer](t, "accounts")[0].Settings
	wrong := map[string]fields{
		"the same domain":      body,
		"a domain within":      body.with("domain", "a."+domain),
		"a domain around":      body.with("domain", "example"),
		"no domain":            body.with("domain", ""),
		"a label too long":     body.with("domain", strings.Repeat("a", 64)+".example.org"),
		"no name":              zoneOf(first.ID).with("name", ""),
		"a long name":          zoneOf(first.ID).with("name", strings.Repeat("n", 256)),
		"no groups":            zoneOf().with("distribution_groups", []string{}),
		"an unknown group":     zoneOf(unknown),
		"a group twice":        zoneOf(first.ID, first.ID),
		"a group without name": zoneOf(""),
	}
	if settings.DNSDomain != "" {
		wrong["the peers' domain"] = body.with("domain", "a."+settings.DNSDomain)
	}
	for what, wrong := range wrong {
		t.Run(what, func(t *testing.T) {
			refused(t, http.StatusUnprocessableEntity, http.MethodPost, "dns/zones", wrong)
		})
	}
	require.Equal(t, changed, get[Zone](t, "dns/zones/"+zone.ID))
}

// TestZonesOfThePeersDomain: the account's own, where its settings name one.
func TestZonesOfThePeersDomain(t *testing.T) {
	group := makeGroup(t)
	account := keepSettings(t)
	settings := account.Settings
	settings.DNSDomain = unique("peers") + ".example"
	ask[AccountAnswer](t, http.MethodPut, "accounts/"+account.ID, fields{"settings": settings})
	for _, domain := range []string{settings.DNSDomain, "a." + settings.DNSDomain, "example"} {
		refused(t, http.StatusUnprocessableEntity, http.MethodPost, "dns/zones", zoneOf(group.ID).with("domain", domain))
	}
}

func makeZone(t *testing.T) (zone Zone, records string) {
	t.Helper()
	zone = create[Zone](t, "dns/zones", zoneOf(makeGroup(t).ID))
	return zone, "dns/zones/" + zone.ID + "/records"
}

func TestRecords(t *testing.T) {
	zone, path := makeZone(t)
	for _, want := range []Record{
		{Name: "a." + zone.Domain, Type: "A", Content: "10.0.0.1", TTL: 300},
		{Name: "a." + zone.Domain, Type: "A", Content: "10.0.0.2", TTL: 300},
		{Name: "a." + zone.Domain, Type: "AAAA", Content: "2001:db8::1", TTL: 300},
		{Name: zone.Domain, Type: "A", Content: "10.0.0.1", TTL: 300},
		{Name: "c." + zone.Domain, Type: "CNAME", Content: "other.example.com", TTL: 300},
	} {
		body := fields{"name": strings.ToUpper(want.Name) + ".", "type": want.Type, "content": want.Content}
		if want.Type == "CNAME" {
			body["content"] = "Other.Example.COM."
		}
		record := create[Record](t, path, body)
		want.ID = record.ID
		require.Equal(t, want, record)
		require.Equal(t, want, get[Record](t, path+"/"+record.ID))
		require.Contains(t, get[[]Record](t, path), want)
		require.Contains(t, get[Zone](t, "dns/zones/"+zone.ID).Records, want)
	}
	record := create[Record](t, path, fields{"name": "t." + zone.Domain, "type": "A", "content": "10.0.0.1", "ttl": 1})
	require.Equal(t, 1, record.TTL)
	changed := ask[Record](t, http.MethodPut, path+"/"+record.ID, fields{"name": record.Name, "type": "CNAME", "content": "x.example.com"})
	require.Equal(t, Record{record.ID, record.Name, "CNAME", "x.example.com", 300}, changed, "it is not in its own way")

	kept := get[Zone](t, "dns/zones/"+zone.ID)
	written := ask[Zone](t, http.MethodPut, "dns/zones/"+zone.ID, fields{"name": "n", "domain": zone.Domain, "distribution_groups": zone.DistributionGroups, "records": []Record{}})
	require.ElementsMatch(t, kept.Records, written.Records, "a write to the zone leaves them")
}

func TestRecordsThatAreRefused(t *testing.T) {
	zone, path := makeZone(t)
	create[Record](t, path, fields{"name": "a." + zone.Domain, "type": "A", "content": "10.0.0.1"})
	create[Record](t, path, fields{"name": "c." + zone.Domain, "type": "CNAME", "content": "a.example.com"})
	good := fields{"name": "b." + zone.Domain, "type": "A", "content": "10.0.0.1"}
	for what, wrong := range map[string]fields{
		"no name":                   good.with("name", ""),
		"a name of another zone":    good.with("name", "b.example.com"),
		"a name that ends the same": good.with("name", "b"+zone.Domain),
		"the name of the zone":      good.with("name", zone.Name),
		"an unknown type":           good.with("type", "TXT"),
		"lower case":                good.with("type", "a"),
		"IPv6 in A":                 good.with("content", "2001:db8::1"),
		"IPv4 in AAAA":              good.with("type", "AAAA"),
		"a name in A":               good.with("content", "example.com"),
		"an address in CNAME":       good.with("type", "CNAME"),
		"no content":                good.with("content", ""),
		"a CNAME without content":   good.with("type", "CNAME").with("content", ""),
		"a space":                   good.with("type", "CNAME").with("content", "a b.example.com"),
		"ttl 0":                     good.with("ttl", 0),
		"ttl -1":                    good.with("ttl", -1),
		"a CNAME beside an A":       good.with("name", "a."+zone.Domain).with("type", "CNAME").with("content", "x.example.com"),
		"an A beside a CNAME":       good.with("name", "C."+zone.Domain),
	} {
		t.Run(what, func(t *testing.T) {
			refused(t, http.StatusUnprocessableEntity, http.MethodPost, path, wrong)
		})
	}
	require.Len(t, get[[]Record](t, path), 2)
}
