package engine

import (
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
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
	// Validates and Mutates say which entry points of the policy are evaluated for requests: deny
	// or warn, and patch or defaults.
	Validates, Mutates bool
	// OnlyStored reports that deny or warn are evaluated for stored objects alone.
	OnlyStored bool
	// ScopedActions are the actions of audit, in Gatekeeper's words, of a constraint that has
	// actions for single enforcement points.
	ScopedActions []string
	Location      definition.Location
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
	// External are the DataSources that its METADATA name.
	External []string
	Clock    bool
	Timeout  time.Duration
	// Severity and Category are what its METADATA say for reports.
	Severity, Category string
	// DependsOnNamespace reports that the Namespace object may change what the policy decides.
	DependsOnNamespace bool
	// NotAuditable are the references that keep rules of the policy, or all of them, from being
	// evaluated for stored objects.
	NotAuditable []NotAuditable
	// UserRead is the first reference to the user of the request in deny and warn; nil if there
	// is none.
	UserRead *NotAuditable
	// Exceptions is what the policy allows exceptions from it.
	Exceptions definition.Allowance
}

// MutatesKind reports whether patch and defaults are evaluated, or refused, for objects of
// a kind.
func (p PolicyInfo) MutatesKind(kind admission.GroupVersionKind) bool {
	place := hierarchy.Place{Below: p.Follows, Grants: p.Grants}
	return p.Mutates && p.Match.NamesKind(kind) && !withoutRights(&place, p.Match.Kinds, kind)
}

// infosOf describes policies, in their order.
func infosOf(policies []*policy) (infos []PolicyInfo) {
	for _, p := range policies {
		infos = append(infos, p.info())
	}
	return infos
}

// info describes the policy.
func (p *policy) info() PolicyInfo {
	return PolicyInfo{
		Package:       p.Name,
		Title:         p.Meta.Title,
		Source:        p.source.Name,
		FailurePolicy: p.source.FailurePolicy,
		Enforcement:   p.Meta.Enforcement,
		Match:         p.Matcher.Match,
		Validates:     p.Validate != nil && !p.onlyStored(),
		OnlyStored:    p.Validate != nil && p.onlyStored(),
		ScopedActions: p.scopedActions(),
		Mutates:       p.Changes(),
		Location:      p.Location,
		Scope:         p.source.Scope.Key(),
		Parent:        p.source.place.Parent,
		Follows:       p.source.Scope.Level != hierarchy.Enterprise,
		Grants:        p.source.place.Grants,
		AnyVersion:    p.dialect.isForeign(),
		Requires:      p.Meta.Requires,
		External:      p.Meta.External,
		Clock:         p.Meta.Clock,
		Timeout:       p.Meta.Timeout,
		Severity:      p.Meta.Severity,
		Category:      p.Meta.Category,
		NotAuditable:  p.notAuditable(),
		UserRead:      p.UserRead,

		DependsOnNamespace: p.ReadsNamespace || p.Matcher.NamespaceSelector != nil || p.dialect.isForeign(),
		Exceptions:         p.Meta.Allowance(),
	}
}

// onlyStored reports whether the policy has no action for requests.
func (p *policy) onlyStored() bool {
	if p.Check != nil {
		return p.Check.OnlyStored
	}
	return p.Constraint != nil && p.Constraint.Admission.Enforcement == ""
}

func (p *policy) scopedActions() []string {
	if p.Constraint == nil || p.Constraint.Scoped == nil {
		return nil
	}
	return p.Constraint.Scoped.Audit
}
