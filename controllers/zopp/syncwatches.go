package zopp

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// askedAnew passes changes of a ZoppSecretSync's request, and drops those of its status.
func askedAnew(was, is *v1alpha1.ZoppSecretSync) bool {
	return was.Generation != is.Generation || was.UID != is.UID || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
}

// secretOf returns the Secret that a ZoppSecretSync fills. Its annotations may request the same.
func secretOf(_ context.Context, sync *v1alpha1.ZoppSecretSync) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: targetOf(sync)}}
}

// syncsOf are the ZoppSecretSyncs that name a Secret.
func (w watches) syncsOf(ctx context.Context, secret *metadata) []reconcile.Request {
	return w.naming(ctx, client.ObjectKeyFromObject(secret))
}

// syncsBeside are the ZoppSecretSyncs that name the same Secret as one.
func (w watches) syncsBeside(ctx context.Context, sync *v1alpha1.ZoppSecretSync) []reconcile.Request {
	return w.naming(ctx, targetOf(sync))
}

func (w watches) naming(ctx context.Context, secret client.ObjectKey) []reconcile.Request {
	return object.RequestsFor[*v1alpha1.ZoppSecretSync](ctx, w.cached, &v1alpha1.ZoppSecretSyncList{}, nil, client.MatchingFields{targetIndex: secret.String()})
}

// syncsIn are the ZoppSecretSyncs of a Namespace, and those of Secrets in it.
func (w watches) syncsIn(ctx context.Context, namespace *corev1.Namespace) []reconcile.Request {
	return object.RequestsFor(ctx, w.cached, &v1alpha1.ZoppSecretSyncList{}, func(sync *v1alpha1.ZoppSecretSync) bool {
		return sync.Namespace == namespace.Name || sync.SecretNamespace() == namespace.Name
	})
}
