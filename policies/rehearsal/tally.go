package rehearsal

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/policies/replay"
)

const (
	// maxGroups bounds the policies and the namespaces that are counted: the state of a rehearsal
	// is part of a status.
	maxGroups = 40
	// otherGroups are those beyond.
	otherGroups = "(others)"
	// maxExample bounds the first examples, in bytes.
	maxExample = 200
)

// Tally counts the requests of a rehearsal. It is also the state from which a rehearsal continues.
type Tally struct {
	// Requests is the number of requests that were evaluated, and Last the uid of the last one.
	Requests int64  `json:"requests"`
	Last     string `json:"last,omitempty"`
	// Seen is the number of requests that were read, which includes unreadable ones.
	Seen        int64 `json:"seen"`
	NewDenials  int64 `json:"newDenials"`
	NewWarnings int64 `json:"newWarnings"`
	Undecided   int64 `json:"undecided"`
	// Unreadable is the number of records that are damaged.
	Unreadable int64 `json:"unreadable"`
	// Newest is the time of the newest record.
	Newest time.Time `json:"newest,omitzero"`
	// Policies and Namespaces count new denials.
	Policies   map[string]int64 `json:"policies,omitempty"`
	Namespaces map[string]int64 `json:"namespaces,omitempty"`
	// FirstUndecided and FirstUnreadable are the first reasons.
	FirstUndecided  string `json:"firstUndecided,omitempty"`
	FirstUnreadable string `json:"firstUnreadable,omitempty"`
	// Complete reports that all records of the period were evaluated.
	Complete bool `json:"complete,omitempty"`
}

// add counts a result, as often as its records state.
func (t *Tally) add(r *replay.Result) {
	requests := r.Request.Count()
	t.Requests += requests
	if r.Warns {
		t.NewWarnings += requests
	}
	switch r.Outcome {
	case replay.NewlyDenied:
		t.NewDenials += requests
		denied := map[string]bool{}
		for _, finding := range r.After.Denials {
			denied[finding.Policy] = true
		}
		for _, policy := range slices.Sorted(maps.Keys(denied)) {
			increment(&t.Policies, policy, requests)
		}
		increment(&t.Namespaces, r.Namespace, requests)
	case replay.Undecided:
		t.Undecided += requests
		if t.FirstUndecided == "" && len(r.Undecided) > 0 {
			t.FirstUndecided = shorten(r.Title() + ": " + cmp.Or(r.Undecided[0].Policy, "the request") + ": " + r.Undecided[0].Reason)
		}
	}
}

func (t *Tally) skip(records int64, reason string) {
	t.Unreadable += max(records, 1)
	if t.FirstUnreadable == "" {
		t.FirstUnreadable = shorten(reason)
	}
}

func shorten(text string) string {
	if len(text) <= maxExample {
		return text
	}
	return text[:maxExample] + "…"
}

func increment(groups *map[string]int64, name string, requests int64) {
	if *groups == nil {
		*groups = map[string]int64{}
	}
	if _, known := (*groups)[name]; !known && len(*groups) >= maxGroups {
		name = otherGroups
	}
	(*groups)[name] += requests
}

// clone returns a copy that further counting does not change.
func (t *Tally) clone() *Tally {
	c := *t
	c.Policies, c.Namespaces = maps.Clone(t.Policies), maps.Clone(t.Namespaces)
	return &c
}

// Count is a policy or namespace with its new denials.
type Count struct {
	Name     string
	Requests int64
}

// Top are the groups with the most requests, at most limit.
func Top(groups map[string]int64, limit int) (top []Count) {
	for name, requests := range groups {
		top = append(top, Count{name, requests})
	}
	slices.SortFunc(top, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	return top[:min(len(top), limit)]
}
