package openzro

import (
	"slices"
	"strings"
)

// peerDomain is the one that peers have names in, where the settings name no other.
const peerDomain = "openzro.selfhosted"

type storedZone struct{ Zone }

func (z *storedZone) key() string { return z.ID }

func (z *storedZone) show() Zone {
	shown := z.Zone
	shown.Records = never(slices.Clone(z.Records))
	return shown
}

var zoneRoutes = map[string]handler{
	"GET /api/dns/zones":           func(r *request) (any, error) { return never(transform(r.account.zones, (*storedZone).show)), nil },
	"POST /api/dns/zones":          createZone,
	"GET /api/dns/zones/{zone}":    getting((*request).zoneNamed, func(_ *Account, z *storedZone) Zone { return z.show() }),
	"PUT /api/dns/zones/{zone}":    updateZone,
	"DELETE /api/dns/zones/{zone}": deleting((*request).zoneNamed, func(a *Account, z *storedZone) { a.zones = without(a.zones, z.ID) }),
}

// zoneNamed is the one that the path names.
func (r *request) zoneNamed() (*storedZone, error) {
	return named(r, r.account.zones, "zone", "zone")
}

// zoneBody returns the zone of a request, without records: enabled unless the request disables
// it.
func (r *request) zoneBody() (*storedZone, error) {
	asked := &storedZone{Zone{Enabled: true}}
	if err := r.decode(&asked.Zone); err != nil {
		return nil, err
	}
	asked.ID, asked.Records = "", nil
	return asked, nil
}

func createZone(r *request) (any, error) {
	added, err := r.zoneBody()
	if err != nil {
		return nil, err
	}
	if err := r.account.checkZone(added); err != nil {
		return nil, err
	}
	added.ID = newID()
	r.account.zones = append(r.account.zones, added)
	return added.show(), nil
}

// updateZone changes all but the domain and the records.
func updateZone(r *request) (any, error) {
	asked, err := r.zoneBody()
	if err != nil {
		return nil, err
	}
	found, err := r.zoneNamed()
	if err != nil {
		return nil, err
	}
	if normalDomain(asked.Domain) != found.Domain {
		return nil, invalid("the domain of a zone stays")
	}
	asked.ID, asked.Records = found.ID, found.Records
	if err := r.account.checkZone(asked); err != nil {
		return nil, err
	}
	*found = *asked
	return found.show(), nil
}

func normalDomain(domain string) string {
	return strings.TrimSuffix(strings.ToLower(domain), ".")
}

// isDomain says whether labels are as long as DNS lets them.
func isDomain(domain string) bool {
	return len(domain) <= 253 && !slices.ContainsFunc(strings.Split(domain, "."), func(label string) bool {
		return label == "" || len(label) > 63
	})
}

// checkZone checks a zone, and brings its domain into the server's form.
func (a *Account) checkZone(z *storedZone) error {
	z.Domain = normalDomain(z.Domain)
	if !isDomain(z.Domain) {
		return invalid("%q is no domain", z.Domain)
	}
	if len(z.Name) < 1 || len(z.Name) > 255 {
		return invalid("the name of a zone has 1 to 255 bytes")
	}
	if own := a.peerDomain(); overlap(z.Domain, own) {
		return invalid("%s overlaps %s, which the peers are in", z.Domain, own)
	}
	for _, other := range a.zones {
		if other.ID != z.ID && overlap(z.Domain, other.Domain) {
			return invalid("%s overlaps %s, which is another zone", z.Domain, other.Domain)
		}
	}
	return a.checkDistribution(z.DistributionGroups)
}

func (a *Account) peerDomain() string {
	if own := a.settings.DNSDomain; own != "" {
		return own
	}
	return peerDomain
}

// overlap says whether one domain is the other or within it.
func overlap(a, b string) bool {
	return within(a, b) || within(b, a)
}

func within(domain, of string) bool {
	return domain == of || strings.HasSuffix(domain, "."+of)
}

func (a *Account) checkDistribution(groups []string) error {
	if len(groups) == 0 {
		return invalid("a zone is distributed to one group at least")
	}
	for i, id := range groups {
		if slices.Contains(groups[:i], id) {
			return invalid("the group %s is named twice", id)
		}
		if _, ok := find(a.groups, id); !ok {
			return invalid("there is no group %s", id)
		}
	}
	return nil
}
