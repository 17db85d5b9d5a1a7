package zopp

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// staleDelay is the delay before sources that could not be read again are retried.
const staleDelay = time.Second

// applier fills Secrets for both controllers.
type applier struct {
	*writer
	live    client.Reader
	hub     *hub
	reloads *reloads
	events  events.EventRecorder
}

// resolution is the desired state of a Secret according to the known snapshots.
type resolution struct {
	desiredSecret
	// noticed is when the latest event came that led to it: zero where none did.
	noticed time.Time
	// ready is false where the state is not known yet, and again is the delay before the next
	// attempt: 0 where a change of a snapshot enqueues the object.
	ready bool
	again time.Duration
}

// resolve builds the desired state of a Secret from its actual state and the snapshots.
func (f *applier) resolve(ctx context.Context, u user, interval time.Duration, request rules.Request, actual actualSecret) (state resolution, err error) {
	snapshots, err := f.hub.Use(ctx, u, interval, environmentsOf(request)...)
	if err != nil || slices.Contains(snapshots, nil) {
		return state, err
	}
	if actual.record.isAhead(request, snapshots) {
		state.again = staleDelay
		if snapshots = f.fresh(ctx, request); slices.Contains(snapshots, nil) {
			return state, nil
		}
	}
	for _, s := range snapshots {
		if s.noticed.After(state.noticed) {
			state.noticed = s.noticed
		}
	}
	state.desiredSecret, state.ready = desiredOf(request, snapshots, actual), true
	return state, nil
}

// fresh reads the sources of a request again, where the Secret may contain newer values than the
// snapshots. A source that cannot be read now has only an error in its snapshot.
func (f *applier) fresh(ctx context.Context, request rules.Request) []*snapshot {
	asked := time.Now()
	snapshots := make([]*snapshot, len(request.Sources))
	for i, environment := range environmentsOf(request) {
		s := f.hub.Fresh(ctx, environment)
		switch {
		case s == nil || !s.began.Before(asked):
			snapshots[i] = s
		case s.failure != nil:
			snapshots[i] = &snapshot{failure: s.failure}
		}
	}
	return snapshots
}

// refusedDelay is the delay before a write that the API server has rejected is retried.
const refusedDelay = time.Minute

// effect is the result of a write.
type effect struct {
	outcome outcome
	// changed reports that the values from zopp in the Secret have changed.
	changed bool
	// again is when to try again: 0 where there is no reason to.
	again time.Duration
}

// write applies the desired contents to a Secret if they differ. A concurrent write by another
// client is a conflict. If the API server rejects the write, the values stay as they are.
func (f *applier) write(ctx context.Context, secret *corev1.Secret, actual actualSecret, desired desiredSecret, more extras, noticed time.Time) (effect, error) {
	e := effect{outcome: desired.outcome}
	changed, err := f.writeDiff(ctx, secret, actual, desired, more, noticed)
	if err == nil || desired.kept || !isRefused(err) {
		e.changed = changed
		return e, err
	}
	desired = desiredSecret{data: maps.Clone(actual.ours), record: actual.record, kept: true, outcome: refusedOutcome(err)}
	desired.outcome.keys = len(desired.data)
	e.outcome, e.again = desired.outcome, refusedDelay
	if _, another := f.writeDiff(ctx, secret, actual, desired, more, noticed); another != nil {
		return e, err
	}
	return e, nil
}

// isRefused reports whether a retry alone does not help: the Secret violates the rules of its
// type, a quota, or an admission policy.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// deniedOutcome is the outcome of a Secret that is no longer synced and keeps its keys.
func deniedOutcome(message string, keys int) outcome {
	return outcome{status: v1alpha1.StatusDenied, reason: v1alpha1.ReasonDenied, message: message, keys: keys}
}

func refusedOutcome(err error) outcome {
	return outcome{status: v1alpha1.StatusFailed, reason: reasonRefused, message: "the API server does not take the Secret: " + err.Error()}
}

// writeDiff writes the differences.
func (f *applier) writeDiff(ctx context.Context, secret *corev1.Secret, actual actualSecret, desired desiredSecret, more extras, noticed time.Time) (changed bool, err error) {
	diff, isNew := f.diff(secret, actual, desired, more, noticed)
	if !isNew {
		f.know(secret, diff)
		f.reloads.observe(ctx, client.ObjectKeyFromObject(secret), diff.record.Changed)
		return false, nil
	}
	if diff.changes {
		if err := f.reloads.note(ctx, secret.Namespace, secret.Name, actual.record.Changed); err != nil {
			return false, err
		}
	}
	if err := f.apply(ctx, secret, diff); err != nil {
		return false, err
	}
	f.reloads.observe(ctx, client.ObjectKeyFromObject(secret), diff.record.Changed)
	if e := eventOf(desired.outcome, secret.Annotations); e != nil {
		object.Send(f.events, secret, "Sync", *e)
	}
	return diff.changes, nil
}

// createMissing creates a missing Secret.
func (f *applier) createMissing(ctx context.Context, name client.ObjectKey, kind corev1.SecretType, desired desiredSecret, more extras, noticed time.Time) (effect, error) {
	none := &corev1.Secret{}
	diff, _ := f.diff(none, actualOf(none, f.manager), desired, more, noticed)
	diff.changes, diff.record.Changed = true, f.now().UnixNano()
	diff.annotations = outcomeAnnotations(diff.desiredSecret, nil)
	if err := f.reloads.note(ctx, name.Namespace, name.Name, 0); err != nil {
		return effect{}, err
	}
	_, err := f.create(ctx, name, kind, diff)
	if err != nil && !object.Passes(err) && isRefused(err) {
		return effect{outcome: refusedOutcome(err), again: refusedDelay}, nil
	}
	if err == nil {
		f.reloads.observe(ctx, name, diff.record.Changed)
	}
	return effect{outcome: desired.outcome, changed: true}, err
}

// forget drops the record of a Secret.
func (f *applier) forget(name client.ObjectKey) {
	f.writer.forget(name)
	f.reloads.forget(name)
}
