package engine

import (
	"github.com/lintel-policy/lintel/policies/admission"
)

// unmetCriterion returns the first criterion that a review does not meet, of those that depend on the
// review alone. verb reports whether the policy matches the operation.
func (p *policy) unmetCriterion(r *admission.Review, kind admission.GroupVersionKind, verb bool) criterion {
	if unmet := p.unmetByPlace(r, kind, verb); unmet != criterionNone {
		return unmet
	}
	if !p.Matcher.MatchesObject(r) {
		return criterionObjectSelector
	}
	return criterionNone
}

// unmetByPlace is unmetCriterion without the criteria that depend on the object.
func (p *policy) unmetByPlace(r *admission.Review, kind admission.GroupVersionKind, verb bool) criterion {
	m := p.Matcher
	switch {
	case !verb:
		return criterionOperation
	case !p.source.inScope(r):
		return criterionScope
	case !m.NamesKind(kind):
		return criterionKind
	case len(m.Match.Namespaces) > 0 && !r.InNamespaces(m.Match.Namespaces):
		return criterionNamespaces
	case r.InNamespaces(m.Match.ExcludedNamespaces):
		return criterionExcludedNamespaces
	default:
		return criterionNone
	}
}

// missingKind returns the first required kind whose objects the caller has not provided.
func (e *evaluation) missingKind(p *policy) (admission.GroupVersionKind, bool) {
	for _, kind := range p.Meta.Requires {
		if !e.options.Cluster.HasFields(kind, p.source.projection[kind.WithoutVersion()]) {
			return kind, true
		}
	}
	return admission.GroupVersionKind{}, false
}

// missesNamespace reports whether the result of the policy depends on a Namespace that a caller
// without a cluster did not provide. With a cluster, a missing namespace does not exist.
func (p *policy) missesNamespace(e *evaluation) bool {
	return p.ReadsNamespace && e.options.Offline && e.namespace == nil && e.review.Namespace != "" && !e.review.IsNamespace()
}

// lackOf returns what the caller can provide so that a policy that cannot be evaluated, for a
// reason, can be. It follows the order in which dialects look for a reason.
func (p *policy) lackOf(resources *admission.Resources, e *evaluation, reason string) Lack {
	if reason == "" {
		return ""
	}
	if !p.dialect.isForeign() {
		_, known := p.Matcher.MatchesNamespaceLabels(e.review, e.namespace)
		switch {
		case !p.Matcher.MatchesKind(resources.KindOf(e.review)):
			return ""
		case !known:
			return LackNamespace
		}
	}
	if p.evaluationForbidden(resources) != nil {
		return ""
	}
	if _, lacks := e.missingKind(p); lacks {
		return LackObjects
	}
	if _, lacks := e.external.Missing(p.Meta.External); lacks {
		return ""
	}
	if e.namespace == nil && e.review.Namespace != "" && !e.review.IsNamespace() {
		return LackNamespace
	}
	return ""
}
