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

// readRequires gathers what the policies require.
func (s *PolicySet) readRequires() {
	s.required = map[string]GroupVersionKind{}
	for _, p := range s.policies {
		for _, kind := range p.meta.requires {
			s.required[kind.String()] = kind
		}
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
