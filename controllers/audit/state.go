package audit

import (
	"fmt"
	"time"

	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/engine"
)

// pass contains the progress for the objects that the policies of one source match.
type pass struct {
	// last is when all kinds had been listed and evaluated completely; zero while one is missing.
	last time.Time
	// reason and message are why objects were not evaluated; empty if all were. waiting
	// reports that they are on their way.
	reason, message string
	waiting         bool
}

// state is the progress of audit at one time.
type state struct {
	policies []engine.PolicyInfo // that deny or warn
	sources  map[string]pass
	// incomplete has the policies for which some objects were not evaluated: they never count as
	// compliant.
	incomplete map[audit.PolicyKey]bool
}

// The reasons of the condition Audited.
const (
	// ReasonAudited: all objects that the policies match were evaluated.
	ReasonAudited = "Audited"
	// ReasonAuditing: objects are being listed and evaluated.
	ReasonAuditing = "Auditing"
	// ReasonKindNotListed: the objects of a kind cannot be listed. The manager retries.
	ReasonKindNotListed = "KindNotListed"
	// ReasonKindForbidden: the manager may not list a kind. Label a ClusterRole with
	// lintel.dev/aggregate-to-audit.
	ReasonKindForbidden = "KindForbidden"
	// ReasonNotEvaluated: an object could not be evaluated. The manager retries.
	ReasonNotEvaluated = "ObjectNotEvaluated"
)

// state is the progress of this replica: nil before audit has started on it.
func (a *auditor) state() *state {
	p := a.progress()
	if p == nil {
		return nil
	}
	s := newState(p)
	s.add(p, p.membership.shards.Self(), p.kinds)
	return s
}

// newState is the state before any replica has evaluated anything.
func newState(p *progress) *state {
	s := &state{policies: p.policies, sources: map[string]pass{}, incomplete: map[audit.PolicyKey]bool{}}
	for _, info := range p.policies {
		s.sources[info.Source] = pass{last: p.started}
	}
	return s
}

// add adds the progress of the kinds on a replica. A kind that the replica has not begun with
// counts as not evaluated.
func (s *state) add(p *progress, replica string, kinds map[string]kindProgress) {
	clusterScoped := p.membership.shards.Owner("") == replica
	for _, target := range p.targets {
		if !target.Resource.Namespaced && !clusterScoped {
			continue
		}
		name := target.Kind().String()
		found, begun := kinds[name]
		if !begun {
			found = kindProgress{Reason: ReasonAuditing, Message: fmt.Sprintf("the objects of kind %s are being evaluated", name)}
		}
		for _, source := range sourcesOf(target.Policies) {
			s.sources[source] = s.sources[source].with(found)
		}
		if found.Reason == "" {
			continue
		}
		for _, info := range target.Policies {
			s.incomplete[audit.PolicyKey{Source: info.Source, Policy: info.Package}] = true
		}
	}
}

// unknown marks a source as not evaluated completely, since the results of a replica are missing.
func (s *state) unknown(source, message string) {
	s.sources[source] = s.sources[source].with(kindProgress{Reason: ReasonAuditing, Message: message})
	for _, info := range s.policies {
		if info.Source == source {
			s.incomplete[audit.PolicyKey{Source: source, Policy: info.Package}] = true
		}
	}
}

// sourcesOf lists the sources of policies once each.
func sourcesOf(policies []engine.PolicyInfo) (names []string) {
	known := map[string]bool{}
	for _, info := range policies {
		if !known[info.Source] {
			known[info.Source] = true
			names = append(names, info.Source)
		}
	}
	return names
}

// with adds the progress of a kind.
func (p pass) with(k kindProgress) pass {
	switch {
	case k.Nothing:
	case k.Reason == "":
		if p.reason == "" && k.Listed.After(p.last) {
			p.last = k.Listed
		}
	default:
		p.last = time.Time{}
		if p.reason == "" || p.waiting && k.Reason != ReasonAuditing {
			p.reason, p.message, p.waiting = k.Reason, k.Message, k.Reason == ReasonAuditing
		}
	}
	return p
}
