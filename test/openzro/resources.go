package openzro

import (
	"net/netip"
	"regexp"
	"slices"
)

// storedResource is as it is answered, but for its groups: those know it.
type storedResource struct {
	Resource
	network string
}

func (r *storedResource) key() string { return r.ID }

var resourceRoutes = map[string]handler{
	"GET /api/networks/resources":                   listAllResources,
	"GET /api/networks/{network}/resources":         listResources,
	"POST /api/networks/{network}/resources":        createResource,
	"GET /api/networks/{network}/resources/{id}":    getResource,
	"PUT /api/networks/{network}/resources/{id}":    updateResource,
	"DELETE /api/networks/{network}/resources/{id}": deleteResource,
}

func (a *Account) showResource(r *storedResource) Resource {
	shown := r.Resource
	for _, g := range a.groups {
		if g.has(r.ID) {
			shown.Groups = append(shown.Groups, g.size())
		}
	}
	return shown
}

func listAllResources(r *request) (any, error) {
	return never(transform(r.account.resources, r.account.showResource)), nil
}

// listResources does not ask whether there is such a network.
func listResources(r *request) (any, error) {
	var shown []Resource
	for _, one := range r.account.resources {
		if one.network == r.PathValue("network") {
			shown = append(shown, r.account.showResource(one))
		}
	}
	return shown, nil
}

// resourceNamed returns the resource that the path names, in any network.
func (r *request) resourceNamed() (*storedResource, error) {
	return named(r, r.account.resources, "resource", "id")
}

func getResource(r *request) (any, error) {
	found, err := r.resourceNamed()
	if err != nil {
		return nil, err
	}
	if found.network != r.PathValue("network") {
		return nil, broken()
	}
	return r.account.showResource(found), nil
}

// resourceBody is what a resource is made of, in the server's form.
type resourceBody struct {
	Resource
	Groups []string `json:"groups"`
}

func (r *request) resourceBody() (body resourceBody, err error) {
	if err := r.decode(&body); err != nil {
		return body, err
	}
	var ok bool
	if body.Type, body.Address, ok = normalize(body.Address); !ok {
		return body, broken()
	}
	return body, nil
}

// domainName is a domain that a resource may be, for example *.example.com.
var domainName = regexp.MustCompile(`^(?:[*][.])?(?:[-0-9A-Za-z]+[.])+[A-Za-z][A-Za-z]+$`)

// normalize is an address as the server answers it: one host as a prefix of all its bits,
// a prefix and a domain as they are.
func normalize(address string) (kind, normal string, ok bool) {
	if prefix, err := netip.ParsePrefix(address); err == nil {
		if prefix.Bits() == 32 || prefix.Bits() == 128 { // of IPv6, too
			return "host", prefix.String(), true
		}
		return "subnet", prefix.String(), true
	}
	if host, err := netip.ParseAddr(address); err == nil {
		return "host", netip.PrefixFrom(host, host.BitLen()).String(), true
	}
	return "domain", address, domainName.MatchString(address)
}

func createResource(r *request) (any, error) {
	body, err := r.resourceBody()
	if err != nil {
		return nil, err
	}
	if r.account.hasResource(body.Name, "") {
		return nil, invalid("there is a resource %s already", body.Name)
	}
	if _, err := r.networkNamed(); err != nil {
		return nil, err
	}
	if err := r.account.knowsGroups(body.Groups); err != nil {
		return nil, err
	}
	added := &storedResource{body.Resource, r.PathValue("network")}
	added.ID = newID()
	r.account.resources = append(r.account.resources, added)
	r.account.putInto(added, body.Groups)
	return r.account.showResource(added), nil
}

// hasResource says whether another resource of the account has a name.
func (a *Account) hasResource(name, besides string) bool {
	return slices.ContainsFunc(a.resources, func(r *storedResource) bool { return r.Name == name && r.ID != besides })
}

func (a *Account) knowsGroups(ids []string) error {
	for _, id := range ids {
		if _, ok := find(a.groups, id); !ok {
			return missing("group", id)
		}
	}
	return nil
}

// updateResource moves the resource to the network that the path names.
func updateResource(r *request) (any, error) {
	body, err := r.resourceBody()
	if err != nil {
		return nil, err
	}
	if _, err := r.networkNamed(); err != nil {
		return nil, err
	}
	found, err := r.resourceNamed()
	if err != nil {
		return nil, err
	}
	if r.account.hasResource(body.Name, found.ID) {
		return nil, invalid("there is a resource %s already", body.Name)
	}
	if err := r.account.knowsGroups(body.Groups); err != nil {
		return nil, err
	}
	body.ID = found.ID
	found.Resource, found.network = body.Resource, r.PathValue("network")
	r.account.putInto(found, body.Groups)
	return r.account.showResource(found), nil
}

// putInto puts a resource into groups, and into no others.
func (a *Account) putInto(r *storedResource, groups []string) {
	for _, g := range a.groups {
		wanted := slices.Contains(groups, g.id)
		switch {
		case wanted && !g.has(r.ID):
			g.resources = append(g.resources, Link{r.ID, r.Type})
		case !wanted:
			g.resources = slices.DeleteFunc(g.resources, func(l Link) bool { return l.ID == r.ID })
		}
	}
}

func (a *Account) deleteResource(r *storedResource) {
	a.putInto(r, nil)
	a.resources = without(a.resources, r.ID)
}

func deleteResource(r *request) (any, error) {
	found, err := r.resourceNamed()
	if err != nil {
		return nil, err
	}
	if _, err := r.networkNamed(); err != nil {
		return nil, err
	}
	if found.network != r.PathValue("network") {
		return nil, broken()
	}
	r.account.deleteResource(found)
	return empty{}, nil
}
