package engine

import "github.com/lintel-policy/lintel/policies/admission"

// condition is a part of what a policy is asked about.
type condition int

const (
	nothing condition = iota
	conditionVerb
	conditionScope
	conditionKind
	conditionNamespaces
	conditionExcludedNamespaces
	conditionObjectSelector
	conditionNamespaceSelector
)

// unmet is the first condition that a review does not meet, of those that depend on it
// alone. verb says whether the operation is one that the policy is asked about.
func (p *policy) unmet(r *admission.Review, kind admission.GroupVersionKind, verb bool) condition {
	if unmet := p.unmetAt(r, kind, verb); unmet != nothing {
		return unmet
	}
	if !p.matcher.MatchesObject(r) {
		return conditionObjectSelector
	}
	return nothing
}

// unmetAt is unmet without what depends on the object.
func (p *policy) unmetAt(r *admission.Review, kind admission.GroupVersionKind, verb bool) condition {
	m := p.matcher
	switch {
	case !verb:
		return conditionVerb
	case !p.set.inScope(r):
		return conditionScope
	case !m.NamesKind(kind):
		return conditionKind
	case len(m.Match.Namespaces) > 0 && !r.InNamespaces(m.Match.Namespaces):
		return conditionNamespaces
	case r.InNamespaces(m.Match.ExcludedNamespaces):
		return conditionExcludedNamespaces
	default:
		return nothing
	}
}
