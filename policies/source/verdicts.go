package source

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// verdictExpiry is the lifetime of a verdict: a source that reached a limit on a busy machine
// may stay below it later.
const verdictExpiry = 10 * time.Minute

// referenceExpiry is the lifetime of a verdict that depends on the schemas of kinds: a field may
// be added to a kind without notice.
const referenceExpiry = 10 * time.Second

// scopedAtATime is the number of sources below the enterprise that are reviewed at a time, so
// that endless tests delay no revision of the enterprise.
const scopedAtATime = 2

// ErrBusy reports that other sources below the enterprise are being reviewed: retry soon.
var ErrBusy = errors.New("other sources below the enterprise are being reviewed")

// VerdictCache caches the last verdict of the gate about each source, so that an unchanged revision
// is not reviewed again at each reconcile.
type VerdictCache struct {
	gate   Gate
	scoped chan struct{}
	last   sync.Map // keptVerdict by the name of its source
}

// keptVerdict is a verdict and its inputs.
type keptVerdict struct {
	identity  string
	lastGood  string // the digest of the last good revision of a partial source
	created   time.Time
	resources *admission.Resources
	// others is the digest of the other live sets.
	others string
	// scoped reports that the source is of a scope below the enterprise, whose permissions
	// depend on the declarations of others, and live that the revision is live, so that the gate
	// need not compile it.
	scoped  bool
	live    bool
	expires time.Time
	verdict Verdict
}

// NewVerdicts makes an empty Verdicts.
func NewVerdicts(gate Gate) *VerdictCache {
	return &VerdictCache{gate: gate, scoped: make(chan struct{}, scopedAtATime)}
}

// Evaluate is Gate.Evaluate, called once for the same source and the same kinds. The error is
// ErrBusy if the gate has no capacity yet.
func (v *VerdictCache) Evaluate(ctx context.Context, candidate definition.Source, live *engine.Live) (Verdict, error) {
	return v.EvaluateSince(ctx, candidate, liveFiles(candidate, live), live)
}

// EvaluateSince is Gate.EvaluateSince, called once like Evaluate.
func (v *VerdictCache) EvaluateSince(ctx context.Context, candidate definition.Source, lastGood map[string]string, live *engine.Live) (Verdict, error) {
	now := keptVerdict{scoped: candidate.Scope.Key().Level != hierarchy.Enterprise, identity: candidate.Identity(), created: candidate.Created, resources: live.Resources(), expires: time.Now().Add(verdictExpiry)}
	if snapshot := live.Snapshot(); snapshot != nil {
		now.others = snapshot.Digest()
	}
	if candidate.Partial && lastGood != nil {
		now.lastGood = definition.Source{Files: lastGood}.Digest()
	}
	set, ok := live.Get(candidate.Name)
	now.live = ok && set.CompiledFrom(candidate)
	if last, ok := v.last.Load(candidate.Name); ok {
		last := last.(keptVerdict)
		switch {
		case last.holds(now):
			return last.verdict, nil
		case now.live && last.isAbout(now) && last.verdict.Set != nil: // something else has changed
			now.expires, now.verdict = last.expires, v.gate.evaluateLive(set, candidate, live)
			now.verdict.Warnings = last.verdict.Warnings
			v.last.Store(candidate.Name, now)
			return now.verdict, nil
		}
	}
	if now.scoped && !now.live {
		select {
		case v.scoped <- struct{}{}:
			defer func() { <-v.scoped }()
		default:
			return Verdict{}, ErrBusy
		}
	}
	verdict, err := v.gate.EvaluateSince(ctx, candidate, lastGood, live)
	if err != nil {
		return verdict, err
	}
	now.verdict = verdict
	if verdict.wrongReferences {
		now.expires = time.Now().Add(referenceExpiry)
	}
	v.last.Store(candidate.Name, now)
	return verdict, nil
}

// Forget drops the verdict about a source that is gone.
func (v *VerdictCache) Forget(name string) { v.last.Delete(name) }

// holds reports whether a verdict is still valid for a request.
func (k keptVerdict) holds(now keptVerdict) bool {
	switch {
	case !k.isAbout(now):
		return false
	case k.verdict.Reason == ReasonVersionConflict || k.verdict.OutsideScope || k.scoped || now.live || len(k.verdict.LeftOut) > 0:
		return k.others == now.others
	}
	return true
}

// isAbout says whether a verdict is about the same revision and kinds, and is not too old.
func (k keptVerdict) isAbout(now keptVerdict) bool {
	return k.identity == now.identity && k.lastGood == now.lastGood && k.created.Equal(now.created) && k.resources == now.resources && !time.Now().After(k.expires)
}
