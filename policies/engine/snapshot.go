package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// Snapshot is an immutable set of compiled sources.
type Snapshot struct {
	candidateIndex
	scoped []*source   // of scopes below the enterprise
	scopes []ScopeInfo // below the enterprise
	// policyDigest is that of policies and settings, and external the data of DataSources.
	policyDigest string
	external     external.Set
	// exceptions are those that their policies allow, and allExceptions all, in the same order.
	exceptions    map[policyName][]granted
	allExceptions []*exception.Exception
}

// NewSnapshot combines compiled sources; it is cheap. Policies are evaluated in the order of
// scope (broadest first), source and package.
func NewSnapshot(resources *admission.Resources, sets ...*PolicySet) *Snapshot {
	s := &Snapshot{candidateIndex: candidateIndex{resources: resources, byKind: map[admission.GroupVersionKind][]*policy{}}}
	for i, source := range sourcesOf(sets) {
		if source.place.Below {
			s.scoped = append(s.scoped, source)
		}
		s.policies = append(s.policies, policiesOf(sets[i], source)...)
	}
	s.scopes = scopesOf(s.scoped)
	slices.SortFunc(s.policies, func(a, b *policy) int {
		return cmp.Or(
			cmp.Compare(a.source.Scope.Level.Rank(), b.source.Scope.Level.Rank()),
			cmp.Compare(a.source.Name, b.source.Name),
			cmp.Compare(a.Name, b.Name),
		)
	})
	pinned := make([]definition.Pinned, len(sets))
	for i, set := range sets {
		pinned[i] = set.Pinned()
	}
	s.policyDigest = definition.IdentityOf(pinned...)
	s.build()
	return s
}

// policiesOf returns the policies of a set for evaluation.
func policiesOf(set *PolicySet, source *source) []*policy {
	policies := make([]*policy, len(set.List()))
	for i, compiled := range set.List() {
		policies[i] = &policy{Policy: compiled, source: source, dialect: nativeDialect{}}
		if compiled.Constraint != nil {
			policies[i].dialect = &constraintDialect{compiled.Constraint}
		}
		if compiled.Mutators != nil {
			policies[i].dialect = mutatorDialect{}
		}
		if compiled.Check != nil {
			policies[i].dialect = checkDialect{}
		}
	}
	return policies
}

// Describe lists the policies of a set by package, as if its scope were the only one.
func Describe(set *PolicySet) []PolicyInfo {
	return infosOf(policiesOf(set, newSource(set, hierarchy.Place{})))
}

// Digest identifies the policies, settings and external data: snapshots with equal digests and
// exceptions decide alike.
func (s *Snapshot) Digest() string {
	if data := s.external.Digest(s.externalNames()); data != "" {
		sum := sha256.Sum256([]byte(s.policyDigest + " " + data))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return s.policyDigest
}

// PolicyDigest identifies the policies and settings: webhooks are registered by them alone.
func (s *Snapshot) PolicyDigest() string { return s.policyDigest }

// Resources returns the table of kinds of the snapshot.
func (s *Snapshot) Resources() *admission.Resources { return s.resources }

// Policies lists the policies by scope, source and package.
func (s *Snapshot) Policies() []PolicyInfo { return infosOf(s.policies) }

// Scopes lists the scopes below the enterprise, broadest first.
func (s *Snapshot) Scopes() []ScopeInfo { return s.scopes }

// Scope returns the scope with an ID, of those that have sources in the snapshot.
func (s *Snapshot) Scope(id string) (hierarchy.Key, bool) {
	if enterprise := (hierarchy.Key{Level: hierarchy.Enterprise}); id == enterprise.ID() {
		return enterprise, true
	}
	for _, scope := range s.scopes {
		if scope.ID() == id {
			return scope.Key, true
		}
	}
	return hierarchy.Key{}, false
}

// Tenant names the narrowest scope below the enterprise that an object belongs to: ""
// where it belongs to none.
func (s *Snapshot) Tenant(review *admission.Review) string {
	tenant := hierarchy.Key{Level: hierarchy.Enterprise}
	for _, source := range s.scoped {
		if key := source.Scope.Key(); key.Level.Rank() > tenant.Level.Rank() && source.inScope(review) {
			tenant = key
		}
	}
	if tenant.Level == hierarchy.Enterprise {
		return ""
	}
	return tenant.String()
}

// inLowerScope reports whether a scope below the enterprise has the object.
func (s *Snapshot) inLowerScope(review *admission.Review) bool {
	return slices.ContainsFunc(s.scoped, func(source *source) bool { return source.inScope(review) })
}

// ReachedLimit is a policy that has reached a limit.
type ReachedLimit struct {
	Source, Package string
	// Limit is steps, bytes, timeout, function, result or source.
	Limit string
}

// ReachedLimits lists the policies that have reached a limit since a time, in the order of
// Policies.
func (s *Snapshot) ReachedLimits(since time.Time) (reached []ReachedLimit) {
	for _, p := range s.policies {
		if last := p.LastOverrun.Load(); last != nil && !last.At.Before(since) {
			reached = append(reached, ReachedLimit{Source: p.source.Name, Package: p.Name, Limit: last.Limit})
		}
	}
	return reached
}
