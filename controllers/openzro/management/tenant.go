package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// perTenant is how many objects of a tenant are reconciled concurrently: a tenant whose server
// hangs blocks no more of the shared workers.
const perTenant = 8

// Tenant is the known state of an account at a management server, for one key.
type Tenant struct {
	*session
	name  string
	began time.Time

	// joined is when the first of the present members came.
	joined time.Time

	Groups    *Collection[Group]
	Policies  *Collection[Policy]
	SetupKeys *Collection[SetupKey]
	Networks  *Collection[Network]
	Accounts  *Collection[Account]
	Zones     *Collection[Zone]

	// The mutex of the session guards the fields below.
	resources map[string]*Collection[Resource]
	routers   map[string]*Collection[Router]
	records   map[string]*Collection[Record]
	refreshed time.Time
	served    map[string]served // by path

	settings sync.Mutex // over writing those of the account

	queue
}

// newTenant returns a Tenant with a clock.
func newTenant(c Credentials, observe Observe, now func() time.Time) (*Tenant, error) {
	client, err := newClient(c, observe)
	if err != nil {
		return nil, err
	}
	t := &Tenant{
		session: &session{client: client, now: now, weights: map[place]weight{}},
		name:    cmp.Or(c.Name, "default"), began: now(), served: map[string]served{},
		resources: map[string]*Collection[Resource]{}, routers: map[string]*Collection[Router]{}, records: map[string]*Collection[Record]{},
	}
	t.Groups = newCollection(t.session, "/groups", "groups",
		func(g Group) string { return g.ID }, func(g Group) string { return g.Name },
		func(g Group) any { return g.Name }) // members change all the time, and are not used here
	t.Groups.decode, t.Groups.forget = decodeGroups, withoutMembers
	t.Policies = newCollection(t.session, "/policies", "policies", func(p Policy) string { return p.ID }, func(p Policy) string { return p.Name }, identity)
	t.SetupKeys = newCollection(t.session, "/setup-keys", "setup-keys",
		func(k SetupKey) string { return k.ID }, func(k SetupKey) string { return k.Name },
		func(k SetupKey) any { return [...]any{k.Name, k.State, k.Revoked, k.AutoGroups} })
	t.SetupKeys.forget = func(k SetupKey) SetupKey {
		k.Key = k.Key[:min(len(k.Key), KeyPrefix)]
		return k
	}
	t.Networks = newCollection(t.session, "/networks", "networks",
		func(n Network) string { return n.ID }, func(n Network) string { return n.Name },
		func(n Network) any { return [...]any{n.Name, n.Description} })
	t.Accounts = newCollection(t.session, "/accounts", "accounts", func(a Account) string { return a.ID }, func(a Account) string { return "" }, identity)
	t.Zones = newCollection(t.session, "/dns/zones", "dns/zones", func(z Zone) string { return z.ID }, func(z Zone) string { return z.Domain }, identity)
	return t, nil
}

// Records are those of a DNS zone.
func (t *Tenant) Records(zone string) *Collection[Record] {
	return below(t, t.records, zone, func() *Collection[Record] {
		return newCollection(t.session, "/dns/zones/"+url.PathEscape(zone)+"/records", "dns/zones/records",
			func(r Record) string { return r.ID }, func(r Record) string { return r.Name }, identity)
	})
}

// Resources are those of a network.
func (t *Tenant) Resources(network string) *Collection[Resource] {
	return below(t, t.resources, network, func() *Collection[Resource] {
		return newCollection(t.session, "/networks/"+url.PathEscape(network)+"/resources", "networks/resources",
			func(r Resource) string { return r.ID }, func(r Resource) string { return r.Name }, identity)
	})
}

// Routers are those of a network.
func (t *Tenant) Routers(network string) *Collection[Router] {
	return below(t, t.routers, network, func() *Collection[Router] {
		return newCollection(t.session, "/networks/"+url.PathEscape(network)+"/routers", "networks/routers",
			func(r Router) string { return r.ID }, func(r Router) string { return "" }, identity)
	})
}

func below[T any](t *Tenant, all map[string]*Collection[T], of string, make func() *Collection[T]) *Collection[T] {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if all[of] == nil {
		all[of] = make()
	}
	return all[of]
}

