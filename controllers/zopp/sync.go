package zopp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// syncManager is the field manager for ZoppSecretSyncs.
const syncManager = "lintel-zopp-secretsync"

// syncReconciler creates and fills the Secrets that ZoppSecretSyncs name.
type syncReconciler struct {
	applier
	client client.Client
	admit  builtin.Admitter
}

func syncUser(name client.ObjectKey) user { return user{"ZoppSecretSync", name} }

type syncReport = object.Report[v1alpha1.ZoppSecretSyncStatus]

func (r *syncReconciler) reporter() object.Reporter[*v1alpha1.ZoppSecretSync, v1alpha1.ZoppSecretSyncStatus] {
	return object.Reporter[*v1alpha1.ZoppSecretSync, v1alpha1.ZoppSecretSyncStatus]{
		Client: r.client, Manager: syncManager, Action: "Sync", Events: r.events, Finalizer: v1alpha1.Finalizer,
		Status:     func(s *v1alpha1.ZoppSecretSync) *v1alpha1.ZoppSecretSyncStatus { return &s.Status },
		Conditions: func(s *v1alpha1.ZoppSecretSyncStatus) []metav1.Condition { return s.Conditions },
		News:       map[string]object.News{v1alpha1.ConditionReady: object.Turned(metav1.ConditionFalse)},
		Gone: func(_ context.Context, name client.ObjectKey) error {
			r.hub.Forget(syncUser(name))
			return nil
		},
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *syncReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.ZoppSecretSync{}, r.carryOut)
}

// carryOut fills the Secret of a ZoppSecretSync, and computes its status.
func (r *syncReconciler) carryOut(ctx context.Context, sync *v1alpha1.ZoppSecretSync) (syncReport, error) {
	u := syncUser(client.ObjectKeyFromObject(sync))
	if !sync.DeletionTimestamp.IsZero() {
		r.hub.Forget(u)
		return syncReport{}, r.remove(ctx, sync)
	}
	facts, err := r.carry(ctx, u, sync)
	if err != nil {
		return syncReport{}, err
	}
	next := syncStatus(sync, facts, r.now())
	return syncReport{Status: &next, Again: facts.again}, nil
}

// carry fills the Secret, unless something is in the way, which the facts tell. An error is
// tried again, and no status reports it.
func (r *syncReconciler) carry(ctx context.Context, u user, sync *v1alpha1.ZoppSecretSync) (facts syncFacts, err error) {
	verdict, err := r.admit(ctx, sync)
	if err != nil {
		return facts, err
	}
	if facts.denied = verdict.Message(); verdict.Denied() {
		r.hub.Forget(u)
		return facts, r.deny(ctx, sync, facts.denied)
	}
	if sync.Spec.Suspend {
		r.hub.Forget(u)
		return facts, nil
	}
	if err := r.leave(ctx, sync); err != nil {
		return facts, err
	}
	if targetOf(sync).Namespace != sync.Namespace {
		if err := r.reporter().SetFinalizer(ctx, sync, controllerutil.AddFinalizer); err != nil {
			return facts, err
		}
	}
	err = r.sync(ctx, u, sync, &facts)
	if errors.As(err, &facts.foreign) {
		r.hub.Forget(u)
		return facts, nil
	}
	return facts, err
}

// deny reports on the Secret, if it exists, why its values are no longer synced.
func (r *syncReconciler) deny(ctx context.Context, sync *v1alpha1.ZoppSecretSync, message string) error {
	name, secret := targetOf(sync), &corev1.Secret{}
	err := r.live.Get(ctx, name, secret)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err): // in a namespace without permissions nothing was created
		return nil
	case err != nil:
		return fmt.Errorf("reading Secret %s: %w", name, err)
	case !isMadeFor(sync)(secret) || !secret.DeletionTimestamp.IsZero():
		return nil
	}
	actual := actualOf(secret, syncManager)
	desired := desiredSecret{data: maps.Clone(actual.ours), record: actual.record, kept: true, outcome: deniedOutcome(message, len(actual.ours))}
	more := extrasOf(sync)
	keepExisting(secret.Labels, more.labels)
	keepExisting(secret.Annotations, more.annotations)
	_, err = r.write(ctx, secret, actual, desired, more, time.Time{})
	return err
}

