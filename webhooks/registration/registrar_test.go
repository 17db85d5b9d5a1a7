package registration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/rules"
)

func accept(context.Context, *admission.Review) (*rules.Answer, error) { return &rules.Answer{}, nil }

// snapshotOf is a snapshot of one source that denies ConfigMaps, and labels them.
func snapshotOf(t *testing.T, policy definition.FailurePolicy) *engine.Snapshot {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: "team", FailurePolicy: policy, Files: map[string]string{"team.rego": `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: ConfigMap}]}
package team

import rego.v1

deny contains "no"

defaults := {"metadata": {"labels": {"checked": "yes"}}}
`}})
	require.NoError(t, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set)
}

// unregister deletes both configurations.
func unregister(t *testing.T, c client.Client) {
	t.Helper()
	name := metav1.ObjectMeta{Name: ConfigurationName}
	require.NoError(t, c.Delete(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name}))
	require.NoError(t, c.Delete(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name}))
}

func reconcileOnce(t *testing.T, r *Registrar) {
	t.Helper()
	_, err := r.Reconcile(t.Context(), reconcile.Request{})
	require.NoError(t, err)
}

// platform is the Namespace that Lintel is installed in.
func platform() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lintel-system", UID: "platform", Finalizers: []string{"kubernetes"}}}
}

// TestNothingIsRegisteredForANamespaceThatGoes: nobody would answer, and nobody would
// take the configurations away.
func TestNothingIsRegisteredForANamespaceThatGoes(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(platform()).Build()
	var live atomic.Pointer[engine.Snapshot]
	live.Store(snapshotOf(t, definition.Fail))
	r := NewRegistrar(c, c, live.Load, nil, Settings{Namespace: "lintel-system"})
	reconcileOnce(t, r)
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	key := client.ObjectKey{Name: ConfigurationName}
	require.NoError(t, c.Get(t.Context(), key, &validating))
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "lintel-system", UID: "platform"}}, validating.OwnerReferences)

	unregister(t, c)
	require.NoError(t, c.Delete(t.Context(), platform()))
	reconcileOnce(t, r)
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), key, &validating)), "the namespace is on its way out")
	going := platform()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(going), going))
	going.Finalizers = nil
	require.NoError(t, c.Update(t.Context(), going))
	reconcileOnce(t, r)
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), key, &validating)), "and then it is gone")
}

// TestTheConfigurationsGoWithTheManifests: whoever deletes those first, or the Namespace,
// leaves nothing behind that asks for managers that are gone.
func TestTheConfigurationsGoWithTheManifests(t *testing.T) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "lintel-webhooks", UID: "role"}}
	c := fake.NewClientBuilder().WithObjects(platform(), role).Build()
	var live atomic.Pointer[engine.Snapshot]
	live.Store(snapshotOf(t, definition.Fail))
	r := NewRegistrar(c, c, live.Load, nil, Settings{Namespace: "lintel-system"})
	reconcileOnce(t, r)
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	key := client.ObjectKey{Name: ConfigurationName}
	require.NoError(t, c.Get(t.Context(), key, &validating))
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "lintel-webhooks", UID: "role"}}, validating.OwnerReferences)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(role), role))
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "lintel-system", UID: "platform"}}, role.OwnerReferences)
	version := role.ResourceVersion
	reconcileOnce(t, r)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(role), role))
	require.Equal(t, version, role.ResourceVersion, "nothing is written when nothing has changed")

	// Roles of an earlier version do not permit to read it.
	forbidding := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if key.Name == "lintel-webhooks" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "clusterroles"}, key.Name, nil)
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	_, err := NewRegistrar(c, forbidding, live.Load, nil, Settings{Namespace: "lintel-system"}).Reconcile(t.Context(), reconcile.Request{})
	require.NoError(t, err)
	require.NoError(t, c.Get(t.Context(), key, &validating))
	require.Equal(t, "Namespace", validating.OwnerReferences[0].Kind)

}

