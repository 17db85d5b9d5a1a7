package zopp

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
)

// office is a desk with a reconciler of ZoppSecretSyncs.
type office struct {
	*desk
	*syncReconciler
}

var syncKey = client.ObjectKey{Namespace: "default", Name: "sync"}

// syncInto is a ZoppSecretSync for a Secret app-secrets.
func syncInto(namespace string) *v1alpha1.ZoppSecretSync {
	return &v1alpha1.ZoppSecretSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sync", UID: "sync-uid", Generation: 1},
		Spec: v1alpha1.ZoppSecretSyncSpec{
			Source: &v1alpha1.Source{Workspace: "acme", Project: "backend", Environment: "production"},
			Target: v1alpha1.Target{
				SecretName: "app-secrets", Namespace: namespace, SecretType: corev1.SecretTypeOpaque,
				Labels: values{"team": "web"}, Annotations: values{"example.com/note": "yes"},
			},
			SyncIntervalSeconds: 60,
		},
	}
}

func newOffice(t *testing.T, objects ...client.Object) *office {
	t.Helper()
	o := &office{desk: newDesk(t, objects...)}
	o.restart()
	return o
}

// restart replaces the replica.
func (o *office) restart() {
	r := o.desk.replica()
	r.manager = syncManager
	o.syncReconciler = &syncReconciler{r.applier, o.desk.client, o.desk.verdict}
	o.secretReconciler = r
}

func (o *office) reconcile() *v1alpha1.ZoppSecretSync {
	o.t.Helper()
	require.Eventually(o.t, func() bool {
		uses, before := o.readAll(), o.desk.writes
		result, err := o.syncReconciler.Reconcile(o.t.Context(), reconcile.Request{NamespacedName: syncKey})
		require.NoError(o.t, err)
		return result.IsZero() && before == o.desk.writes && reflect.DeepEqual(uses, o.syncReconciler.hub.usesNow())
	}, 2*time.Minute, time.Millisecond)
	return o.stored()
}

// stored returns the ZoppSecretSync: nil after its deletion.
func (o *office) stored() *v1alpha1.ZoppSecretSync {
	o.t.Helper()
	sync := &v1alpha1.ZoppSecretSync{}
	err := o.desk.client.Get(o.t.Context(), syncKey, sync)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(o.t, err)
	return sync
}

