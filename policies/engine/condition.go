package engine

import "github.com/lintel-policy/lintel/policies/admission"

// condition is a part of the match of a policy.
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

// unmet returns the first condition that a review does not meet, of those that depend on the
// review alone. verb reports whether the policy matches the operation.
func (p *compiledPolicy) unmet(r *admission.Review, kind admission.GroupVersionKind, verb bool) condition {
	if unmet := p.unmetAt(r, kind, verb); unmet != nothing {
		return unmet
	}
	if !p.matcher.MatchesObject(r) {
		return conditionObjectSelector
	}
	return nothing
}

// unmetAt is unmet without what depends on the object.
func (p *compiledPolicy) unmetAt(r *admission.Review, kind admission.GroupVersionKind, verb bool) condition {
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
