package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// PolicyInfo describes one policy of a snapshot.
type PolicyInfo struct {
	Package       string
	Title         string
	Source        string
	FailurePolicy definition.FailurePolicy
	Enforcement   definition.Enforcement
	Match         definition.Match
	// Validates and Mutates say which entry points the policy has: deny or warn,
	// and patch or defaults.
	Validates, Mutates bool
	Location           definition.Location
	// Scope is the scope of the policy's source.
	Scope hierarchy.Key
	// Parent says that the scope has scopes below it: /validate checks what the policy's
	// patch and defaults set.
	Parent bool
	// Follows says that the policy is of a scope below the enterprise: it takes kinds in
	// the version that others have registered, and has no say in which that is.
	Follows bool
	// Grants are what all scopes above let a policy use that is of a scope below the
	// enterprise.
	Grants hierarchy.Grants
	// AnyVersion reports that the policy reviews objects in the version in which they arrive,
	// and does not influence that version.
	AnyVersion bool
	// Requires, Clock and Timeout are what its METADATA say.
	Requires []admission.GroupVersionKind
	Clock    bool
	Timeout  time.Duration
	// Exceptions is what the policy allows exceptions from it.
	Exceptions definition.Allowance
}

// MutatesKind reports whether patch and defaults are evaluated, or refused, for objects of
// a kind.
func (p PolicyInfo) MutatesKind(kind admission.GroupVersionKind) bool {
	place := hierarchy.Place{Below: p.Follows, Grants: p.Grants}
	return p.Mutates && p.Match.NamesKind(kind) && !leavesRights(&place, p.Match.Kinds, kind)
}

// Snapshot is an immutable set of compiled sources.
type Snapshot struct {
	resources  *admission.Resources
	policies   []*compiledPolicy // by scope, source, package
	byKind     map[admission.GroupVersionKind][]*compiledPolicy
	anyKind    []*compiledPolicy // those that match kinds which byKind does not list
	scoped     []*PolicySet      // of scopes below the enterprise
	scopes     []ScopeInfo       // below the enterprise
	remembered rememberedCandidates
	digest     string
	// exceptions are those that their policies allow, and allExceptions all, in the same order.
	exceptions    map[policyName][]granted
	allExceptions []*exception.Exception
}

// NewSnapshot combines compiled sources; it is cheap. Policies are evaluated in the order of
// scope (broadest first), source and package.
func NewSnapshot(resources *admission.Resources, sets ...*PolicySet) *Snapshot {
	s := &Snapshot{resources: resources, byKind: map[admission.GroupVersionKind][]*compiledPolicy{}}
	for _, set := range arrange(sets) {
		if set.place.Below {
			s.scoped = append(s.scoped, set)
		}
		s.policies = append(s.policies, set.policies...)
	}
	s.scopes = scopesOf(s.scoped)
	slices.SortFunc(s.policies, func(a, b *compiledPolicy) int {
		return cmp.Or(
			cmp.Compare(a.set.source.Scope.Level.Rank(), b.set.source.Scope.Level.Rank()),
			cmp.Compare(a.set.source.Name, b.set.source.Name),
			cmp.Compare(a.name, b.name),
		)
	})
	pinned := make([]definition.Pinned, len(sets))
	for i, set := range sets {
		pinned[i] = set.source
	}
	s.digest = definition.IdentityOf(pinned...)
	s.index()
	return s
}

// index lists, for each kind that a policy names, the policies to ask.
func (s *Snapshot) index() {
	for _, p := range s.policies {
		for _, kind := range p.matcher.Kinds {
			s.byKind[kind.WithoutVersion()] = nil
		}
	}
	for kind := range s.byKind {
		for _, p := range s.policies {
			if p.matcher.NamesKind(kind) {
				s.byKind[kind] = append(s.byKind[kind], p)
			}
		}
	}
	for _, p := range s.policies {
		if p.matcher.HasWildcard() {
			s.anyKind = append(s.anyKind, p)
		}
	}
}

// candidates are the policies that may match a kind.
func (s *Snapshot) candidates(kind admission.GroupVersionKind) []*compiledPolicy {
	if policies, ok := s.byKind[kind.WithoutVersion()]; ok {
		return policies
	}
	return s.anyKind
}

// candidatesFor are the policies that may match a review. For a subresource, Lintel's own
// name the kind of the resource, and constraints that of the object.
func (s *Snapshot) candidatesFor(r *admission.Review) []*compiledPolicy {
	kind := s.resources.KindOf(r)
	if kind.WithoutVersion() == r.Kind.WithoutVersion() {
		return s.candidates(kind)
	}
	return slices.DeleteFunc(slices.Clone(s.policies), func(p *compiledPolicy) bool {
		return !p.matcher.NamesKind(p.kindOf(s, r))
	})
}

// kindOf is the kind of a review that the policy names.
func (p *compiledPolicy) kindOf(s *Snapshot, r *admission.Review) admission.GroupVersionKind {
	if p.form.foreign() {
		return r.Kind
	}
	return s.resources.KindOf(r)
}

// Digest identifies the policies and settings: equal digests decide alike.
func (s *Snapshot) Digest() string { return s.digest }

// Resources returns the table of kinds of the snapshot.
func (s *Snapshot) Resources() *admission.Resources { return s.resources }

// Policies lists the policies by scope, source and package.
func (s *Snapshot) Policies() []PolicyInfo { return infosOf(s.policies) }

func infosOf(policies []*compiledPolicy) (infos []PolicyInfo) {
	for _, p := range policies {
		infos = append(infos, p.info())
	}
	return infos
}

func (p *compiledPolicy) info() PolicyInfo {
	return PolicyInfo{
		Package:       p.name,
		Title:         p.meta.Title,
		Source:        p.set.source.Name,
		FailurePolicy: p.set.source.FailurePolicy,
		Enforcement:   p.meta.Enforcement,
		Match:         p.matcher.Match,
		Validates:     p.validate != nil,
		Mutates:       p.mutate != nil,
		Location:      p.location,
		Scope:         p.set.source.Scope.Key(),
		Parent:        p.set.place.Parent,
		Exceptions:    p.meta.Allowance(),
		Follows:       p.set.source.Scope.Level != hierarchy.Enterprise,
		Grants:        p.set.place.Grants,
		AnyVersion:    p.form.foreign(),
		Requires:      p.meta.Requires,
		Clock:         p.meta.Clock,
		Timeout:       p.meta.Timeout,
	}
}
