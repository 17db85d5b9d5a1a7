package zopp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
	"github.com/lintel-policy/lintel/test/reviews"
)

var acmeBackend = v1alpha1.Source{Workspace: "acme", Project: "backend", Environment: "production"}

// madeAt is a second of a day.
func madeAt(second int) metav1.Time { return metav1.Unix(int64(second), 0) }

func secretMadeAt(name string, made int) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", UID: "s", CreationTimestamp: madeAt(made),
			Annotations: map[string]string{v1alpha1.SyncAnnotation: "true", v1alpha1.SourcesAnnotation: "acme/backend/production"},
		},
	}
}

func syncMadeAt(namespace, name, target string, made int) *v1alpha1.ZoppSecretSync {
	return &v1alpha1.ZoppSecretSync{
		TypeMeta:   metav1.TypeMeta{APIVersion: "zopp.dev/v1alpha1", Kind: "ZoppSecretSync"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: "z", CreationTimestamp: madeAt(made)},
		Spec:       v1alpha1.ZoppSecretSyncSpec{Source: &acmeBackend, Target: v1alpha1.Target{SecretName: target, Namespace: "shop"}},
	}
}

// stored finds Namespaces in a cluster.
type stored struct{ client.Reader }

func (s stored) Namespace(ctx context.Context, name string) ([]byte, error) {
	var namespace corev1.Namespace
	if err := s.Get(ctx, client.ObjectKey{Name: name}, &namespace); err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	return json.Marshal(&namespace)
}

// newAdmitter returns an admitter for a cluster with these objects and the Namespaces shop,
// which accepts Secrets from ops, and ops.
func newAdmitter(t *testing.T, with ...client.Object) *admitter {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{v1alpha1.AcceptFromNamespacesAnnotation: "ops"}}}
	ops := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ops"}}
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(with, shop, ops)...).
		WithIndex(&v1alpha1.ZoppSecretSync{}, targetIndex, targets).Build()
	snapshot, err := rules.New()
	require.NoError(t, err)
	return &admitter{
		settings: settings{secretSyncs: true}, rules: snapshot, mapping: rules.Open,
		objects: objects, namespaces: stored{objects},
	}
}

// TestOfTwoThatFillOneSecretTheLaterIsDenied covers all combinations of kinds. Both objects get
// the same message.
func TestOfTwoThatFillOneSecretTheLaterIsDenied(t *testing.T) {
	const bySecret = "spec.target.secretName: annotation zopp.dev/sync of the Secret fills Secret shop/app already; take another name, or take that annotation out"
	const bySync = "metadata.annotations[zopp.dev/sync]: ZoppSecretSync shop/all fills this Secret already; take the annotation out, or delete that one"
	for name, c := range map[string]struct {
		first, second builtin.Object
		denied        string
	}{
		"annotations first":  {secretMadeAt("app", 1), syncMadeAt("shop", "all", "app", 2), bySecret},
		"in the same second": {secretMadeAt("app", 1), syncMadeAt("shop", "all", "app", 1), bySecret},
		"a ZoppSecretSync first, which may have made the Secret": {syncMadeAt("shop", "all", "app", 1), secretMadeAt("app", 2), bySync},
		"a ZoppSecretSync that has made the Secret in the same second": {
			syncMadeAt("shop", "all", "app", 1), madeFor(syncMadeAt("shop", "all", "app", 1), secretMadeAt("app", 1)), bySync,
		},
		"two ZoppSecretSyncs": {
			syncMadeAt("ops", "z", "app", 1), syncMadeAt("shop", "a", "app", 2),
			"spec.target.secretName: ZoppSecretSync ops/z fills Secret shop/app already; take another name, or delete that one",
		},
		"two in the same second": {
			syncMadeAt("ops", "z", "app", 1), syncMadeAt("shop", "a", "app", 1),
			"spec.target.secretName: ZoppSecretSync ops/z fills Secret shop/app already; take another name, or delete that one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdmitter(t, c.first.DeepCopyObject().(client.Object), c.second.DeepCopyObject().(client.Object))
			verdict, err := a.admit(t.Context(), c.first)
			require.NoError(t, err)
			require.Empty(t, verdict.Message())
			verdict, err = a.admit(t.Context(), c.second)
			require.NoError(t, err)
			require.Equal(t, c.denied, verdict.Message())
		})
	}
}

