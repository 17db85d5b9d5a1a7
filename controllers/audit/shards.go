package audit

import (
	"time"

	"github.com/lintel-policy/lintel/policies/audit"
)

// setMembership makes the auditor follow the objects of its shards alone. If it may own objects
// that it did not own before, it lists again; it evaluates only those that it does not know. It
// reports whether the shards, or the permission to write, have changed.
func (a *auditor) setMembership(next membership) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.membership
	a.membership = next
	if next.shards == nil || before.shards != nil && before.shards.Digest() == next.shards.Digest() {
		return before.held != next.held
	}
	a.epoch++ // an evaluation on its way may be of an object that another replica owns now
	a.ledger.Retain(func(object audit.Object) bool { return next.shards.Owns(object.Namespace) })
	a.ledger.SetLimit(next.shards.Share(a.limit))
	if before.shards != nil && !next.shards.Contains(before.shards) {
		for _, running := range a.kinds {
			running.relist()
		}
	}
	signal(a.wanted)
	signal(a.changed)
	return true
}

// relist lists the objects of a kind again. Until then, it counts as not audited, also if a list
// that is on its way ends. The caller holds the mutex.
func (k *kind) relist() {
	k.generation++
	k.listed = time.Time{}
	signal(k.restart)
}

// owns reports whether this replica evaluates the objects of a namespace, or cluster-scoped ones.
func (a *auditor) owns(namespace string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.membership.shards != nil && a.membership.shards.Owns(namespace)
}

// mayWrite reports whether this replica writes results: it may not while its Lease has expired.
func (a *auditor) mayWrite() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.membership.shards != nil && !a.membership.held
}
