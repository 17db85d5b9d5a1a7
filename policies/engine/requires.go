package engine

// Requires lists the kinds of cluster objects that the policies read, each once and
// without version.
func (s *PolicySet) Requires() []GroupVersionKind {
	kinds := make([]GroupVersionKind, 0, len(s.required))
	for _, key := range sortedKeys(s.required) {
		kinds = append(kinds, s.required[key])
	}
	return kinds
}

// require notes kinds that a policy requires.
func (s *PolicySet) require(kinds []GroupVersionKind) {
	for _, kind := range kinds {
		s.required[kind.String()] = kind
	}
}

// lacks is the first kind a policy requires whose objects are not at hand.
func (e *evaluation) lacks(p *policy) (GroupVersionKind, bool) {
	for _, kind := range p.meta.requires {
		if !e.options.Cluster.HoldsFields(kind, p.set.reads[withoutVersion(kind)]) {
			return kind, true
		}
	}
	return GroupVersionKind{}, false
}