func madeFor(sync *v1alpha1.ZoppSecretSync, secret *corev1.Secret) *corev1.Secret {
	secret.Labels = map[string]string{ownerLabel: string(sync.UID)}
	return secret
}

func TestWhoIsGoingFillsNothing(t *testing.T) {
	going := syncMadeAt("shop", "all", "app", 1)
	going.Finalizers, going.DeletionTimestamp = []string{v1alpha1.Finalizer}, new(madeAt(2))
	a := newAdmitter(t, going, secretMadeAt("app", 3))
	verdict, err := a.admit(t.Context(), secretMadeAt("app", 3))
	require.NoError(t, err)
	require.Empty(t, verdict.Message())
}

// TestReviewsOfWhoComesLater: a claim is looked for where something begins to be filled, and
// not where it was filled before.
func TestReviewsOfWhoComesLater(t *testing.T) {
	a := newAdmitter(t, secretMadeAt("app", 1), syncMadeAt("shop", "all", "other", 1))
	entries := a.products(true)
	secrets, syncs := entries[0].Validate, entries[1].Validate
	says := func(judge builtin.Evaluator, review *admission.Review) []string {
		t.Helper()
		answer, err := judge(t.Context(), review)
		require.NoError(t, err)
		return answer.Denials
	}
	created := func(of builtin.Object, resource string) *admission.Review {
		return reviews.MakeCreation(of.GetObjectKind().GroupVersionKind(), resource, of).Named(of.GetNamespace(), of.GetName()).Obj(t)
	}
	updated := func(old, of builtin.Object, resource string) *admission.Review {
		update := reviews.MakeCreation(of.GetObjectKind().GroupVersionKind(), resource, of).Named(of.GetNamespace(), of.GetName())
		update["operation"], update["oldObject"] = "UPDATE", old
		return update.Obj(t)
	}
	taken := secretMadeAt("other", 0)
	require.Equal(t, []string{"metadata.annotations[zopp.dev/sync]: ZoppSecretSync shop/all fills this Secret already; take the annotation out, or delete that one"},
		says(secrets, created(taken, "secrets")))
	plain := secretMadeAt("other", 0)
	plain.Annotations[v1alpha1.SyncAnnotation] = "false"
	require.Empty(t, says(secrets, created(plain, "secrets")))
	require.Len(t, says(secrets, updated(plain, taken, "secrets")), 1)
	require.Empty(t, says(secrets, updated(taken, taken, "secrets")), "it was filled before")

	const bySecret = "spec.target.secretName: annotation zopp.dev/sync of the Secret fills Secret shop/app already; take another name, or take that annotation out"
	later, moved := syncMadeAt("shop", "new", "app", 0), syncMadeAt("shop", "new", "elsewhere", 0)
	require.Equal(t, []string{bySecret}, says(syncs, created(later, "zoppsecretsyncs")))
	require.Empty(t, says(syncs, created(moved, "zoppsecretsyncs")))
	require.Equal(t, []string{bySecret}, says(syncs, updated(moved, later, "zoppsecretsyncs")))
	require.Empty(t, says(syncs, updated(later, later, "zoppsecretsyncs")))
	require.Len(t, says(syncs, created(syncMadeAt("shop", "new", "other", 0), "zoppsecretsyncs")), 1)
}

// TestOtherNamespaces checks which other namespaces the namespace of a Secret accepts.
func TestOtherNamespaces(t *testing.T) {
	a := newAdmitter(t)
	ask := func(namespace, target string) string {
		t.Helper()
		sync := syncMadeAt(namespace, "all", "app", 1)
		sync.Spec.Target.Namespace = target
		verdict, err := a.admit(t.Context(), sync)
		require.NoError(t, err)
		return verdict.Message()
	}
	require.Empty(t, ask("ops", "shop"))
	require.Empty(t, ask("ops", ""))
	require.Empty(t, ask("ops", "ops"))
	require.Equal(t, `spec.target.namespace: namespace "ops" accepts no Secrets from namespace "shop"; an administrator allows it by kubectl annotate --overwrite namespace ops 'zopp.dev/accept-from-namespaces=shop'`, ask("shop", "ops"))
	require.Equal(t, `spec.target.namespace: there is no namespace "web"; make it first, or leave the field out for "ops"`, ask("ops", "web"))
	a.settings.namespaces = []string{"ops"}
	require.Equal(t, `spec.target.namespace: the manager does not look after namespace "shop"; add it to --zopp-namespaces, or leave the field out for "ops"`, ask("ops", "shop"))
	a.mapping = rules.Restricted
	require.Contains(t, ask("ops", ""), `namespace "ops" may not read acme/backend/production`)
}

