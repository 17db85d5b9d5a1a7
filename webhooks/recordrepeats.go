package webhooks

import (
	"container/list"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
)

const (
	// DefaultRecordMerge is the time for which repeated requests are counted in one record.
	DefaultRecordMerge = time.Minute
	// maxRepeatKeys bounds the requests that are known, and maxHeldBytes the records that wait
	// for their count.
	maxRepeatKeys = 8192
	maxHeldBytes  = 4 << 20
)

// repeats finds requests that differ from earlier ones only in what no policy reads. The first is
// stored immediately. Of those that follow within an interval, one record is stored at its end, with
// their number.
type repeats struct {
	within time.Duration

	mutex  sync.Mutex
	known  map[repeatKey]*list.Element
	recent *list.List // of *recordedRequest, the most recent first
	held   *list.List // of *recordedRequest with a record, the oldest first
	bytes  int64
}

// recordedRequest is a request that was recorded.
type recordedRequest struct {
	key    repeatKey
	record *heldRecord // nil until the request is repeated
	at     *list.Element
}

// heldRecord is a record that waits for the number of requests that it stands for.
type heldRecord struct {
	queuedRecord
	outcome string
	since   time.Time
}

func newRepeats(within time.Duration) *repeats {
	return &repeats{within: within, known: map[repeatKey]*list.Element{}, recent: list.New(), held: list.New()}
}

// The results of look.
type sighting int

const (
	firstSighting   sighting = iota // to be recorded
	repeatedRequest                 // to be recorded, and held
	countedRequest                  // a held record stands for it
)

// look counts a request. evicted are records that are no longer held.
func (r *repeats) look(key repeatKey) (found sighting, evicted []*heldRecord) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	at, ok := r.known[key]
	if !ok {
		r.known[key] = r.recent.PushFront(&recordedRequest{key: key})
		for len(r.known) > maxRepeatKeys {
			oldest := r.recent.Remove(r.recent.Back()).(*recordedRequest)
			delete(r.known, oldest.key)
			if oldest.record != nil {
				evicted = append(evicted, r.release(oldest))
			}
		}
		return firstSighting, evicted
	}
	r.recent.MoveToFront(at)
	one := at.Value.(*recordedRequest)
	if one.record == nil {
		return repeatedRequest, nil
	}
	one.record.record.Count++
	return countedRequest, nil
}

// forget is called for a request whose record is dropped: the next one is recorded.
func (r *repeats) forget(key repeatKey) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if at, ok := r.known[key]; ok && at.Value.(*recordedRequest).record == nil {
		r.recent.Remove(at)
		delete(r.known, key)
	}
}

// hold keeps a record for a request that is repeated. It returns false if another one is held, which
// then counts the request. evicted are records for which there is no more room.
func (r *repeats) hold(key repeatKey, record *heldRecord) (isHeld bool, evicted []*heldRecord) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	at, ok := r.known[key]
	if !ok { // evicted since
		return true, []*heldRecord{record}
	}
	one := at.Value.(*recordedRequest)
	if one.record != nil {
		one.record.record.Count++
		return false, nil
	}
	one.record, one.at = record, r.held.PushBack(one)
	r.bytes += record.bytes
	for r.bytes > maxHeldBytes {
		evicted = append(evicted, r.release(r.held.Front().Value.(*recordedRequest)))
	}
	return true, evicted
}

// release returns the record of a request, which remains known.
func (r *repeats) release(one *recordedRequest) *heldRecord {
	record := one.record
	r.held.Remove(one.at)
	r.bytes -= record.bytes
	one.record, one.at = nil, nil
	return record
}

// due returns the records whose interval has ended, or all.
func (r *repeats) due(now time.Time, all bool) (records []*heldRecord) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for r.held.Len() > 0 {
		one := r.held.Front().Value.(*recordedRequest)
		if age := now.Sub(one.record.since); !all && age >= 0 && age < r.within {
			break
		}
		records = append(records, r.release(one))
	}
	return records
}

// requestsOf is the number of requests that a record stands for.
func requestsOf(one *record.Record) float64 { return float64(max(one.Count, 1)) }
