package openzro

import (
	"net/http"
	"slices"
)

// allPeersGroup is the name of the group that every peer is in.
const allPeersGroup = "All"

type storedGroup struct {
	id, name, issued string
	peers            []string
	resources        []Link
}

func (g *storedGroup) key() string { return g.id }

func (g *storedGroup) size() GroupSize {
	return GroupSize{ID: g.id, Name: g.name, PeersCount: len(g.peers), ResourcesCount: len(g.resources)}
}

func (g *storedGroup) has(resource string) bool {
	return slices.ContainsFunc(g.resources, func(l Link) bool { return l.ID == resource })
}

var groupRoutes = map[string]handler{
	"GET /api/groups":         func(r *request) (any, error) { return transform(r.account.groups, r.account.showGroup), nil },
	"POST /api/groups":        createGroup,
	"GET /api/groups/{id}":    getting((*request).groupNamed, (*Account).showGroup),
	"PUT /api/groups/{id}":    updateGroup,
	"DELETE /api/groups/{id}": deleteGroup,
}

func (a *Account) showGroup(g *storedGroup) Group {
	shown := Group{ID: g.id, Name: g.name, Issued: g.issued, Resources: slices.Clone(g.resources), ResourcesCount: len(g.resources)}
	for _, id := range g.peers {
		if p, ok := find(a.peers, id); ok {
			shown.Peers = append(shown.Peers, Name{p.id, p.name})
		}
	}
	shown.PeersCount = len(shown.Peers)
	return shown
}

// groupNamed is the one with the name that has most peers.
func (a *Account) groupNamed(name string) (found *storedGroup, ok bool) {
	for _, g := range a.groups {
		if g.name == name && (found == nil || len(g.peers) > len(found.peers)) {
			found = g
		}
	}
	return found, found != nil
}

// groupNamed is the one that the path names.
func (r *request) groupNamed() (*storedGroup, error) {
	return named(r, r.account.groups, "group", "id")
}

// groupBody is the body of a write to a group. Omitted fields are emptied.
type groupBody struct {
	Name      string   `json:"name"`
	Peers     []string `json:"peers"`
	Resources []Link   `json:"resources"`
}

func (r *request) groupBody() (body groupBody, err error) {
	if err := r.decode(&body); err != nil {
		return body, err
	}
	if body.Name == "" {
		return body, invalid("a group needs a name")
	}
	return body, nil
}

// knowsPeers rejects peers that the account does not have. The server does not check resources.
func (a *Account) knowsPeers(ids []string) error {
	for _, id := range ids {
		if _, ok := find(a.peers, id); !ok {
			return invalid("there is no peer %s", id)
		}
	}
	return nil
}

func createGroup(r *request) (any, error) {
	body, err := r.groupBody()
	if err != nil {
		return nil, err
	}
	if _, taken := r.account.groupNamed(body.Name); taken {
		return nil, refuse(http.StatusConflict, "there is a group %s already", body.Name)
	}
	if err := r.account.knowsPeers(body.Peers); err != nil {
		return nil, err
	}
	added := &storedGroup{newID(), body.Name, "api", body.Peers, body.Resources}
	r.account.groups = append(r.account.groups, added)
	return r.account.showGroup(added), nil
}

// updateGroup asks about no other group's name.
func updateGroup(r *request) (any, error) {
	found, err := r.groupNamed()
	if err != nil {
		return nil, err
	}
	everyone, ok := r.account.groupNamed(allPeersGroup)
	if !ok {
		return nil, missing("group", allPeersGroup)
	}
	if found == everyone {
		return nil, invalid("the group %s cannot be changed", allPeersGroup)
	}
	body, err := r.groupBody()
	if err != nil {
		return nil, err
	}
	if err := r.account.knowsPeers(body.Peers); err != nil {
		return nil, err
	}
	found.name, found.peers, found.resources = body.Name, body.Peers, body.Resources
	return r.account.showGroup(found), nil
}

// deleteGroup has 400 for all that is in its way, even that there is no such group.
func deleteGroup(r *request) (any, error) {
	found, ok := find(r.account.groups, r.PathValue("id"))
	if !ok {
		return nil, refuse(http.StatusBadRequest, "there is no group %s", r.PathValue("id"))
	}
	if found.name == allPeersGroup {
		return nil, refuse(http.StatusBadRequest, "the group %s cannot be deleted", allPeersGroup)
	}
	if what, name := r.account.linkTo(found); what != "" {
		return nil, refuse(http.StatusBadRequest, "the group is in use by %s %s", what, name)
	}
	r.account.groups = without(r.account.groups, found.id)
	return empty{}, nil
}

// linkTo is the first that uses a group, in the order in which the server looks. Zones and
// settings do not count.
func (a *Account) linkTo(g *storedGroup) (what, name string) {
	if len(g.resources) > 0 {
		return "resource", g.resources[0].ID
	}
	for _, p := range a.policies {
		if p.names(g.id) {
			return "policy", p.name
		}
	}
	for _, k := range a.keys {
		if slices.Contains(k.AutoGroups, g.id) {
			return "setup key", k.Name
		}
	}
	for _, u := range a.users {
		if slices.Contains(u.autoGroups, g.id) {
			return "user", u.id
		}
	}
	for _, n := range a.routers {
		if slices.Contains(n.PeerGroups, g.id) {
			return "router", n.ID
		}
	}
	return "", ""
}
