package zopp

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/tracing"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// secretManager is the field manager for annotated Secrets.
const secretManager = "lintel-zopp-secret"

// secretReconciler fills the Secrets that request it by annotations. It reads a Secret before
// each decision and relies on no state in memory: it compares the desired with the actual
// Secret.
type secretReconciler struct {
	applier
	admit builtin.Admitter
}

func secretUser(name client.ObjectKey) user { return user{"Secret", name} }

// Reconcile implements reconcile.Reconciler.
func (r *secretReconciler) Reconcile(ctx context.Context, request reconcile.Request) (_ reconcile.Result, err error) {
	ctx, end := tracing.Step(ctx, "reconcile Secret", request.String())
	defer func() { end(err) }()
	secret := &corev1.Secret{}
	err = r.live.Get(ctx, request.NamespacedName, secret)
	if apierrors.IsNotFound(err) {
		r.hub.Forget(secretUser(request.NamespacedName))
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading Secret %s: %w", request, err)
	}
	return object.Result(r.carryOut(ctx, secret))
}

// carryOut reconciles a Secret with its annotations. again is the delay before the next
// reconciliation without an event.
func (r *secretReconciler) carryOut(ctx context.Context, secret *corev1.Secret) (again time.Duration, err error) {
	u, request := secretUser(client.ObjectKeyFromObject(secret)), rules.Read(secret.Annotations)
	if !secret.DeletionTimestamp.IsZero() {
		r.hub.Forget(u)
		return 0, nil
	}
	if !request.Sync {
		r.hub.Forget(u)
		return 0, r.end(ctx, secret, request)
	}
	verdict, err := r.admit(ctx, withoutValues(secret))
	if err != nil {
		return 0, err
	}
	if verdict.Denied() {
		r.hub.Forget(u)
		return 0, r.deny(ctx, secret, request, verdict.Message())
	}
	return r.sync(ctx, u, secret, request)
}

// withoutValues is a Secret as the rules see it.
func withoutValues(secret *corev1.Secret) *corev1.Secret {
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: secret.ObjectMeta, Type: secret.Type, Immutable: secret.Immutable}
}

// deny reports why the Secret is no longer synced. The status of a Secret that was created for a
// ZoppSecretSync is written by that controller only, or the two would overwrite each other
// forever.
func (r *secretReconciler) deny(ctx context.Context, secret *corev1.Secret, request rules.Request, message string) error {
	if secret.Labels[ownerLabel] != "" && !isOurs(secret, secretManager) {
		return nil
	}
	actual := actualOf(secret, secretManager)
	desired := keepActual(request, actual)
	desired.outcome = deniedOutcome(message, len(desired.data))
	_, err := r.write(ctx, secret, actual, desired, extras{}, time.Time{})
	return err
}

// sync writes the contents of the sources to a Secret.
func (r *secretReconciler) sync(ctx context.Context, u user, secret *corev1.Secret, request rules.Request) (again time.Duration, err error) {
	actual := actualOf(secret, secretManager)
	if actual.legacy {
		if err := r.takeOver(ctx, secret); err != nil {
			return 0, err
		}
		actual = actualOf(secret, secretManager)
	}
	state, err := r.resolve(ctx, u, 0, request, actual)
	switch {
	case err != nil:
		return 0, err
	case state.ready:
		e, err := r.write(ctx, secret, actual, state.desiredSecret, extras{}, state.noticed)
		return e.again, err
	case len(actual.ours) > 0 && len(keepActual(request, actual).data) == 0 && !actual.immutable:
		return 0, r.empty(ctx, secret)
	}
	return state.again, nil
}

// end ends the sync of a Secret. It removes the keys from zopp if the Secret requested that.
func (r *secretReconciler) end(ctx context.Context, secret *corev1.Secret, request rules.Request) error {
	if !isOurs(secret, secretManager) {
		r.forget(client.ObjectKeyFromObject(secret))
		return nil
	}
	last, known := r.last(secret)
	cleanup := request.Cleanup || readRecord(secret.Annotations).Cleanup || known && last.cleanup
	if cleanup && !ptr.Deref(secret.Immutable, false) {
		return r.empty(ctx, secret)
	}
	return r.release(ctx, secret)
}
