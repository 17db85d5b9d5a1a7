package openzro

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// keeper lists the collections of tenants at an interval, and waits for servers that cannot
// be used. It has objects looked at whose tenant has changed behind our back.
type keeper struct {
	tenants  *management.TenantCache
	interval time.Duration
	now      func() time.Time
	wake     func(context.Context, management.Object)

	mutex sync.Mutex
	// busy are the tenants that are being listed, and reported those whose outage their objects
	// report.
	busy, reported map[*management.Tenant]bool
	// stale are the tenants whose objects were enqueued to report that the server cannot be
	// read.
	stale map[*management.Tenant]bool
}

// tick is how often it is looked whether a tenant is due.
const tick = 200 * time.Millisecond

// Start implements manager.Runnable; it runs on the leader.
func (k *keeper) Start(ctx context.Context) error {
	k.busy, k.reported, k.stale = map[*management.Tenant]bool{}, map[*management.Tenant]bool{}, map[*management.Tenant]bool{}
	var running sync.WaitGroup
	_ = wait.PollUntilContextCancel(ctx, tick, false, func(context.Context) (bool, error) {
		for _, t := range k.due() {
			running.Go(func() { k.refresh(ctx, t) })
		}
		for _, t := range k.turnedStale() {
			running.Go(func() { k.wakeAll(ctx, t) })
		}
		return false, nil
	})
	running.Wait()
	return nil
}

// due are the tenants to list now, which are busy then.
func (k *keeper) due() (due []*management.Tenant) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	all := k.tenants.All()
	maps.DeleteFunc(k.reported, func(t *management.Tenant, _ bool) bool { return !slices.Contains(all, t) })
	for _, t := range all {
		if !k.busy[t] && !k.now().Before(t.Due(k.interval)) {
			k.busy[t] = true
			due = append(due, t)
		}
	}
	return due
}

// turnedStale are the tenants whose servers have not been read for two intervals, or are read
// again, since this was last called.
func (k *keeper) turnedStale() (turned []*management.Tenant) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	all := k.tenants.All()
	maps.DeleteFunc(k.stale, func(t *management.Tenant, _ bool) bool { return !slices.Contains(all, t) })
	for _, t := range all {
		if stale := t.IsStale(staleIntervals * k.interval); stale != k.stale[t] {
			k.stale[t] = stale
			turned = append(turned, t)
		}
	}
	return turned
}

func (k *keeper) refresh(ctx context.Context, t *management.Tenant) {
	changed, err := t.Refresh(ctx)
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "listing what the server has", "tenant", t.Name())
	}
	// A key that was replaced, or is no longer valid.
	lost := management.Is(err, management.Unauthorized)
	k.mutex.Lock()
	news := changed || lost && !k.reported[t]
	k.reported[t] = lost
	delete(k.busy, t)
	k.mutex.Unlock()
	if news {
		k.wakeAll(ctx, t)
	}
}

func (k *keeper) wakeAll(ctx context.Context, t *management.Tenant) {
	for _, member := range t.Members() {
		k.wake(ctx, member)
	}
}
