package engine

import (
	"slices"
	"sync"

	"github.com/lintel-policy/lintel/policies/admission"
)

// maxCachedCandidates bounds the cache: the policies in all lists, and the bytes of the Namespaces
// in its keys.
const maxCachedCandidates = 1 << 20

// candidateIndex finds the policies that may match a review.
type candidateIndex struct {
	resources *admission.Resources
	policies  []*policy // by scope, source, package
	byKind    map[admission.GroupVersionKind][]*policy
	wildcards []*policy // those that match kinds which byKind does not list
	// expanded are the kinds, other than the workload kinds of Kubernetes, with Pod templates that
	// policies review.
	expanded map[admission.GroupVersionKind]bool
	cache    candidateCache
}

// candidateCache stores the candidates by the properties that reviews have in common: kind,
// namespace and operation. Of many policies, each matches in few places.
type candidateCache struct {
	mu    sync.RWMutex
	lists map[candidateKey][]*policy
	size  int
}

type candidateKey struct {
	kind                              admission.GroupVersionKind
	resource                          admission.GroupVersionResource
	namespace, operation, subresource string
	object                            string // the Namespace in JSON, with its labels
}

// build lists, for each kind that a policy names, the policies that may match it.
func (x *candidateIndex) build() {
	for _, p := range x.policies {
		for _, kind := range p.Matcher.Kinds {
			x.byKind[kind.WithoutVersion()] = nil
		}
	}
	for kind := range x.byKind {
		for _, p := range x.policies {
			if p.Matcher.NamesKind(kind) {
				x.byKind[kind] = append(x.byKind[kind], p)
			}
		}
	}
	x.expanded = map[admission.GroupVersionKind]bool{}
	for _, p := range x.policies {
		for _, kind := range p.Matcher.ExpandedKinds {
			x.expanded[kind.WithoutVersion()] = true
		}
		if p.Matcher.HasWildcard() {
			x.wildcards = append(x.wildcards, p)
		}
	}
}

// candidatesOfKind are the policies that may match a kind.
func (x *candidateIndex) candidatesOfKind(kind admission.GroupVersionKind) []*policy {
	if policies, ok := x.byKind[kind.WithoutVersion()]; ok {
		return policies
	}
	return x.wildcards
}

// candidatesFor are the policies that may match a review. For a subresource, Lintel's own
// name the kind of the resource, and constraints that of the object.
func (x *candidateIndex) candidatesFor(r *admission.Review) []*policy {
	kind := x.resources.KindOf(r)
	if kind.WithoutVersion() == r.Kind.WithoutVersion() {
		return x.candidatesOfKind(kind)
	}
	return slices.DeleteFunc(slices.Clone(x.policies), func(p *policy) bool {
		return !p.Matcher.NamesKind(p.kindOf(x.resources, r))
	})
}

// cachedCandidates returns the candidates for a review, looked up by its kind, operation and Namespace, in
// evaluation order.
func (x *candidateIndex) cachedCandidates(e *evaluation) []*policy {
	r := e.review
	if r.IsNamespace() { // each would have a key of its own
		return x.candidatesFor(r)
	}
	at := candidateKey{r.Kind, r.Resource, r.Namespace, r.Operation, r.SubResource, string(e.options.Namespace.text)}
	c := &x.cache
	c.mu.RLock()
	list, known := c.lists[at]
	c.mu.RUnlock()
	if known {
		return list
	}
	kind := x.resources.KindOf(r)
	for _, p := range x.candidatesFor(r) {
		if p.dialect.mayMatch(p, e, kind, p.Matcher.MatchesVerb(r)) {
			list = append(list, p)
		}
	}
	size := len(list) + len(at.object) + 1
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists == nil || c.size+size > maxCachedCandidates {
		c.lists, c.size = map[candidateKey][]*policy{}, 0
	}
	c.lists[at] = list
	c.size += size
	return list
}