func (o *office) secretIn(namespace string) *corev1.Secret {
	o.t.Helper()
	secret := &corev1.Secret{}
	err := o.desk.client.Get(o.t.Context(), client.ObjectKey{Namespace: namespace, Name: "app-secrets"}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(o.t, err)
	return secret
}

func ready(t *testing.T, sync *v1alpha1.ZoppSecretSync) *metav1.Condition {
	t.Helper()
	condition := meta.FindStatusCondition(sync.Status.Conditions, v1alpha1.ConditionReady)
	require.NotNil(t, condition)
	return condition
}

func TestSyncMakesItsSecret(t *testing.T) {
	o := newOffice(t, syncInto(""))
	o.server.set(backend, "KEY", "one")
	sync := o.reconcile()
	require.Equal(t, "SyncSuccess", ready(t, sync).Reason)
	require.EqualValues(t, 1, sync.Status.SecretCount)
	require.EqualValues(t, 1, sync.Status.LastSyncVersion)
	require.Empty(t, sync.Finalizers, "the garbage collector deletes it")
	secret := o.secretIn("default")
	require.Equal(t, values{"KEY": "one"}, texts(secret.Data))
	require.True(t, metav1.IsControlledBy(secret, sync))
	require.Equal(t, "web", secret.Labels["team"])
	require.Equal(t, "zopp-operator", secret.Labels[managedByLabel])
	require.Equal(t, "yes", secret.Annotations["example.com/note"])
	require.Equal(t, "true", secret.Annotations[v1alpha1.ManagedAnnotation])
	require.Equal(t, "Synced", secret.Annotations[v1alpha1.StatusAnnotation])

	o.server.set(backend, "OTHER", "two")
	o.server.unset(backend, "KEY")
	o.reconcile()
	require.Equal(t, values{"OTHER": "two"}, texts(o.secretIn("default").Data))
}

// Defects D8 and D9: nothing is written and no workload is restarted if nothing has changed;
// transition times change with transitions only.
func TestSyncWritesNothingAtRest(t *testing.T) {
	o := newOffice(t, syncInto(""), deploymentOf("app", using["envFrom"], reloading))
	o.server.set(backend, "KEY", "one")
	before, secret := o.reconcile(), o.secretIn("default")
	o.restart()
	o.desk.writes = 0
	after := o.reconcile()
	require.Equal(t, before, after)
	require.Equal(t, secret, o.secretIn("default"))
	require.Zero(t, o.desk.writes)
	o.desk.reload()
	rolled := o.rolled("app")
	o.reconcile()
	o.desk.reload()
	require.Equal(t, rolled, o.rolled("app"))

	o.server.set(backend, "KEY", "two")
	after = o.reconcile()
	require.Equal(t, ready(t, before).LastTransitionTime, ready(t, after).LastTransitionTime)
	require.EqualValues(t, 2, after.Status.LastSyncVersion)
}

// Defect D10: a Secret that is deleted or edited is restored immediately.
func TestSyncHasItsSecretBack(t *testing.T) {
	o := newOffice(t, syncInto(""))
	o.server.set(backend, "KEY", "one")
	o.reconcile()
	require.NoError(t, o.desk.client.Delete(t.Context(), o.secretIn("default")))
	o.reconcile()
	require.Equal(t, values{"KEY": "one"}, texts(o.secretIn("default").Data))
	o.edit(func(s *corev1.Secret) {
		s.Data = bytesOf(values{"KEY": "by hand", "USERS": "own"})
		delete(s.Labels, "team")
	})
	o.reconcile()
	require.Equal(t, values{"KEY": "one", "USERS": "own"}, texts(o.secretIn("default").Data))
	require.Equal(t, "web", o.secretIn("default").Labels["team"])
}

// Defect D12: a foreign Secret is left alone, and the status reports it.
func TestSyncLeavesAForeignSecretAlone(t *testing.T) {
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app-secrets", Labels: values{ownerLabel: "another"}}, Data: bytesOf(values{"KEY": "own"})}
	o := newOffice(t, syncInto(""), foreign)
	o.server.set(backend, "KEY", "one")
	sync := o.reconcile()
	require.Equal(t, "NotOwned", ready(t, sync).Reason)
	require.Equal(t, "Secret app-secrets does not belong to this object and is left alone: take another name in spec.target.secretName, or delete that one", ready(t, sync).Message)
	require.True(t, meta.IsStatusConditionTrue(sync.Status.Conditions, v1alpha1.ConditionStalled))
	require.Equal(t, values{"KEY": "own"}, texts(o.secretIn("default").Data))
	require.Empty(t, o.syncReconciler.hub.usesNow())
	require.NoError(t, o.desk.client.Delete(t.Context(), o.secretIn("default")))
	require.Equal(t, "SyncSuccess", ready(t, o.reconcile()).Reason)
}

func TestSyncTakesOverWhatTheOriginalOperatorMade(t *testing.T) {
	legacy := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "app-secrets", Labels: values{managedByLabel: legacyManager}, Annotations: values{v1alpha1.ManagedAnnotation: "true"},
	}}
	o := newOffice(t, syncInto(""))
	legacy.Data = bytesOf(values{"KEY": "one", "LEFTOVER": "old"})
	require.NoError(t, o.desk.client.Create(t.Context(), legacy, client.FieldOwner(legacyManager)))
	o.server.set(backend, "KEY", "one")
	require.Equal(t, "SyncSuccess", ready(t, o.reconcile()).Reason)
	require.Equal(t, values{"KEY": "one"}, texts(o.secretIn("default").Data))
	require.True(t, metav1.IsControlledBy(o.secretIn("default"), o.stored()))
}

