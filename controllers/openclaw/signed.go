package openclaw

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

const (
	// bundleFile is the key of a bundle in a ConfigMap, and its file in a Pod.
	bundleFile = "bundle.tar.gz"
	// signedKey is where the record of signed policies has all but the bundle.
	signedKey = "signed.json"
	// maxFormer is how many former revisions are remembered of an instance.
	maxFormer = 100
	// signingInterval is the least time between two revisions of an instance: each replaces
	// its gateways, and several bundles are often applied together.
	signingInterval = 3 * time.Second
)

// signedPolicies are the composed policies of an instance as its gateways load them. They
// are signed once and recorded in the manager's namespace: without its private key, a
// bundle cannot be signed again.
type signedPolicies struct {
	sidecar.Signed `json:"signed"`
	// Revision is that of the composition, and Scope names the instance.
	Revision, Scope string
	// ConfigMap is the name of the ConfigMap with the bundle. It has a counter, to skip names
	// that are in use. Renamed is when a new name was selected: zero for the first one.
	ConfigMap string
	Taken     int
	Renamed   time.Time
	// Began is when the first revision of this record was signed, and Former are the
	// revisions before this one, the latest last.
	Began  time.Time
	Former []formerRevision `json:",omitempty"`
}

// formerRevision is a revision that is no longer wanted.
type formerRevision struct {
	KeyID, Revision string
	// Until is when the next revision was signed.
	Until time.Time
}

// scopeOf names an instance in a signature.
func scopeOf(instance client.Object) string {
	return fmt.Sprintf("%s/%s/%s", instance.GetNamespace(), instance.GetName(), instance.GetUID())
}

// sign signs a composition that follows others: before is nil where there are none.
func sign(instance client.Object, composed *composition, before *signedPolicies, now time.Time) (*signedPolicies, error) {
	scope := scopeOf(instance)
	signed, err := sidecar.Sign(composed.files, composed.revision, scope)
	if err != nil {
		return nil, fmt.Errorf("signing the policies of OpenClawInstance %s: %w", instance.GetName(), err)
	}
	next := &signedPolicies{Signed: *signed, Revision: composed.revision, Scope: scope, Began: now}
	next.ConfigMap = next.configMapName(instance)
	if before != nil {
		next.Began = before.Began
		next.Former = append(slices.Clone(before.Former), formerRevision{before.KeyID, before.Revision, now})
		next.Former = next.Former[max(0, len(next.Former)-maxFormer):]
	}
	return next, nil
}

// configMapName returns the name of the ConfigMap. It depends on the key, so that no other user
// can create the ConfigMap before the bundle is signed.
func (s *signedPolicies) configMapName(instance client.Object) string {
	name := policiesPrefix(instance.GetName()) + "-" + hashOf(map[string]string{"revision": s.Revision, "key": s.KeyID})[:10]
	if s.Taken > 0 {
		name += fmt.Sprintf("-%d", s.Taken)
	}
	return name
}

// renamed is the same bundle in another ConfigMap.
func (s *signedPolicies) renamed(instance client.Object, now time.Time) *signedPolicies {
	next := *s
	next.Taken++
	next.Renamed = now
	next.ConfigMap = next.configMapName(instance)
	return &next
}

// revisionOf is the revision that a key was for: empty for unknown keys.
func (s *signedPolicies) revisionOf(keyID string) string {
	if keyID == s.KeyID {
		return s.Revision
	}
	for _, former := range s.Former {
		if former.KeyID == keyID {
			return former.Revision
		}
	}
	return ""
}

// outdatedSince is since when Pods with another key than the wanted one are outdated:
// since the first revision, if the key is unknown.
func (s *signedPolicies) outdatedSince(keyID string) time.Time {
	for _, former := range s.Former {
		if former.KeyID == keyID {
			return former.Until
		}
	}
	return s.Began
}

// readSigned is the record of the signed policies of an instance: nil where there is none.
func (r recordStore) readSigned(ctx context.Context, from client.Reader, instance client.Object) (*signedPolicies, error) {
	stored, err := r.readName(ctx, from, signedKind, client.ObjectKeyFromObject(instance))
	if err != nil || stored == nil || stored.uid != instance.GetUID() || len(stored.binary[bundleFile]) == 0 {
		return nil, err
	}
	out := &signedPolicies{}
	if err := json.Unmarshal([]byte(stored.data[signedKey]), out); err != nil {
		return nil, fmt.Errorf("reading the signed policies of OpenClawInstance %s: %w", instance.GetName(), err)
	}
	out.Bundle = stored.binary[bundleFile]
	return out, nil
}

// keepSigned writes the record of the signed policies of an instance.
func (r recordStore) keepSigned(ctx context.Context, instance client.Object, signed *signedPolicies) error {
	rest := *signed
	rest.Bundle = nil
	text, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	return r.keep(ctx, signedKind, instanceManager, instance, record{
		data: map[string]string{signedKey: string(text)}, binary: map[string][]byte{bundleFile: signed.Bundle},
	})
}

// latest is when the last revision was signed.
func (s *signedPolicies) latest() time.Time {
	if len(s.Former) > 0 {
		return s.Former[len(s.Former)-1].Until
	}
	return s.Began
}

// signed are the policies of an instance as they are recorded, or newly signed where the
// composition is another one. It looks past the cache first: signing again replaces every
// gateway. Unless again is zero, the composition is signed then, and the recorded policies
// stay until then.
func (r *InstanceReconciler) signed(ctx context.Context, instance *v1.OpenClawInstance, composed *composition, recorded *signedPolicies, now time.Time) (_ *signedPolicies, again time.Time, err error) {
	wanted := func(s *signedPolicies) bool {
		return s != nil && s.Revision == composed.revision && s.Scope == scopeOf(instance)
	}
	if wanted(recorded) {
		return recorded, again, nil
	}
	recorded, err = r.records.readSigned(ctx, r.records.live, instance)
	if err != nil || wanted(recorded) {
		return recorded, again, err
	}
	if recorded != nil {
		// Another manager's clock may be ahead, which holds up no tightening.
		if age := now.Sub(recorded.latest()); age >= 0 && age < signingInterval {
			return recorded, now.Add(signingInterval - age), nil
		}
	}
	next, err := sign(instance, composed, recorded, now)
	if err != nil {
		return nil, again, err
	}
	return next, again, r.records.keepSigned(ctx, instance, next)
}

// shortRevision is how messages name a revision.
func shortRevision(revision string) string {
	return cmp.Or(revision[:min(len(revision), 10)], "unknown")
}
