package engine

import (
	"sync"

	"github.com/lintel-policy/lintel/policies/admission"
)

// maxRemembered bounds the cache: the policies in all lists, and the bytes of the Namespaces
// that they are for.
const maxRemembered = 1 << 20

// rememberedCandidates remembers which candidates are left by what reviews have in common: kind,
// namespace and operation. Of many policies, each is asked in few places.
type rememberedCandidates struct {
	mu    sync.RWMutex
	lists map[reviewPlace][]*compiledPolicy
	size  int
}

type reviewPlace struct {
	kind                              admission.GroupVersionKind
	resource                          admission.GroupVersionResource
	namespace, operation, subresource string
	object                            string // the Namespace in JSON, with its labels
}

// of returns the candidates for a review, looked up by its kind, operation and Namespace, in
// evaluation order.
func (c *rememberedCandidates) of(s *Snapshot, e *evaluation) []*compiledPolicy {
	r := e.review
	if r.IsNamespace() { // each is a place of its own
		return s.candidatesFor(r)
	}
	at := reviewPlace{r.Kind, r.Resource, r.Namespace, r.Operation, r.SubResource, string(e.options.Namespace.text)}
	c.mu.RLock()
	list, known := c.lists[at]
	c.mu.RUnlock()
	if known {
		return list
	}
	kind := s.resources.KindOf(r)
	for _, p := range s.candidatesFor(r) {
		if p.form.mayMatchAt(p, e, kind, p.matcher.MatchesVerb(r)) {
			list = append(list, p)
		}
	}
	size := len(list) + len(at.object) + 1
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists == nil || c.size+size > maxRemembered {
		c.lists, c.size = map[reviewPlace][]*compiledPolicy{}, 0
	}
	c.lists[at] = list
	c.size += size
	return list
}
