package replay

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
)

// Request contains the records of one request, in the order of their times.
type Request struct {
	UID     string
	Records []*record.Record
}

// Count is the number of requests that the records stand for. The records of several entries about one
// request may have different numbers, because each entry counts on its own.
func (r *Request) Count() int64 {
	count := int64(1)
	for _, one := range r.Records {
		count = max(count, one.Count)
	}
	return count
}

// Time is that of the first record.
func (r *Request) Time() time.Time { return r.Records[0].Time }

const (
	// joinWithin is the time between the first and the last record of a request: the API server
	// waits for at most 30 s for a webhook, and the clocks of replicas may differ.
	joinWithin = 35 * time.Second
	// maxWaiting and maxWaitingBytes bound the requests that wait for further records.
	maxWaiting      = 4096
	maxWaitingBytes = 16 << 20
)

// waiting is a request that may have further records.
type waiting struct {
	request *Request
	bytes   int
	keys    []string
}

// GroupRequests joins the records of each request: those with one uid, and those of the entries of one
// configuration whose requests are equal apart from their uid, because the API server calls each
// entry with a uid of its own. The entries of the other configuration see another object: patches
// come in between. The records must be in the order of their times,
// except for the difference of clocks. An error of type *record.SkippedError is passed on, and
// the iteration continues after it.
func GroupRequests(records iter.Seq2[*record.Record, error]) iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		var queue []*waiting // the oldest first
		byKey := map[string]*waiting{}
		total := 0
		next := func() bool {
			first := queue[0]
			queue = queue[1:]
			total -= first.bytes
			for _, key := range first.keys {
				if byKey[key] == first {
					delete(byKey, key)
				}
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
			uid, keys := keysOf(r)
			bytes := len(r.Request) + len(r.Namespace)
			total += bytes
			one := firstOf(byKey, keys, r)
			if one != nil {
				one.bytes += bytes
				one.request.add(r)
			} else {
				one = &waiting{request: &Request{uid, []*record.Record{r}}, bytes: bytes}
				queue = append(queue, one)
			}
			one.keys = append(one.keys, keys...)
			for _, key := range keys {
				byKey[key] = one
			}
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

// keysOf returns the uid of the request and the keys by which the record is joined with others: none
// for a request that cannot be read, which the evaluation reports.
func keysOf(r *record.Record) (uid string, keys []string) {
	type member struct {
		name  string
		value []byte
	}
	var members []member
	err := record.Members(r.Request, func(name string, value []byte) bool {
		if name != "uid" {
			members = append(members, member{name, value})
			return true
		}
		return json.Unmarshal(value, &uid) == nil
	})
	if err != nil || uid == "" {
		return "", nil
	}
	configuration, _, _ := strings.Cut(r.Entry, "/")
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	hash := sha256.New()
	for _, one := range members {
		fmt.Fprintf(hash, "%q %d ", one.name, len(one.value)) // never fails
		hash.Write(one.value)
	}
	return uid, []string{"uid " + uid, fmt.Sprintf("%s %x", configuration, hash.Sum(nil))}
}

// firstOf returns the waiting request that a record belongs to: one with its uid, or an equal one
// about which its entry was not called.
func firstOf(byKey map[string]*waiting, keys []string, r *record.Record) *waiting {
	for i, key := range keys {
		known := byKey[key]
		if known == nil || r.Time.Sub(known.request.Time()) > joinWithin {
			continue
		}
		if i == 0 || !slices.ContainsFunc(known.request.Records, func(other *record.Record) bool { return other.Entry == r.Entry }) {
			return known
		}
	}
	return nil
}