// keepExisting keeps the existing keys that are still desired, and adds none that was denied.
func keepExisting(has, wanted map[string]string) {
	maps.DeleteFunc(wanted, func(name, _ string) bool { _, there := has[name]; return !there })
	for name := range wanted {
		wanted[name] = has[name]
	}
}

// sync reads the Secret and writes the contents of the sources to it. A Secret with another
// owner is an *object.Foreign error.
func (r *syncReconciler) sync(ctx context.Context, u user, sync *v1alpha1.ZoppSecretSync, facts *syncFacts) error {
	name, secret := targetOf(sync), &corev1.Secret{}
	err := r.live.Get(ctx, name, secret)
	absent := apierrors.IsNotFound(err)
	switch {
	case absent:
		secret = &corev1.Secret{}
	case err != nil:
		return fmt.Errorf("reading Secret %s: %w", name, err)
	case !isMadeFor(sync)(secret) && !isLegacyOf(sync, secret):
		return &object.Foreign{Kind: "Secret", NamespacedName: name}
	case !secret.DeletionTimestamp.IsZero():
		return nil // it is created again after its deletion
	}
	actual := actualOf(secret, syncManager)
	if actual.legacy {
		if err := r.takeOver(ctx, secret); err != nil {
			return err
		}
		actual = actualOf(secret, syncManager)
	}
	interval := time.Duration(sync.Spec.SyncIntervalSeconds) * time.Second
	state, err := r.resolve(ctx, u, interval, rules.ReadSync(sync), actual)
	facts.resolution, facts.exists = state, !absent
	switch {
	case err != nil || !state.ready:
		return err
	case absent && state.kept:
		return nil // no values are known yet
	}
	var e effect
	if absent {
		e, err = r.createMissing(ctx, name, sync.Spec.Target.SecretType, state.desiredSecret, extrasOf(sync), state.noticed)
		facts.exists = e.changed
	} else {
		e, err = r.write(ctx, secret, actual, state.desiredSecret, extrasOf(sync), state.noticed)
	}
	facts.outcome, facts.changed, facts.again = e.outcome, e.changed, e.again
	return err
}

// leave deletes the Secret that a ZoppSecretSync had before it named another.
func (r *syncReconciler) leave(ctx context.Context, sync *v1alpha1.ZoppSecretSync) error {
	before := sync.Status.Target
	if before == nil {
		return nil
	}
	name := client.ObjectKey{Namespace: before.Namespace, Name: before.SecretName}
	if name == targetOf(sync) {
		return nil
	}
	return r.delete(ctx, sync, name)
}

// remove deletes the Secrets of a deleted ZoppSecretSync, and removes its finalizer.
func (r *syncReconciler) remove(ctx context.Context, sync *v1alpha1.ZoppSecretSync) error {
	if !controllerutil.ContainsFinalizer(sync, v1alpha1.Finalizer) {
		return nil // the garbage collector does the rest
	}
	if err := r.leave(ctx, sync); err != nil {
		return err
	}
	if err := r.delete(ctx, sync, targetOf(sync)); err != nil {
		return err
	}
	return r.reporter().SetFinalizer(ctx, sync, controllerutil.RemoveFinalizer)
}

// delete deletes a Secret if it was created for a ZoppSecretSync.
func (r *syncReconciler) delete(ctx context.Context, sync *v1alpha1.ZoppSecretSync, name client.ObjectKey) error {
	secret := &corev1.Secret{}
	err := r.live.Get(ctx, name, secret)
	if err == nil && isMadeFor(sync)(secret) && secret.DeletionTimestamp.IsZero() {
		err = r.client.Delete(ctx, secret, client.Preconditions{UID: new(secret.UID), ResourceVersion: new(secret.ResourceVersion)})
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Secret %s: %w", name, err)
	}
	r.forget(name)
	return nil
}
