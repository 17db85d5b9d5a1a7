package engine

import (
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// forbids returns the reason why a policy must not be evaluated: its scope is not, or is no
// longer, permitted to use the data that it reads.
func (p *compiledPolicy) forbids(resources *admission.Resources) error {
	if !p.set.place.Below {
		return nil
	}
	if p.meta.Clock && !p.set.place.Grants.Clock {
		return fmt.Errorf("reads the time: a scope below the enterprise may do so only where every scope above grants it (spec.scope.grants.clock of their PolicySources)")
	}
	for _, kind := range p.meta.Requires {
		if err := p.set.place.Grants.MayRequire(kind, resources); err != nil {
			return err
		}
	}
	return nil
}

// leavesRights reports whether the policy is never to mutate a kind that its match only
// covers by a wildcard: the kind carries rights, and is not granted to the scope. Where the
// match names the kind, the policy is refused instead, as for any other missing grant.
func (p *compiledPolicy) leavesRights(kind admission.GroupVersionKind) bool {
	return leavesRights(&p.set.place, p.matcher.Kinds, kind)
}

func leavesRights(place *hierarchy.Place, kinds []admission.GroupVersionKind, kind admission.GroupVersionKind) bool {
	return place.Below && place.Grants.MayMutate(kind) != nil && !hierarchy.NamesRights(kinds, kind)
}

// forbidsMutation is why the policy must not mutate objects of a kind.
func (p *compiledPolicy) forbidsMutation(kind admission.GroupVersionKind) error {
	if !p.set.place.Below {
		return nil
	}
	return p.set.place.Grants.MayMutate(kind)
}

// inScope says whether a review is within the namespaces of the source's scope. For
// the enterprise all namespaces, or none named, is the whole cluster. A scope below it
// has the objects in its namespaces, as far as all scopes above have those too, and
// never a Namespace itself: that is the administrators'.
func (s *PolicySet) inScope(r *admission.Review) bool {
	if s.place.Below {
		return r.Namespace != "" && !r.IsNamespace() && s.place.Has(r.Namespace)
	}
	globs := s.source.Scope.Namespaces
	return len(globs) == 0 || slices.Contains(globs, "*") || r.InNamespaces(globs)
}

// isExempt reports whether policies of scopes below the enterprise must not delay the request,
// because Kubernetes (the deletion of a namespace, for example) or Lintel itself makes it.
func (e *evaluation) isExempt(set *PolicySet) bool {
	return set.place.Below && (e.original.IsMaintenance() || e.options.Own != nil && e.options.Own(e.original))
}

// arrange gives the sets their places. Where there is no scope below the enterprise it
// gives them as they are; else copies, which share everything that changes.
func arrange(sets []*PolicySet) []*PolicySet {
	scopes := make([]hierarchy.Scope, len(sets))
	for i, set := range sets {
		scopes[i] = set.source.Scope
	}
	places := hierarchy.Places(scopes)
	if places == nil {
		return sets
	}
	arranged := make([]*PolicySet, len(sets))
	for i, set := range sets {
		arranged[i] = set.at(places[i])
	}
	return arranged
}

// at returns the set of a scope. If the set of a parent cannot decide, it denies: otherwise the
// requests that the parent forbids would pass.
func (s *PolicySet) at(place hierarchy.Place) *PolicySet {
	own := *s
	own.place = place
	if place.Parent && own.source.FailurePolicy == definition.Ignore {
		// Until the registration has followed, the API server calls the other entry.
		own.source.FailurePolicy, own.anyEntry = definition.Fail, true
	}
	own.policies = make([]*compiledPolicy, len(s.policies))
	for i, p := range s.policies {
		arranged := *p
		arranged.set = &own
		own.policies[i] = &arranged
	}
	return &own
}

// Tenant names the narrowest scope below the enterprise that an object belongs to: ""
// where it belongs to none.
func (s *Snapshot) Tenant(review *admission.Review) string {
	tenant := hierarchy.Key{Level: hierarchy.Enterprise}
	for _, set := range s.scoped {
		if key := set.source.Scope.Key(); key.Level.Rank() > tenant.Level.Rank() && set.inScope(review) {
			tenant = key
		}
	}
	if tenant.Level == hierarchy.Enterprise {
		return ""
	}
	return tenant.String()
}
