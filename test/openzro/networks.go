package openzro

import (
	"slices"
)

type storedNetwork struct{ id, name, description string }

func (n *storedNetwork) key() string { return n.id }

var networkRoutes = map[string]handler{
	"GET /api/networks": func(r *request) (any, error) {
		return never(transform(r.account.networks, r.account.showNetwork)), nil
	},
	"POST /api/networks":             createNetwork,
	"GET /api/networks/{network}":    getting((*request).networkNamed, (*Account).showNetwork),
	"PUT /api/networks/{network}":    updateNetwork,
	"DELETE /api/networks/{network}": deleting((*request).networkNamed, (*Account).deleteNetwork),
}

func (a *Account) showNetwork(n *storedNetwork) Network {
	shown := Network{ID: n.id, Name: n.name, Description: n.description, Policies: []string{}}
	for _, r := range a.routers {
		if r.network != n.id {
			continue
		}
		shown.Routers = append(shown.Routers, r.ID)
		shown.RoutingPeersCount += a.routingPeers(r)
	}
	for _, r := range a.resources {
		if r.network == n.id {
			shown.Resources = append(shown.Resources, r.ID)
		}
	}
	for _, p := range a.policies {
		if slices.ContainsFunc(shown.Resources, func(id string) bool { return a.reaches(p, id) }) {
			shown.Policies = append(shown.Policies, p.id)
		}
	}
	return shown
}

func (a *Account) routingPeers(r *storedRouter) (count int) {
	if r.Peer != "" {
		count++
	}
	for _, id := range r.PeerGroups {
		if g, ok := find(a.groups, id); ok {
			count += len(g.peers)
		}
	}
	return count
}

// reaches says whether a policy is about a resource, by itself or by a group of it.
func (a *Account) reaches(p *storedPolicy, resource string) bool {
	return p.enabled && slices.ContainsFunc(p.rules, func(r *storedRule) bool {
		return r.Enabled && (r.DestinationResource != nil && r.DestinationResource.ID == resource ||
			slices.ContainsFunc(a.groups, func(g *storedGroup) bool {
				return g.has(resource) && slices.Contains(r.destinations(), g.id)
			}))
	})
}

// networkNamed is the one that the path names.
func (r *request) networkNamed() (*storedNetwork, error) {
	return named(r, r.account.networks, "network", "network")
}

// networkBody is what a network is made of. Names need not be unique.
type networkBody struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func createNetwork(r *request) (any, error) {
	var body networkBody
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	added := &storedNetwork{newID(), body.Name, body.Description}
	r.account.networks = append(r.account.networks, added)
	return r.account.showNetwork(added), nil
}

func updateNetwork(r *request) (any, error) {
	var body networkBody
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	found, err := r.networkNamed()
	if err != nil {
		return nil, err
	}
	found.name, found.description = body.Name, body.Description
	return r.account.showNetwork(found), nil
}

// deleteNetwork deletes with it all that belongs to it.
func (a *Account) deleteNetwork(n *storedNetwork) {
	for _, one := range slices.Clone(a.resources) {
		if one.network == n.id {
			a.deleteResource(one)
		}
	}
	a.routers = slices.DeleteFunc(a.routers, func(one *storedRouter) bool { return one.network == n.id })
	a.networks = without(a.networks, n.id)
}