// TestTheConfigurationsComeBackWithoutTheirOwner: the garbage collector deletes them with the
// ClusterRole, and Lintel may have been taken out, or somebody may have deleted only that.
func TestTheConfigurationsComeBackWithoutTheirOwner(t *testing.T) {
	role := func() *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "lintel-webhooks", UID: "role"}}
	}
	c := fake.NewClientBuilder().WithObjects(platform(), role()).Build()
	snapshot := snapshotOf(t, definition.Fail)
	r := NewRegistrar(c, c, func() *engine.Snapshot { return snapshot }, nil, Settings{Namespace: "lintel-system"})
	clock := time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)
	r.now = func() time.Time { return clock }
	changes := 0
	r.OnChange(func() { changes++ })
	reconcile := func() time.Duration {
		result, err := r.Reconcile(t.Context(), reconcile.Request{})
		require.NoError(t, err)
		return result.RequeueAfter
	}
	unregistered := func() (why string, lost bool) { return r.Unregistered(snapshot.Digest()) }
	reconcile()
	reconcile()
	why, _ := unregistered()
	require.Empty(t, why)
	require.Equal(t, 1, changes)

	require.NoError(t, c.Delete(t.Context(), role()))
	unregister(t, c)
	require.Equal(t, ownerGrace, reconcile())
	why, lost := unregistered()
	require.Equal(t, "the validating webhook configuration lintel was deleted, so nothing is enforced", why)
	require.True(t, lost)
	require.Equal(t, 2, changes)
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	key := client.ObjectKey{Name: ConfigurationName}
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), key, &validating)), "who takes Lintel out has some time")

	clock = clock.Add(ownerGrace)
	require.Zero(t, reconcile())
	require.NoError(t, c.Get(t.Context(), key, &validating))
	require.Equal(t, "Namespace", validating.OwnerReferences[0].Kind, "an owner that exists")
	reconcile()
	why, _ = unregistered()
	require.Empty(t, why)
	require.Equal(t, 3, changes)

	require.NoError(t, c.Create(t.Context(), role()))
	reconcile()
	require.NoError(t, c.Get(t.Context(), key, &validating))
	require.Equal(t, "ClusterRole", validating.OwnerReferences[0].Kind)

	r.Drain()
	unregister(t, c)
	reconcile()
	why, lost = unregistered()
	require.Contains(t, why, "was deleted")
	require.True(t, lost)
}

// TestAConfigurationThatCannotBeWritten: what is registered is not what should be.
func TestAConfigurationThatCannotBeWritten(t *testing.T) {
	forbidden := false
	c := fake.NewClientBuilder().WithObjects(platform()).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if forbidden {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "validatingwebhookconfigurations"}, "lintel", nil)
			}
			return c.Apply(ctx, config, options...)
		},
	}).Build()
	snapshot := snapshotOf(t, definition.Fail)
	r := NewRegistrar(c, c, func() *engine.Snapshot { return snapshot }, nil, Settings{Namespace: "lintel-system"})
	reconcileOnce(t, r)
	reconcileOnce(t, r)
	forbidden = true
	unregister(t, c)
	_, err := r.Reconcile(t.Context(), reconcile.Request{})
	require.Error(t, err)
	why, lost := r.Unregistered(snapshot.Digest())
	require.Contains(t, why, "the webhook configurations cannot be written: ")
	require.True(t, lost)
}