// RemoveNetwork takes a network away, and all that is in it.
func (t *Tenant) RemoveNetwork(ctx context.Context, id string) error {
	if err := t.Networks.Remove(ctx, id); err != nil {
		return err
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.release(t.resources[id])
	t.release(t.routers[id])
	delete(t.resources, id)
	delete(t.routers, id)
	return nil
}

// servesInterval is how long the result of Serves is cached.
const servesInterval = time.Hour

// Serves reports whether the server supports a path. It sends at most one request an hour.
func (t *Tenant) Serves(ctx context.Context, path string) (bool, error) {
	t.mutex.Lock()
	known, has := t.served[path]
	t.mutex.Unlock()
	if has && t.now().Sub(known.at) < servesInterval {
		return known.there, nil
	}
	err := t.ask(ctx, false, http.MethodGet, "services", path, nil, nil)
	if there := err == nil; there || Is(err, NotServed) || Is(err, NotFound) {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.served[path] = served{there, t.now()}
		return there, nil
	}
	return false, err
}

// served is the cached result of Serves.
type served struct {
	there bool
	at    time.Time
}

// maxAccountID is how long the ID of an account may be, in bytes.
const maxAccountID = 128

// Account is the ID of the account that the key leads to.
func (t *Tenant) Account(ctx context.Context) (id string, err error) {
	if err := t.Accounts.Load(ctx); err != nil {
		return "", err
	}
	all := t.Accounts.All()
	if len(all) != 1 || all[0].ID == "" || len(all[0].ID) > maxAccountID {
		return "", &Error{Cause: ServerError, Asked: "GET /api/accounts", Message: fmt.Sprintf("the server lists %d accounts for this key instead of one with an ID; check managementURL", len(all))}
	}
	return all[0].ID, nil
}

// UnreadSince is the time of the last read of the collection in use that was read longest
// ago: zero if nothing is to be read.
func (t *Tenant) UnreadSince() (oldest time.Time) {
	used := t.inUse()
	for _, c := range used {
		if at := c.lastRead(); oldest.IsZero() || !at.IsZero() && at.Before(oldest) {
			oldest = at
		}
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(used) == 0 && t.outage == nil {
		return oldest
	}
	if t.joined.After(oldest) {
		return t.joined // without members, nothing was read
	}
	return oldest
}

// Enter is that of the queue, and notes when the first member came.
func (t *Tenant) Enter(object Object) bool {
	if !t.isUsed() {
		t.mutex.Lock()
		t.joined = t.now()
		t.mutex.Unlock()
	}
	return t.queue.Enter(object)
}

// IsStale reports whether a collection in use was not read for a time.
func (t *Tenant) IsStale(after time.Duration) bool {
	since := t.UnreadSince()
	return !since.IsZero() && t.now().Sub(since) >= after
}

// Name is the tenant's name in messages.
func (t *Tenant) Name() string { return t.name }

// Refreshed is when all that is in use was last listed.
func (t *Tenant) Refreshed() time.Time {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.refreshed
}

// Due is when the tenant is to be refreshed, at an interval; earlier where it cannot be
// used.
func (t *Tenant) Due(interval time.Duration) time.Time {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	switch {
	case t.outage != nil:
		return t.until
	case t.suffered:
		return t.now()
	}
	last := t.began // when the first collection was listed, or later
	if t.refreshed.After(last) {
		last = t.refreshed
	}
	if due := last.Add(interval); t.soon.IsZero() || due.Before(t.soon) {
		return due
	}
	return t.soon
}

// refresher is a Collection of any type of item.
type refresher interface {
	isUsed() bool
	lastRead() time.Time
	forgetUntil(time.Time)
	Refresh(context.Context) (bool, error)
}

// Refresh lists all collections that were listed before, and reports whether items have changed
// without a write of ours, or the server has become usable again.
func (t *Tenant) Refresh(ctx context.Context) (changed bool, err error) {
	t.mutex.Lock()
	t.soon = time.Time{}
	t.mutex.Unlock()
	collections := t.inUse()
	if len(collections) == 0 && t.Outage() != nil {
		collections = []refresher{t.Groups} // any would do
	}
	for _, c := range collections {
		differs, again := c.Refresh(ctx)
		if Is(again, NotFound) {
			t.sweep()
			differs, again = true, nil // its network or zone is gone
		}
		changed, err = changed || differs, errors.Join(err, again)
		if t.Outage() != nil {
			break
		}
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.outage != nil { // also one that has begun since: its end is still to be reported
		return false, err
	}
	changed, t.suffered, t.refreshed = changed || t.suffered, false, t.now()
	return changed, err
}

// inUse are the collections that were listed, those of networks after these.
func (t *Tenant) inUse() (all []refresher) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	every := []refresher{t.Groups, t.Policies, t.SetupKeys, t.Networks, t.Accounts, t.Zones}
	for _, c := range t.resources {
		every = append(every, c)
	}
	for _, c := range t.routers {
		every = append(every, c)
	}
	for _, c := range t.records {
		every = append(every, c)
	}
	return slices.DeleteFunc(every, func(c refresher) bool { return !c.isUsed() })
}

// Follow invalidates the collections of a tenant after writes with another key, which may be one
// of the same account.
func (t *Tenant) Follow(other *Tenant) {
	other.mutex.Lock()
	wrote := other.wrote
	other.mutex.Unlock()
	if wrote.IsZero() {
		return
	}
	for _, c := range t.inUse() {
		c.forgetUntil(wrote)
	}
}

// sweep drops the collections of a deleted network or zone.
func (t *Tenant) sweep() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, c := range t.resources {
		t.release(c)
	}
	for _, c := range t.routers {
		t.release(c)
	}
	for _, c := range t.records {
		t.release(c)
	}
	clear(t.resources)
	clear(t.routers)
	clear(t.records)
}

// Close closes the idle connections.
func (t *Tenant) Close() { t.client.http.CloseIdleConnections() }

// SharesAccount reports whether two tenants are known to have one account at one server.
// Another server that names the account does not share it.
func (t *Tenant) SharesAccount(other *Tenant) bool {
	if t == other {
		return true
	}
	mine, theirs := t.Accounts.All(), other.Accounts.All()
	return t.client.base == other.client.base && len(mine) == 1 && len(theirs) == 1 && mine[0].ID == theirs[0].ID
}
