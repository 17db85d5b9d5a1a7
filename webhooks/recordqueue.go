package webhooks

import (
	"sync"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
)

// The reasons for which a record is dropped, as metric labels.
const (
	droppedQueue = "queue" // the queue is full: the store is slower than the reviews
	droppedRate  = "rate"  // more bytes than --record-max-rate
	droppedShare = "share" // more bytes than the share of the namespace or tenant
	droppedSize  = "size"  // one record is too large
	droppedMask  = "mask"  // a request that cannot be masked
	droppedStore = "store" // the store has not accepted the record
)

// rateWindow is the time over which the rate of records is measured.
const rateWindow = 10 * time.Second

// sharedBudget is a number of bytes that tenants share. One tenant has at most as much as the
// others leave free, so that one that uses all it can gets half.
type sharedBudget struct {
	limit, used int64
	tenants     map[string]int64
}

// take reserves bytes, or returns the reason why they are not available.
func (b *sharedBudget) take(tenant string, bytes int64, full string) (dropped string) {
	switch own := b.tenants[tenant]; {
	case b.used+bytes > b.limit:
		return full
	case own > 0 && own+bytes > b.limit-b.used:
		return droppedShare
	}
	if b.tenants == nil {
		b.tenants = map[string]int64{}
	}
	b.used += bytes
	b.tenants[tenant] += bytes
	return ""
}

func (b *sharedBudget) release(tenant string, bytes int64) {
	b.used -= bytes
	if b.tenants[tenant] -= bytes; b.tenants[tenant] <= 0 {
		delete(b.tenants, tenant)
	}
}

func (b *sharedBudget) reset() { b.used, b.tenants = 0, nil }

// queuedRecord is a masked record that waits for the store.
type queuedRecord struct {
	record *record.Record
	tenant string
	bytes  int64
}

// recordQueue is a queue of records, bounded in bytes.
type recordQueue struct {
	now func() time.Time

	mutex   sync.Mutex
	records []queuedRecord
	bytes   sharedBudget
	rate    sharedBudget
	window  time.Time // the beginning of the rate's
	closed  bool
	added   chan struct{} // has one element if there may be records
}

func newRecordQueue(bytes, bytesPerSecond int64, now func() time.Time) *recordQueue {
	return &recordQueue{
		now:   now,
		bytes: sharedBudget{limit: bytes},
		rate:  sharedBudget{limit: bytesPerSecond * int64(rateWindow/time.Second)},
		added: make(chan struct{}, 1),
	}
}

// reserve makes room for a record of at most this size, before it is masked. It never waits.
func (q *recordQueue) reserve(tenant string, bytes int64) (dropped string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.closed {
		return droppedStore
	}
	if now := q.now(); now.Sub(q.window) >= rateWindow || now.Before(q.window) {
		q.window = now
		q.rate.reset()
	}
	if bytes > q.bytes.limit || bytes > q.rate.limit {
		return droppedSize
	}
	if dropped := q.bytes.take(tenant, bytes, droppedQueue); dropped != "" {
		return dropped
	}
	if dropped := q.rate.take(tenant, bytes, droppedRate); dropped != "" {
		q.bytes.release(tenant, bytes)
		return dropped
	}
	return ""
}

// cancel returns reserved bytes.
func (q *recordQueue) cancel(tenant string, bytes int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.bytes.release(tenant, bytes)
}

// add adds a record for which room is reserved. It returns false for a closed queue.
func (q *recordQueue) add(r queuedRecord) bool {
	q.mutex.Lock()
	closed := q.closed
	if !closed {
		q.records = append(q.records, r)
	}
	q.mutex.Unlock()
	select {
	case q.added <- struct{}{}:
	default:
	}
	return !closed
}

// take returns all records. Their room is available again after release.
func (q *recordQueue) take() []queuedRecord {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	taken := q.records
	q.records = nil
	return taken
}

func (q *recordQueue) release(r queuedRecord) { q.cancel(r.tenant, r.bytes) }

func (q *recordQueue) size() int64 {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.bytes.used
}

// close refuses further records.
func (q *recordQueue) close() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.closed = true
}