func TestRegistrarWritesOnlyDifferences(t *testing.T) {
	applied := 0
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			applied++
			return c.Apply(ctx, config, options...)
		},
	}).WithObjects(platform()).Build()
	var live atomic.Pointer[engine.Snapshot]
	r := NewRegistrar(c, c, live.Load, []rules.Product{{Name: "a", Entry: "a.example.com", Validate: accept}},
		Settings{Namespace: "lintel-system"})
	registered := 0
	r.OnChange(func() { registered++ })
	missing := func(s *engine.Snapshot) string { why, _ := r.Unregistered(s.Digest()); return why }
	reconcileOnce := func() int {
		t.Helper()
		applied = 0
		_, err := r.Reconcile(t.Context(), reconcile.Request{})
		require.NoError(t, err)
		return applied
	}
	assert.Zero(t, reconcileOnce(), "no policies are loaded yet: what is registered stays")

	live.Store(engine.NewSnapshot(admission.BuiltinResources()))
	assert.Equal(t, 2, reconcileOnce())
	assert.Zero(t, reconcileOnce())

	live.Store(snapshotOf(t, definition.Fail))
	assert.Equal(t, 2, reconcileOnce())
	assert.NotEmpty(t, missing(live.Load()), "not before it was read back")
	assert.Zero(t, reconcileOnce())
	assert.Empty(t, missing(live.Load()))
	assert.Equal(t, 2, registered, "once for each snapshot")

	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	key := client.ObjectKey{Name: ConfigurationName}
	require.NoError(t, c.Get(t.Context(), key, &validating))
	assert.Equal(t, []string{"/v1 Namespaced CREATE,UPDATE configmaps"}, rulesText(validating.Webhooks[2].Rules))
	validating.Webhooks[2].Rules = nil
	require.NoError(t, c.Update(t.Context(), &validating))
	assert.Equal(t, 1, reconcileOnce(), "drift is put right")
	require.NoError(t, c.Get(t.Context(), key, &validating))
	assert.NotEmpty(t, validating.Webhooks[2].Rules)

	unregister(t, c)
	assert.Equal(t, 2, reconcileOnce())

	r.Drain()
	live.Store(snapshotOf(t, definition.Ignore))
	assert.Equal(t, 2, reconcileOnce(), "policies still change")
	unregister(t, c)
	assert.Zero(t, reconcileOnce(), "who deletes them wants to be rid of them")
}

// TestANewEntryWaitsForItsCA: until it has one the others go on, and it is for nothing.
func TestANewEntryWaitsForItsCA(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(platform()).Build()
	var live atomic.Pointer[engine.Snapshot]
	live.Store(snapshotOf(t, definition.Fail))
	one := policySources
	other := rules.Product{Name: "other", Entry: "other.example.com", Rules: policySources.Rules, Validate: accept}
	entries := func() (all []string) {
		var validating admissionregistrationv1.ValidatingWebhookConfiguration
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: ConfigurationName}, &validating))
		for _, entry := range validating.Webhooks {
			all = append(all, fmt.Sprint(entry.Name, " ", len(entry.Rules)))
		}
		return all
	}
	inject := func() {
		var validating admissionregistrationv1.ValidatingWebhookConfiguration
		var mutating admissionregistrationv1.MutatingWebhookConfiguration
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: ConfigurationName}, &validating))
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: ConfigurationName}, &mutating))
		for i := range validating.Webhooks {
			validating.Webhooks[i].ClientConfig.CABundle = []byte("CA")
		}
		for i := range mutating.Webhooks {
			mutating.Webhooks[i].ClientConfig.CABundle = []byte("CA")
		}
		require.NoError(t, c.Update(t.Context(), &validating))
		require.NoError(t, c.Update(t.Context(), &mutating))
	}
	settings := Settings{Namespace: "lintel-system", InjectCA: true}
	older := NewRegistrar(c, c, live.Load, []rules.Product{one}, settings)
	reconcileOnce(t, older)
	assert.Equal(t, []string{"policysource.policy.lintel.dev 0", "ignore.policies.lintel.dev 0", "fail.policies.lintel.dev 0"}, entries())
	inject()
	reconcileOnce(t, older)
	assert.Equal(t, []string{"policysource.policy.lintel.dev 1", "ignore.policies.lintel.dev 0", "fail.policies.lintel.dev 1"}, entries())

	newer := NewRegistrar(c, c, live.Load, []rules.Product{one, other}, settings)
	for range 2 {
		reconcileOnce(t, newer)
		assert.Equal(t, []string{"other.example.com 0", "policysource.policy.lintel.dev 1", "ignore.policies.lintel.dev 0", "fail.policies.lintel.dev 1"}, entries())
		why, _ := newer.Unregistered(live.Load().Digest())
		assert.NotEmpty(t, why)
	}
	inject()
	for range 2 {
		reconcileOnce(t, newer)
	}
	assert.Equal(t, []string{"other.example.com 1", "policysource.policy.lintel.dev 1", "ignore.policies.lintel.dev 0", "fail.policies.lintel.dev 1"}, entries())
	why, _ := newer.Unregistered(live.Load().Digest())
	assert.Empty(t, why)
}

