package management

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// TenantCache caches tenants by their credentials.
type TenantCache struct {
	observe Observe
	now     func() time.Time

	mutex sync.Mutex
	known map[[sha256.Size]byte]*Tenant
	// used records when each tenant was last requested.
	used map[*Tenant]time.Time
}

// NewTenants returns Tenants whose requests are counted.
func NewTenants(observe Observe, now func() time.Time) *TenantCache {
	return &TenantCache{observe: observe, now: now, known: map[[sha256.Size]byte]*Tenant{}, used: map[*Tenant]time.Time{}}
}

// Of returns the Tenant of credentials, or an error for invalid ones.
func (t *TenantCache) Of(c Credentials) (*Tenant, error) {
	digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.URL, c.Key, c.CA))
	t.mutex.Lock()
	defer t.mutex.Unlock()
	tenant := t.known[digest]
	if tenant == nil {
		var err error
		if tenant, err = newTenant(c, t.observe, t.now); err != nil {
			return nil, err
		}
		t.known[digest] = tenant
	}
	t.used[tenant] = t.now()
	return tenant, nil
}

// idle is how long an unused Tenant stays in memory.
const idle = 10 * time.Minute

// All are the tenants with whose keys objects are carried out. Others, such as those whose
// keys were replaced, are forgotten after a while.
func (t *TenantCache) All() (used []*Tenant) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for digest, tenant := range t.known {
		switch {
		case tenant.isUsed():
			used = append(used, tenant)
		case t.now().Sub(t.used[tenant]) > idle:
			tenant.Close()
			delete(t.known, digest)
			delete(t.used, tenant)
		}
	}
	return used
}
