package management

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Object is an object that is reconciled with a tenant's key.
type Object struct {
	Kind string
	types.NamespacedName
}

// queue limits the number of a tenant's objects that are reconciled concurrently. Other objects are
// enqueued in turn, and do not block workers.
type queue struct {
	lock    sync.Mutex // guards the fields below
	busy    int
	waiting []Object
	waits   map[Object]bool
	members map[Object]bool
}

// Enter reports whether an object may be reconciled now; the caller then calls Leave. Otherwise
// the object is enqueued when it is its turn.
func (q *queue) Enter(object Object) bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.members == nil {
		q.members, q.waits = map[Object]bool{}, map[Object]bool{}
	}
	q.members[object] = true
	if q.busy < perTenant {
		q.busy++
		return true
	}
	if !q.waits[object] {
		q.waits[object] = true
		q.waiting = append(q.waiting, object)
	}
	return false
}

// Leave passes the turn to a waiting object, if any, which the caller must enqueue.
func (q *queue) Leave() (next Object, waits bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.busy--
	if len(q.waiting) == 0 {
		return next, false
	}
	next, q.waiting = q.waiting[0], q.waiting[1:]
	delete(q.waits, next)
	return next, true
}

// Drop removes an object from the tenant.
func (q *queue) Drop(object Object) {
	q.lock.Lock()
	defer q.lock.Unlock()
	delete(q.members, object)
}

// Members are the objects that are reconciled with the tenant's key.
func (q *queue) Members() (all []Object) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for object := range q.members {
		all = append(all, object)
	}
	return all
}

// isUsed reports whether the tenant has objects.
func (q *queue) isUsed() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return len(q.members) > 0
}
