package orloj

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// entry is what is known of the row of one object.
type entry struct {
	object types.NamespacedName
	// key is that of the row, and hash as it was after it was written or read.
	key, hash string
	// seen is the last scan that found the row.
	seen int
	// drifted and stray say why the object is looked at again: its row was changed or
	// taken away, or it has another one that it should not have.
	drifted, stray bool
}

// ledger remembers the rows of one kind by the UIDs of their objects.
type ledger struct {
	mu     sync.Mutex
	rows   map[types.UID]*entry
	owners map[string]types.UID // by key
}

func newLedger() *ledger {
	return &ledger{rows: map[types.UID]*entry{}, owners: map[string]types.UID{}}
}

// wrote notes a row, and says what was noted against it before.
func (l *ledger) wrote(uid types.UID, object types.NamespacedName, key, hash string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.rows[uid]; before != nil && l.owners[before.key] == uid {
		delete(l.owners, before.key)
	}
	l.rows[uid] = &entry{object: object, key: key, hash: hash}
	l.owners[key] = uid
}

// marks are why an object is looked at again.
func (l *ledger) marks(uid types.UID) (drifted, stray bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.rows[uid]; e != nil {
		return e.drifted, e.stray
	}
	return false, false
}

// forget drops the row of an object that is none of the store's any more.
func (l *ledger) forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.rows[uid]; e != nil {
		if l.owners[e.key] == uid {
			delete(l.owners, e.key)
		}
		delete(l.rows, uid)
	}
}

func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rows)
}

// found compares a row that a scan sees with what is known, and gives the object that
// is to be looked at, if there is one.
func (l *ledger) found(scan int, owner types.UID, key, hash string) (object types.NamespacedName, look bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.rows[owner]; e != nil && e.key != key {
		e.stray = true
		return e.object, true
	}
	e := l.rows[l.owners[key]]
	if e == nil {
		return object, false
	}
	e.seen = scan
	if e.hash == hash {
		return object, false
	}
	e.drifted = true
	return e.object, true
}

// missing are the objects whose rows a scan has not seen, of those that were there
// before it.
func (l *ledger) missing(scan int, before map[types.UID]string) (objects []types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, key := range before {
		if e := l.rows[uid]; e != nil && e.key == key && e.seen != scan {
			e.drifted = true
			objects = append(objects, e.object)
		}
	}
	return objects
}

// keys are the rows that are known now.
func (l *ledger) keys() map[types.UID]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make(map[types.UID]string, len(l.rows))
	for uid, e := range l.rows {
		keys[uid] = e.key
	}
	return keys
}

// objectOf is the object that a row belongs to.
func (l *ledger) objectOf(owner types.UID, key string) (types.NamespacedName, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.rows[owner]
	if e == nil || e.key != key {
		return types.NamespacedName{}, false
	}
	return e.object, true
}
