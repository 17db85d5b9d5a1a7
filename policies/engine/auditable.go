package engine

import (
	"reflect"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// NotAuditable explains why a rule cannot be evaluated for stored objects.
type NotAuditable = policyset.NotAuditable

// notAuditable returns why rules of the policy cannot be evaluated for stored objects: first
// what holds for all of them.
func (p *policy) notAuditable() []NotAuditable {
	if c := p.Constraint; c != nil && c.Audit.Enforcement == "" {
		return append([]NotAuditable{{Location: c.Scoped.Location, Path: "spec.scopedEnforcementActions"}}, p.RequestReads...)
	}
	if c := p.Check; c != nil && c.NotStored != nil {
		return []NotAuditable{{Location: c.NotStored.Location, Path: c.NotStored.Path}}
	}
	operations := p.Matcher.Match.Operations
	if len(operations) == 0 || slices.Contains(operations, "CREATE") {
		return p.RequestReads
	}
	place := p.Location
	path := "custom.match.operations"
	switch {
	case p.Check != nil:
		path = "spec.matchConstraints.resourceRules"
	case p.dialect.isForeign():
		path = "spec.targets[0].operations"
	default:
		place = definition.LineInMetadata(p.source.Files, p.Location, "operations")
	}
	return append([]NotAuditable{{Location: place, Path: path}}, p.RequestReads...)
}

// auditable reports whether the policy has rules that are evaluated for stored objects.
func (p *policy) auditable() bool {
	none := p.notAuditable()
	return p.Validate != nil && (len(none) == 0 || !none[0].IsWhole())
}

// Audits lists the policies that are evaluated for stored objects of a kind, also those that
// are evaluated for the Pod template in them. Their match may still leave each object out.
func (s *Snapshot) Audits(kind admission.GroupVersionKind) []PolicyInfo {
	return infosOf(s.audits(kind))
}

func (s *Snapshot) audits(kind admission.GroupVersionKind) (found []*policy) {
	for _, p := range s.policies {
		named := p.Matcher.NamesKind(kind)
		expanded := p.Matcher.Expands() && len(p.dialect.podTemplates(kind)) > 0
		if (named || expanded) && p.auditable() {
			found = append(found, p)
		}
	}
	return found
}

// AuditsAlike reports whether both snapshots give the same findings for stored objects of a
// kind, apart from the revision. The snapshot before may be nil.
func (s *Snapshot) AuditsAlike(before *Snapshot, kind admission.GroupVersionKind) bool {
	if before == nil {
		return false
	}
	if !slices.EqualFunc(s.mutatorsOfTemplates(kind), before.mutatorsOfTemplates(kind), func(a, b *policy) bool {
		return a.source.Name == b.source.Name && a.source.FilesDigest == b.source.FilesDigest && s.external.Digest(a.Meta.External) == before.external.Digest(b.Meta.External)
	}) {
		return false
	}
	return slices.EqualFunc(s.audits(kind), before.audits(kind), func(a, b *policy) bool {
		return a.alike(b) && s.external.Digest(a.Meta.External) == before.external.Digest(b.Meta.External) && slices.EqualFunc(s.exceptionsOf(a, kind), before.exceptionsOf(b, kind), granted.exemptsAlike)
	})
}

// mutatorsOfTemplates are the mutators that change the Pod templates of a kind before Gatekeeper's
// policies are evaluated for them.
func (s *Snapshot) mutatorsOfTemplates(kind admission.GroupVersionKind) (found []*policy) {
	expands := func(p *policy) bool {
		return p.Matcher.Expands() && p.dialect.isForeign() && len(p.dialect.podTemplates(kind)) > 0
	}
	if !slices.ContainsFunc(s.policies, expands) {
		return nil
	}
	for _, p := range s.policies {
		if p.Mutators != nil {
			found = append(found, p)
		}
	}
	return found
}

// exceptionsOf are the exceptions from a policy that its objects of a kind may be exempt by.
func (s *Snapshot) exceptionsOf(p *policy, kind admission.GroupVersionKind) (found []granted) {
	for _, one := range s.exceptions[policyName{p.source.Name, p.Name}] {
		if one.ConcernsKind(kind) {
			found = append(found, one)
		}
	}
	return found
}

// exemptsAlike compares what decides which findings are exempt, and what reports contain.
func (g granted) exemptsAlike(other granted) bool {
	a, b := *g.Exception, *other.Exception
	same := g.within == other.within && a.Expires.Equal(b.Expires)
	a.Reason, a.Expires, b.Reason, b.Expires = "", time.Time{}, "", time.Time{}
	return same && reflect.DeepEqual(a, b)
}

// alike compares what decides the findings of a policy. Units are shared by the revisions of a
// source as long as they and their dependencies are unchanged.
func (p *policy) alike(other *policy) bool {
	if p.Name != other.Name || !p.evaluatesLike(other) || p.Location != other.Location || p.Meta.Enforcement != other.Meta.Enforcement {
		return false
	}
	settings := func(pinned definition.Pinned) string {
		pinned.Revision = ""
		return pinned.Settings()
	}
	if p.source.dataDigest != other.source.dataDigest || settings(p.source.Pinned) != settings(other.source.Pinned) ||
		!reflect.DeepEqual(p.source.place, other.source.place) || !reflect.DeepEqual(p.Matcher.Match, other.Matcher.Match) {
		return false
	}
	mine, others := p.Constraint, other.Constraint
	if mine == nil || others == nil {
		return mine == others
	}
	return mine.Fingerprint == others.Fingerprint && slices.Equal(mine.Expansions, others.Expansions)
}

// evaluatesLike compares the code of policies: Rego by its query, and other code by its text.
func (p *policy) evaluatesLike(other *policy) bool {
	if p.Check != nil && other.Check != nil {
		return p.Check.Fingerprint == other.Check.Fingerprint
	}
	if p.Evaluator != nil && other.Evaluator != nil {
		return true // the Fingerprint of the constraint has the code
	}
	return p.Validate == other.Validate
}

// ShortWords are the words as they begin Text.
func (f Finding) ShortWords() string { return cut(f.Words, MaxWordsBytes) }