// TestNothingIsRegisteredForARoleThatGoes: what it owns would go with it.
func TestNothingIsRegisteredForARoleThatGoes(t *testing.T) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "lintel-webhooks", UID: "role", Finalizers: []string{"example.com/kept"}}}
	c := fake.NewClientBuilder().WithObjects(platform(), role).Build()
	require.NoError(t, c.Delete(t.Context(), role))
	snapshot := snapshotOf(t, definition.Fail)
	reconcileOnce(t, NewRegistrar(c, c, func() *engine.Snapshot { return snapshot }, nil, Settings{Namespace: "lintel-system"}))
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKey{Name: ConfigurationName}, &validating)))
}

// TestAnEntryThatCannotBeDroppedStaysWithoutRules: the CA injector owns its bundle, and an
// entry without the rest is not valid.
func TestAnEntryThatCannotBeDroppedStaysWithoutRules(t *testing.T) {
	snapshot := snapshotOf(t, definition.Fail)
	live := func() *engine.Snapshot { return snapshot }
	settings := Settings{Namespace: "lintel-system", CABundle: []byte("CA")}
	applied := 0
	c := fake.NewClientBuilder().WithObjects(platform()).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			text, err := json.Marshal(config)
			require.NoError(t, err)
			applied++
			if strings.Contains(string(text), `"ValidatingWebhookConfiguration"`) && !strings.Contains(string(text), policySources.Entry) {
				return apierrors.NewInvalid(schema.GroupKind{Kind: "ValidatingWebhookConfiguration"}, ConfigurationName, nil)
			}
			return c.Apply(ctx, config, options...)
		},
	}).Build()
	reconcileOnce(t, NewRegistrar(c, c, live, []rules.Product{policySources}, settings))
	newer := NewRegistrar(c, c, live, nil, settings)
	reconcileOnce(t, newer)
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: ConfigurationName}, &validating))
	kept := 0
	for _, entry := range validating.Webhooks {
		if entry.Name == policySources.Entry {
			kept++
			require.Empty(t, entry.Rules)
		}
	}
	require.Equal(t, 1, kept)
	before := applied
	reconcileOnce(t, newer)
	require.Equal(t, before, applied, "an entry that is never called may stay")
}

// TestABundleOfOurOwnIsKept, as it is given: there is nobody else to put it right.
func TestABundleOfOurOwnIsKept(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(platform()).Build()
	snapshot := snapshotOf(t, definition.Fail)
	for _, bundle := range []string{"old", "new"} {
		reconcileOnce(t, NewRegistrar(c, c, func() *engine.Snapshot { return snapshot }, nil, Settings{Namespace: "lintel-system", CABundle: []byte(bundle)}))
		var validating admissionregistrationv1.ValidatingWebhookConfiguration
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: ConfigurationName}, &validating))
		require.Equal(t, bundle, string(validating.Webhooks[0].ClientConfig.CABundle))
	}
}

// teamSnapshot is a snapshot of an enterprise's source and a team's.
func teamSnapshot(t *testing.T) *engine.Snapshot {
	t.Helper()
	compile := func(name, kind string, scope hierarchy.Scope) *engine.PolicySet {
		set, err := policyset.Compile(definition.Source{Name: name, FailurePolicy: definition.Fail, Scope: scope, Files: map[string]string{
			name + ".rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: " + kind + "}]}\npackage " + name + "\ndeny contains \"no\"",
		}})
		require.NoError(t, err)
		return set
	}
	return engine.NewSnapshot(admission.BuiltinResources(), compile("acme", "ConfigMap", hierarchy.Scope{Level: hierarchy.Enterprise}),
		compile("shop", "Secret", hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Namespaces: []string{"shop"}}))
}

