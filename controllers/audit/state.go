package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	// incomplete are the policies for which some objects were not evaluated: they never count as
	// compliant.
	incomplete map[audit.PolicyKey]bool
	took       map[string]time.Duration // of the last list, by kind
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

// state returns nil before audit has started on this replica.
func (a *auditor) state() *state {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == nil {
		return nil
	}
	s := &state{policies: a.current.Policies(), sources: map[string]pass{}, incomplete: map[audit.PolicyKey]bool{}, took: map[string]time.Duration{}}
	for _, info := range s.policies {
		s.sources[info.Source] = pass{last: a.started}
	}
	kinds := make([]*kind, 0, len(a.kinds))
	for _, running := range a.kinds {
		kinds = append(kinds, running)
	}
	slices.SortFunc(kinds, func(x, y *kind) int { return cmp.Compare(x.target.Kind().String(), y.target.Kind().String()) })
	sources := map[string]bool{}
	for _, running := range kinds {
		clear(sources)
		incomplete := pass{}.with(running).reason != ""
		for _, info := range running.target.Policies {
			sources[info.Source] = true
			if incomplete {
				s.incomplete[audit.PolicyKey{Source: info.Source, Policy: info.Package}] = true
			}
		}
		for source := range sources {
			s.sources[source] = s.sources[source].with(running)
		}
		if running.took > 0 {
			s.took[running.target.Kind().String()] = running.took
		}
	}
	return s
}

// with adds the state of a kind.
func (p pass) with(k *kind) pass {
	if notListable(k.failure) { // nothing of it is stored
		return p
	}
	reason, message := "", ""
	name := k.target.Kind().String()
	switch _, evaluation := errors.AsType[*evaluationError](k.failure); {
	case apierrors.IsForbidden(k.failure):
		reason, message = ReasonKindForbidden, fmt.Sprintf("the manager may not list %s: label a ClusterRole with lintel.dev/aggregate-to-audit", name)
	case evaluation:
		reason, message = ReasonNotEvaluated, k.failure.Error()
	case k.failure != nil:
		reason, message = ReasonKindNotListed, fmt.Sprintf("listing %s: %v", name, k.failure)
	case k.listed.IsZero():
		reason, message = ReasonAuditing, fmt.Sprintf("the objects of kind %s are being evaluated", name)
	}
	if reason == "" {
		if p.reason == "" && k.listed.After(p.last) {
			p.last = k.listed
		}
		return p
	}
	p.last = time.Time{}
	if p.reason == "" || p.waiting && reason != ReasonAuditing {
		p.reason, p.message, p.waiting = reason, message, reason == ReasonAuditing
	}
	return p
}
