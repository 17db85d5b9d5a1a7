package audit

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/engine"
)

// progress contains the progress of this replica.
type progress struct {
	membership membership
	policies   []engine.PolicyInfo // that deny or warn
	// targets are the kinds that all replicas together audit, and kinds those of this replica.
	targets []audit.Target
	kinds   map[string]kindProgress
	// identities are those of the sources: see engine.Snapshot.SourceIdentities.
	identities map[string]string
	started    time.Time
}

// kindProgress contains the progress of one kind on one replica.
type kindProgress struct {
	// Listed is when the last complete list was evaluated, and Took its duration.
	Listed time.Time     `json:"listed,omitzero"`
	Took   time.Duration `json:"took,omitzero"`
	// Reason and Message are why objects were not evaluated; empty if all were.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Nothing reports that nothing of the kind is stored.
	Nothing bool `json:"nothing,omitempty"`
}

// progress returns nil before audit has started on this replica.
func (a *auditor) progress() *progress {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == nil {
		return nil
	}
	p := &progress{
		membership: a.membership, policies: a.current.Policies(), targets: a.targets, started: a.started,
		kinds: map[string]kindProgress{}, identities: a.current.Snapshot().SourceIdentities(a.now()),
	}
	for _, running := range a.kinds {
		p.kinds[running.target.Kind().String()] = running.progress()
	}
	return p
}

// progress describes the state of a kind. The caller holds the auditor's mutex.
func (k *kind) progress() kindProgress {
	p := kindProgress{Took: k.took}
	if notListable(k.failure) {
		p.Nothing = true
		return p
	}
	name := k.target.Kind().String()
	switch {
	case apierrors.IsForbidden(k.failure):
		p.Reason, p.Message = ReasonKindForbidden, fmt.Sprintf("the manager may not list %s: label a ClusterRole with lintel.dev/aggregate-to-audit", name)
	case isEvaluationError(k.failure):
		p.Reason, p.Message = ReasonNotEvaluated, k.failure.Error()
	case k.failure != nil:
		p.Reason, p.Message = ReasonKindNotListed, fmt.Sprintf("listing %s: %v", name, k.failure)
	case k.listed.IsZero():
		p.Reason, p.Message = ReasonAuditing, fmt.Sprintf("the objects of kind %s are being evaluated", name)
	default:
		p.Listed = k.listed
	}
	return p
}
