package replay

import (
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
)

// Request contains the records of one request, in the order of their times.
type Request struct {
	UID     string
	Records []*record.Record
}

// Time is that of the first record.
func (r *Request) Time() time.Time { return r.Records[0].Time }

const (
	// joinWithin is the time between the first and the last record of a request: the API server
	// waits for at most 30 s for a webhook, and the clocks of replicas may differ.
	joinWithin = 35 * time.Second
	// maxWaiting and maxWaitingBytes bound the requests that wait for further records.
	maxWaiting      = 4096
	maxWaitingBytes = 32 << 20
)

// waiting is a request that may have further records.
type waiting struct {
	request *Request
	bytes   int
}

// Requests joins the records of each request. The records must be in the order of their times,
// except for the difference of clocks. An error of type *record.SkippedError is passed on, and
// the iteration continues after it.
func Requests(records iter.Seq2[*record.Record, error]) iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		var queue []*waiting // the oldest first
		byUID := map[string]*waiting{}
		total := 0
		next := func() bool {
			first := queue[0]
			queue = queue[1:]
			total -= first.bytes
			if byUID[first.request.UID] == first {
				delete(byUID, first.request.UID)
			}
			return yield(first.request, nil)
		}
		for r, err := range records {
			if err != nil {
				var skipped *record.SkippedError
				if !yield(nil, err) || !errors.As(err, &skipped) {
					return
				}
				continue
			}
			uid := uidOf(r)
			bytes := len(r.Request) + len(r.Namespace)
			total += bytes
			if known := byUID[uid]; known != nil && uid != "" {
				known.bytes += bytes
				known.request.add(r)
				continue
			}
			one := &waiting{&Request{uid, []*record.Record{r}}, bytes}
			queue = append(queue, one)
			byUID[uid] = one
			for len(queue) > 1 && (len(queue) > maxWaiting || total > maxWaitingBytes || r.Time.Sub(queue[0].request.Time()) > joinWithin) {
				if !next() {
					return
				}
			}
		}
		for len(queue) > 0 {
			if !next() {
				return
			}
		}
	}
}

// add inserts a record in the order of time.
func (r *Request) add(one *record.Record) {
	at := len(r.Records)
	for at > 0 && one.Time.Before(r.Records[at-1].Time) {
		at--
	}
	r.Records = append(r.Records, nil)
	copy(r.Records[at+1:], r.Records[at:])
	r.Records[at] = one
}

// uidOf is empty for a request that cannot be read: the evaluation reports it.
func uidOf(r *record.Record) string {
	var request struct {
		UID string `json:"uid"`
	}
	if json.Unmarshal(r.Request, &request) != nil {
		return ""
	}
	return request.UID
}
