package engine

import (
	"sync"

	"github.com/lintel-policy/lintel/policies/admission"
)

// maxPlaced bounds what placed remembers: the policies of all its lists, and the bytes
// of the Namespaces they are for.
const maxPlaced = 1 << 20

// placed remembers which candidates are left by what reviews have in common: kind,
// namespace and operation. Of many policies, each is asked in few places.
type placed struct {
	mu    sync.RWMutex
	lists map[reviewPlace][]*policy
	size  int
}

type reviewPlace struct {
	kind                              admission.GroupVersionKind
	namespace, operation, subresource string
	object                            string // the Namespace in JSON, with its labels
}

// of are the candidates that may validate a review, by its place, in their order.
func (c *placed) of(s *Snapshot, e *evaluation, kind admission.GroupVersionKind) []*policy {
	r := e.review
	if r.IsNamespace() { // each is a place of its own
		return s.candidates(kind)
	}
	at := reviewPlace{kind, r.Namespace, r.Operation, r.SubResource, string(e.options.Namespace)}
	c.mu.RLock()
	list, known := c.lists[at]
	c.mu.RUnlock()
	if known {
		return list
	}
	for _, p := range s.candidates(kind) {
		if p.form.mayMatchAt(p, e, kind, p.matcher.MatchesVerb(r)) {
			list = append(list, p)
		}
	}
	size := len(list) + len(at.object) + 1
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists == nil || c.size+size > maxPlaced {
		c.lists, c.size = map[reviewPlace][]*policy{}, 0
	}
	c.lists[at] = list
	c.size += size
	return list
}
