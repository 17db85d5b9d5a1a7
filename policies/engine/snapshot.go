package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown/print"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// Options are what a caller knows beside the review.
type Options struct {
	// FailurePolicy asks only the policies of sources with that failure policy, as
	// each webhook entry does; empty asks all.
	FailurePolicy definition.FailurePolicy
	// Namespace is the Namespace object in JSON of the review's namespace.
	Namespace []byte
	// Facts is a JSON object with what the caller has found out about the object for
	// built-in rules, which read it as input.facts.
	Facts []byte
	// Now is the time that policies with `clock: true` see; zero is the present.
	Now time.Time
	// Cluster holds the objects that policies read by `requires`. A policy that
	// requires a kind which it does not hold, or where it is nil, cannot be asked.
	Cluster *clusterdata.Objects
	// Offline makes a policy that cannot be asked, because the caller lacks
	// cluster objects, undecided instead of an error.
	Offline bool
	// Coverage is told what evaluations reach, which costs time, and Print takes what they
	// print, where the source was compiled for that. They are for tests; nil is none.
	Coverage *eval.Coverage
	Print    print.Hook
}

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
	// Follows says that the policy is of a scope below the enterprise: it takes kinds in
	// the version that others have registered, and has no say in which that is.
	Follows bool
	// AnyVersion says that the policy judges objects in the version that they arrive in,
	// and has no say in which that is.
	AnyVersion bool
	// Requires, Clock and Timeout are what its METADATA say.
	Requires []admission.GroupVersionKind
	Clock    bool
	Timeout  time.Duration
}

// Snapshot is an immutable set of compiled sources.
type Snapshot struct {
	resources *admission.Resources
	policies  []*policy // by scope, source, package
	byKind    map[admission.GroupVersionKind][]*policy
	anyKind   []*policy    // those that match kinds which byKind does not list
	scoped    []*PolicySet // of scopes below the enterprise
	placed    placed
	digest    string
}

// NewSnapshot combines compiled sources; it is cheap. Policies are asked in the
// order of scope (broadest first), source and package.
func NewSnapshot(resources *admission.Resources, sets ...*PolicySet) *Snapshot {
	s := &Snapshot{resources: resources, byKind: map[admission.GroupVersionKind][]*policy{}}
	for _, set := range arrange(sets) {
		if set.place.Below {
			s.scoped = append(s.scoped, set)
		}
		s.policies = append(s.policies, set.policies...)
	}
	slices.SortFunc(s.policies, func(a, b *policy) int {
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
			s.byKind[admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}] = nil
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
func (s *Snapshot) candidates(kind admission.GroupVersionKind) []*policy {
	if policies, ok := s.byKind[admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}]; ok {
		return policies
	}
	return s.anyKind
}

// Digest identifies the policies and settings: equal digests decide alike.
func (s *Snapshot) Digest() string { return s.digest }

// Resources is the table of kinds the snapshot was made with.
func (s *Snapshot) Resources() *admission.Resources { return s.resources }

// Policies lists the policies by scope, source and package.
func (s *Snapshot) Policies() []PolicyInfo {
	var infos []PolicyInfo
	for _, p := range s.policies {
		infos = append(infos, p.info())
	}
	return infos
}

func (p *policy) info() PolicyInfo {
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
		Follows:       p.set.source.Scope.Level != hierarchy.Enterprise,
		AnyVersion:    p.form.foreign(),
		Requires:      p.meta.Requires,
		Clock:         p.meta.Clock,
		Timeout:       p.meta.Timeout,
	}
}
