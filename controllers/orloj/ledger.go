package orloj

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
)

// entry is the last known state of an object's row.
type entry struct {
	object types.NamespacedName
	// key is the key of the row; hash and version are those after it was last written or read.
	key, hash, version string
	// generation is the generation of the object that was written.
	generation int64
	// lost are fields that were missing after they had been written. whole reports that the row
	// was unchanged after a write by orlojd: from then on, a missing field is an edit. complete
	// reports that no field was missing at that time.
	lost            []string
	whole, complete bool
	// notKept reports that the object's status lists lost fields.
	notKept bool
	// seen is the last scan that listed the row.
	seen int
	// drifted and stray are the reasons to reconcile the object again: its row was changed or
	// deleted, or it owns another row.
	drifted, stray bool
}

// ledger records the rows of one kind by the UIDs of their objects.
type ledger struct {
	mu     sync.Mutex
	rows   map[types.UID]*entry
	owners map[string]types.UID // by key
	// released is the time since which objects wait for rows of previous owners.
	released map[types.UID]time.Time
}

func newLedger() *ledger {
	return &ledger{rows: map[types.UID]*entry{}, owners: map[string]types.UID{}, released: map[types.UID]time.Time{}}
}

// recordWrite records the result of writing the row of an object.
func (l *ledger) recordWrite(object v1.Object, key string, result store.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	uid := object.GetUID()
	next := &entry{
		object: client.ObjectKeyFromObject(object), key: key, hash: result.Hash, version: result.Version,
		generation: object.GetGeneration(), lost: result.NotKept,
		complete: result.Written() || len(result.Lost) == 0, notKept: len(result.NotKept) > 0 || reportsNotKept(object.SyncStatus()),
	}
	if before := l.rows[uid]; before != nil {
		if l.owners[before.key] == uid {
			delete(l.owners, before.key)
		}
		if before.key == key && before.generation == next.generation {
			next.inherit(before, result)
		}
	}
	l.rows[uid] = next
	l.owners[key] = uid
	delete(l.released, uid)
}

// inherit copies the state of the earlier row of the same object.
func (e *entry) inherit(before *entry, result store.Result) {
	e.whole, e.lost = before.whole, before.lost
	if !before.whole {
		e.lost = union(before.lost, result.Lost)
	}
	if !result.Written() {
		e.recordForeignWrite(store.Summary{Hash: before.hash, Version: before.version})
	}
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// of returns the entry of an object's row; the zero entry if there is none.
func (l *ledger) of(uid types.UID) entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.rows[uid]; e != nil {
		return *e
	}
	return entry{}
}

// mustWait reports whether an object must still leave a row without an owner to its previous owner.
// It waits for the given patience, from the time at which it first saw the row without an owner.
func (l *ledger) mustWait(uid types.UID, patience time.Duration, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, waiting := l.released[uid]
	return !waiting || now.Sub(since) < patience
}

// refused records that the row belongs to another object, or did until now.
func (l *ledger) refused(uid types.UID, reason string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(uid)
	if _, waiting := l.released[uid]; reason != store.ReasonReleased {
		delete(l.released, uid)
	} else if !waiting {
		l.released[uid] = now
	}
}

// forget drops the entry of an object that is no longer stored.
func (l *ledger) forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.released, uid)
	l.drop(uid)
}

func (l *ledger) drop(uid types.UID) {
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

// compareRow compares a scanned row with its entry, and returns the object to reconcile, if any.
func (l *ledger) compareRow(scan int, row store.Summary) (object types.NamespacedName, look bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.rows[types.UID(row.Owner)]; e != nil && e.key != row.Key {
		e.stray = true
		return e.object, true
	}
	e := l.rows[l.owners[row.Key]]
	if e == nil {
		return object, false
	}
	e.seen = scan
	e.recordForeignWrite(row)
	if e.hash == row.Hash {
		return e.object, e.notKept && e.keeps() // it has news
	}
	e.drifted = true
	return e.object, true
}

// recordForeignWrite records that another client has written the row without changing Lintel's fields.
func (e *entry) recordForeignWrite(row store.Summary) {
	if e.hash != row.Hash || e.version == row.Version {
		return
	}
	e.whole, e.version = true, row.Version
	if e.complete {
		e.lost = nil
	}
}

// isRepairedBy reports whether a write undid a change in the store: a scan has seen the change,
// or the object was reconciled before a scan and the row is again as it was written last.
func (e entry) isRepairedBy(key string, result store.Result) bool {
	return result.Written() && !result.OnlyLost && (e.drifted || e.key == key && e.hash == result.Hash)
}

// keeps reports whether the store is known to keep every field of the row.
func (e entry) keeps() bool { return e.whole && e.complete }

// recordRow records a row that was written since the last scan.
func (l *ledger) recordRow(row store.Summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.rows[types.UID(row.Owner)]; e != nil && e.key == row.Key {
		e.recordForeignWrite(row)
	}
}

// missing returns the objects whose rows existed before a scan but were not listed by it.
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

// keys returns the keys of the known rows.
func (l *ledger) keys() map[types.UID]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make(map[types.UID]string, len(l.rows))
	for uid, e := range l.rows {
		keys[uid] = e.key
	}
	return keys
}
