package engine

import (
	"fmt"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// evaluationForbidden returns the reason why a policy must not be evaluated: its scope is not, or is no
// longer, permitted to use the data that it reads.
func (p *policy) evaluationForbidden(resources *admission.Resources) error {
	if !p.source.place.Below {
		return nil
	}
	if p.Meta.Clock && !p.source.place.Grants.Clock {
		return fmt.Errorf("reads the time: a scope below the enterprise may do so only where every scope above grants it (spec.scope.grants.clock of their PolicySources)")
	}
	for _, name := range p.Meta.External {
		if err := p.source.place.Grants.MayReadExternal(name); err != nil {
			return err
		}
	}
	for _, kind := range p.Meta.Requires {
		if err := p.source.place.Grants.MayRequire(kind, resources); err != nil {
			return err
		}
	}
	return nil
}

// excludesRights reports whether the policy is never to mutate a kind that its match only
// covers by a wildcard: the kind carries rights, and is not granted to the scope. Where the
// match names the kind, the policy is rejected instead, as for any other missing grant.
func (p *policy) excludesRights(kind admission.GroupVersionKind) bool {
	return withoutRights(&p.source.place, p.Matcher.Kinds, kind)
}

// withoutRights is excludesRights for a match and a place.
func withoutRights(place *hierarchy.Place, kinds []admission.GroupVersionKind, kind admission.GroupVersionKind) bool {
	return place.Below && place.Grants.MayMutate(kind) != nil && !hierarchy.MatchesRightsKind(kinds, kind)
}

// mutationForbidden returns the reason why the policy must not mutate objects of a kind.
func (p *policy) mutationForbidden(kind admission.GroupVersionKind) error {
	if !p.source.place.Below {
		return nil
	}
	return p.source.place.Grants.MayMutate(kind)
}

// isExempt reports whether policies of scopes below the enterprise must not delay the request,
// because Kubernetes (the deletion of a namespace, for example) or Lintel itself makes it.
func (e *evaluation) isExempt(s *source) bool {
	return s.place.Below && (e.original.IsMaintenance() || e.options.Own != nil && e.options.Own(e.original))
}