// TestNothingIsDecidedWithoutAnAnswer checks that a read error is not a verdict.
func TestNothingIsDecidedWithoutAnAnswer(t *testing.T) {
	a := newAdmitter(t)
	busy := errors.New("busy")
	a.objects = interceptor.NewClient(a.objects.(client.WithWatch), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return busy },
	})
	for _, one := range []builtin.Object{secretMadeAt("app", 1), syncMadeAt("ops", "all", "app", 1)} {
		verdict, err := a.admit(t.Context(), one)
		require.ErrorIs(t, err, busy)
		require.False(t, verdict.Denied())
	}
	_, err := a.admit(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}})
	require.EqualError(t, err, "there are no rules of zopp for *v1.Pod")
}

// TestASwitchThatIsOffIsTold checks that applying a ZoppSecretSync warns where the controller
// for it is off.
func TestASwitchThatIsOffIsTold(t *testing.T) {
	for on, warned := range map[bool][]string{
		true:  nil,
		false: {"spec: nothing fills the Secret, since ZoppSecretSyncs are switched off; an administrator switches them on by --zopp-secret-syncs, or systems.zopp.secretSyncs of the chart"},
	} {
		a := newAdmitter(t)
		a.settings.secretSyncs = on
		sync := syncMadeAt("shop", "all", "app", 0)
		review := reviews.MakeCreation(sync.GroupVersionKind(), "zoppsecretsyncs", sync).Named("shop", "all").Obj(t)
		answer, err := a.products(true)[1].Validate(t.Context(), review)
		require.NoError(t, err)
		require.Empty(t, answer.Denials)
		require.Equal(t, warned, answer.Warnings)
	}
}

// TestEntriesNeverComeAndGo, and one that is off is called for nothing.
func TestEntriesNeverComeAndGo(t *testing.T) {
	a := newAdmitter(t)
	a.settings = settings{}
	names := func(on bool) (names []string, called int) {
		for _, product := range a.products(on) {
			names = append(names, product.Entry)
			called += len(product.Rules)
		}
		return names, called
	}
	all := []string{"secrets.zopp.dev", "zoppsecretsyncs.zopp.dev"}
	for on, rulesOf := range map[bool]int{false: 0, true: 2} {
		entries, called := names(on)
		require.Equal(t, all, entries)
		require.Equal(t, rulesOf, called)
	}
}

// TestTheCacheHoldsNoValues: neither those of Secrets, nor those that kubectl has noted.
func TestTheCacheHoldsNoValues(t *testing.T) {
	noted := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "HUNTER2", v1alpha1.SyncAnnotation: "true"}
	for _, annotations := range []map[string]string{noted, {"kubectl.kubernetes.io/last-applied-configuration": "HUNTER2"}} {
		metadata := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "app", ResourceVersion: "1", CreationTimestamp: metav1.NewTime(time.Unix(1, 0)), Annotations: annotations,
			Labels: map[string]string{"app": "shop"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		}}
		kept, err := trimmed(metadata)
		require.NoError(t, err)
		metadata = kept.(*metav1.PartialObjectMetadata)
		require.Equal(t, "1", metadata.ResourceVersion)
		require.Empty(t, metadata.ManagedFields)
		require.NotContains(t, metadata.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
		require.Equal(t, metadata.Annotations[v1alpha1.SyncAnnotation] == "true", len(metadata.Labels) == 1)
	}
	other, err := trimmed("a tombstone")
	require.NoError(t, err)
	require.Equal(t, "a tombstone", other)
}