// Defect D13: a finalizer deletes the Secret in another namespace, since owner references do not
// work across namespaces.
func TestSyncIntoAnotherNamespace(t *testing.T) {
	o := newOffice(t, syncInto("shop"))
	o.server.set(backend, "KEY", "one")
	sync := o.reconcile()
	require.Equal(t, []string{v1alpha1.Finalizer}, sync.Finalizers)
	secret := o.secretIn("shop")
	require.Equal(t, "sync-uid", secret.Labels[ownerLabel])
	require.Equal(t, "default/sync", secret.Annotations[ownerAnnotation])
	require.Empty(t, secret.OwnerReferences)

	require.NoError(t, o.desk.client.Delete(t.Context(), sync))
	require.Nil(t, o.reconcile())
	require.Nil(t, o.secretIn("shop"))
	require.Empty(t, o.syncReconciler.hub.usesNow())
}

func TestSyncThatIsDeletedLeavesAForeignSecret(t *testing.T) {
	o := newOffice(t, syncInto("shop"))
	o.server.set(backend, "KEY", "one")
	sync := o.reconcile()
	secret := o.secretIn("shop")
	delete(secret.Labels, ownerLabel) // another owner has adopted it
	require.NoError(t, o.desk.client.Update(t.Context(), secret))
	require.NoError(t, o.desk.client.Delete(t.Context(), sync))
	require.Nil(t, o.reconcile())
	require.NotNil(t, o.secretIn("shop"))
}

func TestSyncThatNamesAnotherSecret(t *testing.T) {
	o := newOffice(t, syncInto("shop"))
	o.server.set(backend, "KEY", "one")
	sync := o.reconcile()
	sync.Spec.Target.Namespace = "web"
	require.NoError(t, o.desk.client.Update(t.Context(), sync))
	sync = o.reconcile()
	require.Nil(t, o.secretIn("shop"))
	require.Equal(t, values{"KEY": "one"}, texts(o.secretIn("web").Data))
	require.Equal(t, &v1alpha1.WrittenTarget{Namespace: "web", SecretName: "app-secrets"}, sync.Status.Target)
}

func TestSyncIsSuspended(t *testing.T) {
	o := newOffice(t, syncInto(""))
	o.server.set(backend, "KEY", "one")
	sync := o.reconcile()
	sync.Spec.Suspend = true
	require.NoError(t, o.desk.client.Update(t.Context(), sync))
	require.Equal(t, "Suspended", ready(t, o.reconcile()).Reason)
	require.Empty(t, o.syncReconciler.hub.usesNow())
	require.Equal(t, values{"KEY": "one"}, texts(o.secretIn("default").Data))
}

func TestSyncIsDenied(t *testing.T) {
	o := newOffice(t, syncInto("shop"))
	o.denied = "namespace shop accepts no Secrets from default"
	sync := o.reconcile()
	require.Equal(t, "Denied", ready(t, sync).Reason)
	require.True(t, meta.IsStatusConditionFalse(sync.Status.Conditions, v1alpha1.ConditionAdmitted))
	require.Nil(t, o.secretIn("shop"))
	require.Zero(t, o.server.lists)
	require.Empty(t, sync.Finalizers)
	o.denied = ""
	sync = o.reconcile()
	require.Equal(t, "SyncSuccess", ready(t, sync).Reason)
	require.False(t, meta.IsStatusConditionTrue(sync.Status.Conditions, v1alpha1.ConditionStalled))
}