// TestPoliciesOfScopesMoveToTheirConfigurations: an earlier version registered them in the
// fixed entries, where they stay until the configurations of the scopes can be called.
func TestPoliciesOfScopesMoveToTheirConfigurations(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(platform()).Build()
	snapshot := teamSnapshot(t)
	settings := Settings{Namespace: "lintel-system", InjectCA: true}
	earlier, err := fixedPair(snapshot.Policies(), snapshot.Resources(), nil, settings)
	require.NoError(t, err)
	bundle := func(pair Pair) {
		for i := range pair.Validating.Webhooks {
			pair.Validating.Webhooks[i].ClientConfig.CABundle = []byte("CA")
		}
		for i := range pair.Mutating.Webhooks {
			pair.Mutating.Webhooks[i].ClientConfig.CABundle = []byte("CA")
		}
	}
	bundle(earlier)
	require.NoError(t, c.Create(t.Context(), earlier.Validating))
	require.NoError(t, c.Create(t.Context(), earlier.Mutating))
	read := func(name string) (pair Pair) {
		pair = Pair{&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: name}, pair.Validating))
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: name}, pair.Mutating))
		return pair
	}
	called := func(name string) []string { return rulesText(read(name).Validating.Webhooks[1].Rules) }

	r := NewRegistrar(c, c, func() *engine.Snapshot { return snapshot }, nil, settings)
	for range 2 {
		reconcileOnce(t, r)
		require.Equal(t, []string{"/v1 Namespaced CREATE,UPDATE configmaps,secrets"}, called("lintel"))
		require.Empty(t, called("lintel-team-shop"), "the API server has no CA for them")
	}
	injected := read("lintel-team-shop")
	bundle(injected)
	require.NoError(t, c.Update(t.Context(), injected.Validating))
	require.NoError(t, c.Update(t.Context(), injected.Mutating))
	reconcileOnce(t, r)
	require.Equal(t, []string{"/v1 Namespaced CREATE,UPDATE configmaps,secrets"}, called("lintel"), "not before they were read back")
	require.Equal(t, []string{"/v1 Namespaced CREATE,UPDATE secrets"}, called("lintel-team-shop"))
	for range 2 {
		reconcileOnce(t, r)
	}
	require.Equal(t, []string{"/v1 Namespaced CREATE,UPDATE configmaps"}, called("lintel"))
	why, _ := r.Unregistered(snapshot.Digest())
	require.Empty(t, why)
}

// TestConfigurationsOfScopesThatAreGone are deleted, and nothing that Lintel did not create.
func TestConfigurationsOfScopesThatAreGone(t *testing.T) {
	foreign := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "lintel-team-other"}}
	orphan := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: "lintel-team-gone", Labels: map[string]string{managedByLabel: "lintel", ScopeLabel: "team-gone"},
	}}
	c := fake.NewClientBuilder().WithObjects(platform(), foreign, orphan).Build()
	snapshot := teamSnapshot(t)
	reconcileOnce(t, NewRegistrar(c, c, func() *engine.Snapshot { return snapshot }, nil, Settings{Namespace: "lintel-system"}))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(orphan), orphan)))
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "lintel-team-shop"}, orphan))
	require.Equal(t, "Namespace", orphan.OwnerReferences[0].Kind, "all are deleted with one owner")
}

// TestAScopeThatCannotBeWritten keeps the enterprise's policies from nothing.
func TestAScopeThatCannotBeWritten(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(platform()).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if text, err := json.Marshal(config); err != nil || strings.Contains(string(text), "lintel-team-shop") {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "validatingwebhookconfigurations"}, "lintel-team-shop", err)
			}
			return c.Apply(ctx, config, options...)
		},
	}).Build()
	snapshot := teamSnapshot(t)
	r := NewRegistrar(c, c, func() *engine.Snapshot { return snapshot }, nil, Settings{Namespace: "lintel-system"})
	_, err := r.Reconcile(t.Context(), reconcile.Request{})
	require.ErrorContains(t, err, "applying the validating webhook configuration lintel-team-shop")
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: ConfigurationName}, &validating))
	require.Equal(t, []string{"/v1 Namespaced CREATE,UPDATE configmaps"}, rulesText(validating.Webhooks[1].Rules))
	why, _ := r.Unregistered(snapshot.Digest())
	require.Contains(t, why, "cannot be written")
}

func TestSnapshotChangedNeverBlocks(*testing.T) {
	r := NewRegistrar(nil, nil, nil, nil, Settings{})
	for range 100 {
		r.SnapshotChanged()
	}
}
