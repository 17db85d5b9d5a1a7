package openzro

import (
	"crypto/rand"
	"strings"
)

// Account is a tenant of the server, isolated from all others.
type Account struct {
	// Name is unique at the server, and what calls are counted by.
	Name string
	// ID is what the server calls it.
	ID string
	// Token is one of its administrator.
	Token string

	server    *Server
	users     []*storedUser
	peers     []*storedPeer
	groups    []*storedGroup
	keys      []*storedKey
	policies  []*storedPolicy
	networks  []*storedNetwork
	resources []*storedResource
	routers   []*storedRouter
	zones     []*storedZone
	settings  Settings
}

type storedPeer struct{ id, name string }

func (p *storedPeer) key() string { return p.id }

// AddAccount adds a tenant with an administrator and the group All, as the server does.
func (s *Server) AddAccount(name string) *Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &Account{Name: name, ID: newID(), server: s, settings: Settings{
		PeerLoginExpirationEnabled: true, PeerLoginExpiration: 24 * 60 * 60,
		MFAEnforceLocal: new(bool), MFAEnforceFederated: new(bool), Extra: &ExtraSettings{NetworkTrafficDisableDefaultPortFilter: new(bool)},
	}.complete()}
	a.groups = []*storedGroup{{id: newID(), name: allPeersGroup, issued: "api"}}
	admin := a.addUser("admin", RoleAdmin, true)
	a.Token = admin.addToken("admin", admin.id, tokenLifetime).text
	s.accounts = append(s.accounts, a)
	return a
}

// AddToken adds a user, and returns their token. A service reads everything, with any role; a
// person with the role user reads nothing.
func (a *Account) AddToken(role UserRole, service bool) string {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	added := a.addUser(string(role), role, service)
	return added.addToken(string(role), added.id, tokenLifetime).text
}

// Revoke lets a token be good for nothing from now on.
func (a *Account) Revoke(token string) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	for _, u := range a.users {
		for _, t := range u.tokens {
			if t.text == token {
				u.tokens = without(u.tokens, t.id)
			}
		}
	}
}

// AddGroup adds a group with an issuer: api, jwt or integration.
func (a *Account) AddGroup(name, issued string) (id string) {
	return inspect(a, func() string {
		added := &storedGroup{id: newID(), name: name, issued: issued}
		a.groups = append(a.groups, added)
		return added.id
	})
}

// AddPeer enrols a machine by hand, into groups with these IDs.
func (a *Account) AddPeer(name string, groups ...string) (id string) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	return a.addPeer(name, groups)
}

// addPeer adds a machine to groups, and to All as every machine.
func (a *Account) addPeer(name string, groups []string) (id string) {
	added := &storedPeer{newID(), name}
	a.peers = append(a.peers, added)
	everyone, _ := a.groupNamed(allPeersGroup)
	for _, id := range append([]string{everyone.id}, groups...) {
		if g, ok := find(a.groups, id); ok {
			g.peers = append(g.peers, added.id)
		}
	}
	return added.id
}

// Groups, and the methods below, are what the account has now; they count as no call.
func (a *Account) Groups() []Group {
	return inspect(a, func() []Group { return transform(a.groups, a.showGroup) })
}

// SetupKeys are its keys, masked.
func (a *Account) SetupKeys() []SetupKey {
	return inspect(a, func() []SetupKey { return transform(a.keys, (*storedKey).masked) })
}

// Policies are its policies.
func (a *Account) Policies() []Policy {
	return inspect(a, func() []Policy { return transform(a.policies, a.showPolicy) })
}

// Networks are its networks.
func (a *Account) Networks() []Network {
	return inspect(a, func() []Network { return transform(a.networks, a.showNetwork) })
}

// Resources are those of all its networks.
func (a *Account) Resources() []Resource {
	return inspect(a, func() []Resource { return transform(a.resources, a.showResource) })
}

// Routers are those of all its networks.
func (a *Account) Routers() []Router {
	return inspect(a, func() []Router { return transform(a.routers, (*storedRouter).show) })
}

// Zones are its DNS zones.
func (a *Account) Zones() []Zone {
	return inspect(a, func() []Zone { return transform(a.zones, (*storedZone).show) })
}

// Settings are its settings.
func (a *Account) Settings() Settings { return inspect(a, func() Settings { return a.settings }) }

func inspect[T any](a *Account, what func() T) T {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	return what()
}

// newID is an ID as the server makes them: twenty characters.
func newID() string { return strings.ToLower(rand.Text()[:20]) }