// A Secret whose permission is withdrawn reports it in its annotations, and keeps its values.
func TestSyncThatIsDeniedLater(t *testing.T) {
	for _, namespace := range []string{"default", "shop"} {
		t.Run(namespace, func(t *testing.T) {
			o := newOffice(t, syncInto(namespace))
			o.server.set(backend, "KEY", "one")
			require.Equal(t, "SyncSuccess", ready(t, o.reconcile()).Reason)
			o.denied = "not permitted any more"
			sync := o.stored()
			sync.Spec.Target.Labels, sync.Spec.Target.Annotations = values{"team": "other"}, values{"zopp.dev/sync": "true"}
			require.NoError(t, o.desk.client.Update(t.Context(), sync))
			o.server.set(backend, "KEY", "two")
			require.Equal(t, "Denied", ready(t, o.reconcile()).Reason)
			denied := o.secretIn(namespace)
			require.Equal(t, values{"KEY": "one"}, texts(denied.Data))
			require.Equal(t, "Denied", denied.Annotations[v1alpha1.StatusAnnotation])
			require.Equal(t, "web", denied.Labels["team"], "nothing that is denied is carried out")
			require.NotContains(t, denied.Annotations, "zopp.dev/sync")
			require.Equal(t, "not permitted any more", denied.Annotations[v1alpha1.MessageAnnotation])
			o.reconcile()
			require.Equal(t, denied.ResourceVersion, o.secretIn(namespace).ResourceVersion, "it is said once")
			o.denied = ""
			require.Equal(t, "SyncSuccess", ready(t, o.reconcile()).Reason)
			require.Equal(t, values{"KEY": "two"}, texts(o.secretIn(namespace).Data))
			require.Equal(t, "Synced", o.secretIn(namespace).Annotations[v1alpha1.StatusAnnotation])
		})
	}
}

// A denial is not written to a foreign Secret.
func TestSyncThatIsDeniedLeavesAForeignSecretAlone(t *testing.T) {
	o := newOffice(t, syncInto(""), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app-secrets"}})
	o.denied = "no"
	before := o.secretIn("default").ResourceVersion
	require.Equal(t, "Denied", ready(t, o.reconcile()).Reason)
	require.Equal(t, before, o.secretIn("default").ResourceVersion)
}

// No Secret is created from an environment that cannot be read.
func TestSyncOfWhatCannotBeRead(t *testing.T) {
	for reason, is := range map[store.Reason]string{
		store.ReasonUnreachable: "ConnectionFailed", store.ReasonServerFailed: "ConnectionFailed",
		store.ReasonUnauthenticated: "CredentialsInvalid", store.ReasonInvalidCredentials: "CredentialsInvalid",
		store.ReasonUndecryptable: "DecryptionFailed", store.ReasonNotFound: "SyncFailed", store.ReasonDenied: "SyncFailed",
	} {
		t.Run(string(reason), func(t *testing.T) {
			o := newOffice(t, syncInto(""))
			o.server.set(backend, "KEY", "one")
			o.server.fail(&store.Error{Reason: reason, Message: "no"})
			sync := o.reconcile()
			require.Equal(t, is, ready(t, sync).Reason)
			require.Contains(t, ready(t, sync).Message, "there is no Secret yet: acme/backend/production cannot be read: no")
			require.Nil(t, o.secretIn("default"))
			require.Equal(t, slices.Contains([]string{"ConnectionFailed"}, is), !meta.IsStatusConditionTrue(sync.Status.Conditions, v1alpha1.ConditionStalled))
			o.server.fail(nil)
			require.Equal(t, "SyncSuccess", ready(t, o.reconcile()).Reason)
		})
	}
}

func TestSyncGone(t *testing.T) {
	o := newOffice(t, syncInto(""))
	o.reconcile()
	require.Len(t, o.syncReconciler.hub.usesNow(), 1)
	require.NoError(t, o.desk.client.Delete(t.Context(), o.stored()))
	require.Nil(t, o.reconcile())
	require.Empty(t, o.syncReconciler.hub.usesNow())
}

func TestSyncWhoseSecretTheAPIServerRefuses(t *testing.T) {
	o := newOffice(t, syncInto(""))
	o.server.set(backend, "KEY", "one")
	refusing := interceptor.NewClient(o.desk.client.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(corev1.Resource("secrets"), "app-secrets", errors.New("exceeded quota"))
		},
	})
	allowed := o.syncReconciler.writer.client
	o.syncReconciler.writer.client = refusing
	require.Eventually(t, func() bool {
		result, err := o.syncReconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: syncKey})
		require.NoError(t, err)
		return result.RequeueAfter == refusedDelay
	}, 2*time.Minute, time.Millisecond)
	require.Equal(t, "SyncFailed", ready(t, o.stored()).Reason)
	require.Contains(t, ready(t, o.stored()).Message, "exceeded quota")
	o.syncReconciler.writer.client = allowed
	require.Equal(t, "SyncSuccess", ready(t, o.reconcile()).Reason)
}
