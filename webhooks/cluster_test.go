package webhooks

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// warnings collects what the API server passes on.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.texts, "\n")
}

// TestAgainstAnAPIServer runs everything of the webhooks beside a real API server.
func TestAgainstAnAPIServer(t *testing.T) {
	log.SetLogger(ctrl.Log.WithSink(nil))
	require.NoError(t, installation.Depend("test/cluster"))
	cluster, err := installation.StartCluster(t.Context(), filepath.Join(t.TempDir(), "cluster"), os.Stderr, "--without", "cert-manager")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Stop(context.Background())) })
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	require.NoError(t, err)

	heard := &warnings{}
	talkative := rest.CopyConfig(config)
	talkative.WarningHandlerWithContext = heard
	c, err := client.New(talkative, client.Options{Scheme: scheme.Scheme})
	require.NoError(t, err)
	ctx := t.Context()

	// The platform: everything that the manager would run.
	directory, ca := t.TempDir(), newAuthority(t, "serving")
	ca.issue(t, directory, 1, time.Now().Add(time.Hour), 1)
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	certificate := NewCertificate(Directory(directory), nil, newTestMetrics(t), logger)
	require.NoError(t, certificate.Reload(ctx))
	var live atomic.Pointer[engine.Snapshot]
	live.Store(compiled(t, definition.Fail, teamLabel))
	handler, err := NewHandler(HandlerOptions{
		Snapshot: live.Load, Namespaces: NewNamespaces(c, c), Metrics: newTestMetrics(t), Logger: logger,
	})
	require.NoError(t, err)
	server, end := startServer(t, ServerOptions{Handler: handler, Certificate: certificate})
	end = sync.OnceValue(end)
	defer func() { assert.NoError(t, end()) }()

	require.NoError(t, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lintel-system"}}))
	settings := registration.Settings{Namespace: "lintel-system", URL: "https://" + server.Address(), InjectCA: true}
	anything := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE"},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"policy.lintel.dev"}, APIVersions: []string{"*"}, Resources: []string{"*"}, Scope: new(admissionregistrationv1.AllScopes),
		},
	}}
	old := rules.Product{Name: "old", Entry: "old.policy.lintel.dev", Validate: accept, Rules: anything}
	registrar := registration.NewRegistrar(c, c, live.Load, []rules.Product{old}, settings)
	register := func() (registered bool) {
		t.Helper()
		_, err := registrar.Reconcile(ctx, reconcile.Request{})
		require.NoError(t, err)
		why, _ := registrar.Unregistered(live.Load().Digest())
		return why == ""
	}
	assert.False(t, register(), "what was written may not have arrived yet")
	assert.False(t, register(), "the API server cannot call without the bundle")
	assert.Empty(t, configurations(t, c).validating.Webhooks[0].Rules, "and so is not asked to")
	inject(t, c, ca.pem)
	assert.False(t, register(), "now the rules are written")
	assert.True(t, register())

	t.Run("registering again writes nothing", func(t *testing.T) {
		before := configurations(t, c)
		register()
		assert.Equal(t, before, configurations(t, c))
	})
	t.Run("an entry that is no longer wanted stays without rules", func(t *testing.T) {
		registrar = registration.NewRegistrar(c, c, live.Load, nil, settings)
		register()
		before := configurations(t, c)
		validating := before.validating.Webhooks
		require.Len(t, validating, 3)
		for _, webhook := range validating {
			assert.Equal(t, ca.pem, webhook.ClientConfig.CABundle, "the bundle stays the injector's")
			assert.Equal(t, webhook.Name == "fail.policies.lintel.dev", len(webhook.Rules) > 0, webhook.Name)
		}
		register()
		assert.Equal(t, before, configurations(t, c), "and is left alone")
	})

	object := func(name string, labels map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: name, Labels: labels}}
	}
	t.Run("deny", func(t *testing.T) {
		// The API server reads its webhooks from a watch.
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			err := c.Create(ctx, object("plain-", nil))
			assert.True(collect, apierrors.IsForbidden(err), err)
			assert.ErrorContains(collect, err, " has no team label [team.labels deny, team.rego:9, team@")
		}, 2*time.Minute, 50*time.Millisecond)
	})
	t.Run("default and warn", func(t *testing.T) {
		mine := object("labelled-", map[string]string{"team": "A"})
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			attempt := mine.DeepCopy()
			assert.NoError(collect, c.Create(ctx, attempt))
			assert.Equal(collect, "yes", attempt.Labels["checked"])
		}, 2*time.Minute, 50*time.Millisecond)
		assert.Contains(t, heard.all(), "labels are lower case [team.labels warn, team.rego:14, team@")
	})
	t.Run("excluded namespaces", func(t *testing.T) {
		system := object("plain-", nil)
		system.Namespace = "kube-system"
		require.NoError(t, c.Create(ctx, system))
	})
	t.Run("a namespace made a moment ago", func(t *testing.T) {
		require.NoError(t, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fresh"}}))
		fresh := object("plain-", map[string]string{"team": "a"})
		fresh.Namespace = "fresh"
		require.NoError(t, c.Create(ctx, fresh))
	})
	t.Run("a scope has entries of its own", func(t *testing.T) { testScope(t, c, &live, settings, ca.pem, end) })
	t.Run("a running registrar follows the snapshot and drift", func(t *testing.T) {
		testRunningRegistrar(t, config, c, settings, ca.pem)
	})
	t.Run("canary", func(t *testing.T) { testCanary(t, config, c, certificate, ca.pem) })
}

// testCanary has the API server not call the webhooks any longer, in ways that leave a
// configuration in place and in ways that do not.
func testCanary(t *testing.T, config *rest.Config, c client.Client, certificate *Certificate, bundle []byte) {
	const namespace = "lintel-system"
	products := registration.CanaryProducts(namespace)
	handler, err := NewHandler(HandlerOptions{
		Snapshot: func() *engine.Snapshot { return nil }, Products: products, Metrics: newTestMetrics(t), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	require.NoError(t, err)
	server, end := startServer(t, ServerOptions{Handler: handler, Certificate: certificate})
	defer func() { assert.NoError(t, end()) }()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	require.NoError(t, err)
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	other := newAuthority(t, "another")

	require.NoError(t, c.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "lintel-a"}}))
	changes := make(chan struct{}, 100)
	canary, err := registration.NewCanary(config, namespace, "lintel-a", 300*time.Millisecond, prometheus.NewRegistry(), func() { changes <- struct{}{} })
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- canary.Start(ctx) }()
	defer func() { cancel(); assert.NoError(t, <-ended) }()
	becomes := func(missing string) {
		t.Helper()
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			if missing == "" {
				assert.Empty(collect, canary.Missing())
			} else {
				assert.Contains(collect, canary.Missing(), missing+" webhooks")
			}
		}, 2*time.Minute, 50*time.Millisecond)
	}

	settings := registration.Settings{Namespace: namespace, URL: "https://" + server.Address(), CABundle: bundle}
	register := func(edit func(w *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook)) {
		t.Helper()
		validating, mutating, err := registration.Configurations(nil, nil, products, settings)
		require.NoError(t, err)
		edit(&validating.Webhooks[0], &mutating.Webhooks[0])
		require.Contains(t, validating.Webhooks[0].Name+mutating.Webhooks[0].Name, "canary.policy.lintel.devcanary.policy.lintel.dev")
		for _, object := range []client.Object{validating, mutating} {
			require.NoError(t, client.IgnoreNotFound(c.Delete(t.Context(), object.DeepCopyObject().(client.Object))))
			require.NoError(t, c.Create(t.Context(), object))
		}
	}
	intact := func(*admissionregistrationv1.ValidatingWebhook, *admissionregistrationv1.MutatingWebhook) {}
	nothing := []admissionregistrationv1.MatchCondition{{Name: "none", Expression: "false"}}
	for _, way := range []struct {
		name, missing string
		edit          func(v *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook)
	}{
		{"nothing listens", "mutating and validating", func(v *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook) {
			v.ClientConfig.URL, m.ClientConfig.URL = new("https://"+closed.Addr().String()), new("https://"+closed.Addr().String())
		}},
		{"packets are dropped", "mutating and validating", func(v *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook) {
			v.ClientConfig.URL, m.ClientConfig.URL = new("https://"+silent.Addr().String()), new("https://"+silent.Addr().String())
		}},
		{"another path", "mutating", func(_ *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook) {
			m.ClientConfig.URL = new("https://" + server.Address() + "/elsewhere")
		}},
		{"another CA", "mutating and validating", func(v *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook) {
			v.ClientConfig.CABundle, m.ClientConfig.CABundle = other.pem, other.pem
		}},
		{"no rules", "validating", func(v *admissionregistrationv1.ValidatingWebhook, _ *admissionregistrationv1.MutatingWebhook) {
			v.Rules = nil
		}},
		{"another operation", "mutating", func(_ *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook) {
			m.Rules = []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{"CREATE"}, Rule: m.Rules[0].Rule}}
		}},
		{"a selector of namespaces", "validating", func(v *admissionregistrationv1.ValidatingWebhook, _ *admissionregistrationv1.MutatingWebhook) {
			v.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		}},
		{"a selector of objects", "mutating", func(_ *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook) {
			m.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		}},
		{"a condition", "mutating and validating", func(v *admissionregistrationv1.ValidatingWebhook, m *admissionregistrationv1.MutatingWebhook) {
			v.MatchConditions, m.MatchConditions = nothing, nothing
		}},
	} {
		register(intact)
		becomes("")
		register(way.edit)
		becomes(way.missing)
	}
	register(intact)
	becomes("")
	require.NotEmpty(t, changes)
	require.NoError(t, c.Delete(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: registration.ConfigurationName}}))
	becomes("validating")

	var lease coordinationv1.Lease
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "lintel-a"}, &lease))
	require.Empty(t, lease.Annotations, "a canary request changes nothing")
}

func testRunningRegistrar(t *testing.T, config *rest.Config, c client.Client, settings registration.Settings, bundle []byte) {
	// Not the handler's: the API server may still be asking that one.
	var live atomic.Pointer[engine.Snapshot]
	live.Store(compiled(t, definition.Fail, strings.Replace(teamLabel, "ConfigMap}", "Secret}", 1)))
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: new(true)}, // for -count
	})
	require.NoError(t, err)
	registrar := registration.NewRegistrar(mgr.GetClient(), mgr.GetAPIReader(), live.Load, nil, settings)
	require.NoError(t, registrar.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	defer func() { cancel(); assert.NoError(t, <-done) }()

	registers := func(resource string) {
		t.Helper()
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			var validating admissionregistrationv1.ValidatingWebhookConfiguration
			assert.NoError(collect, c.Get(t.Context(), client.ObjectKey{Name: registration.ConfigurationName}, &validating))
			var resources []string
			for _, webhook := range validating.Webhooks {
				for _, rule := range webhook.Rules {
					resources = append(resources, rule.Resources...)
				}
			}
			assert.Equal(collect, []string{resource}, resources)
		}, 2*time.Minute, 50*time.Millisecond)
	}
	registers("secrets")
	registered := configurations(t, c)
	require.NoError(t, c.Delete(t.Context(), &registered.validating))
	require.NoError(t, c.Delete(t.Context(), &registered.mutating))
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		for _, object := range []client.Object{
			&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
		} {
			assert.NoError(collect, c.Get(t.Context(), client.ObjectKey{Name: registration.ConfigurationName}, object))
		}
	}, 2*time.Minute, 50*time.Millisecond)
	inject(t, c, bundle)
	registers("secrets")
}

type both struct {
	validating admissionregistrationv1.ValidatingWebhookConfiguration
	mutating   admissionregistrationv1.MutatingWebhookConfiguration
}

func configurations(t *testing.T, c client.Client) (b both) {
	t.Helper()
	key := client.ObjectKey{Name: registration.ConfigurationName}
	require.NoError(t, c.Get(t.Context(), key, &b.validating))
	require.NoError(t, c.Get(t.Context(), key, &b.mutating))
	return b
}

// inject does what cert-manager's injector does: it force-applies name and bundle
// of every entry of Lintel's configurations.
func inject(t *testing.T, c client.Client, bundle []byte) {
	t.Helper()
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	require.NoError(t, c.List(t.Context(), &validating))
	require.NoError(t, c.List(t.Context(), &mutating))
	apply := func(kind string, config client.Object, names []string) {
		if !registration.IsOurs(config) {
			return
		}
		var entries []any
		for _, name := range names {
			entries = append(entries, map[string]any{"name": name, "clientConfig": map[string]any{"caBundle": bundle}})
		}
		injected := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
			"metadata": map[string]any{"name": config.GetName()}, "webhooks": entries,
		}}
		require.NoError(t, c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(injected),
			client.FieldOwner("cainjector"), client.ForceOwnership))
	}
	for _, config := range validating.Items {
		var names []string
		for _, webhook := range config.Webhooks {
			names = append(names, webhook.Name)
		}
		apply("ValidatingWebhookConfiguration", &config, names)
	}
	for _, config := range mutating.Items {
		var names []string
		for _, webhook := range config.Webhooks {
			names = append(names, webhook.Name)
		}
		apply("MutatingWebhookConfiguration", &config, names)
	}
}

// testScope registers a team's policy for every kind, and ends the server.
func testScope(t *testing.T, c client.Client, live *atomic.Pointer[engine.Snapshot], settings registration.Settings, bundle []byte, endServer func() error) {
	ctx := t.Context()
	acme := live.Load()
	team, err := policyset.Compile(definition.Source{
		Name: "shop", FailurePolicy: definition.Fail,
		Scope: hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Namespaces: []string{"shop", "shop-*"}},
		Files: map[string]string{"shop.rego": `package shop

import rego.v1

deny contains "no Secrets here" if input.request.kind.kind == "Secret"

warn contains "seen"

defaults := {"metadata": {"labels": {"shop": "yes"}}}
`},
	})
	require.NoError(t, err)
	fixed := configurations(t, c)
	live.Store(engine.NewSnapshot(admission.BuiltinResources(), team, compiledSet(t, definition.Fail, teamLabel)))
	registrar := registration.NewRegistrar(c, c, live.Load, nil, settings)
	registers := func() string {
		t.Helper()
		_, err := registrar.Reconcile(ctx, reconcile.Request{})
		require.NoError(t, err)
		why, _ := registrar.Unregistered(live.Load().Digest())
		return why
	}
	registers()
	require.Contains(t, registers(), "configuration lintel-team-shop has no CA bundle")
	inject(t, c, bundle)
	registers()
	require.Empty(t, registers())
	require.Equal(t, fixed, configurations(t, c), "the fixed entries are left alone")

	for _, name := range []string{"shop", "shop-eu", "bank"} {
		require.NoError(t, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	secret := func(namespace string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "s-"}}
	}
	for _, namespace := range []string{"shop", "shop-eu"} {
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			assert.ErrorContains(collect, c.Create(ctx, secret(namespace)), `"fail.team-shop.policies.lintel.dev" denied the request: no Secrets here`)
		}, 2*time.Minute, 50*time.Millisecond)
	}
	require.NoError(t, c.Create(ctx, secret("bank")))
	labelled := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c", Labels: map[string]string{"team": "a"}}}
	require.NoError(t, c.Create(ctx, labelled))
	require.Equal(t, "yes", labelled.Labels["shop"], "the team's patch")
	require.Equal(t, "yes", labelled.Labels["checked"], "and the enterprise's")

	pod := func(namespace string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "p-"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}},
		}
	}
	for _, namespace := range []string{"shop", "bank"} { // when they have a ServiceAccount
		require.EventuallyWithT(t, func(collect *assert.CollectT) { assert.NoError(collect, c.Create(ctx, pod(namespace))) }, 2*time.Minute, 50*time.Millisecond)
	}

	require.NoError(t, endServer())
	require.NoError(t, c.Create(ctx, pod("bank")), "other teams run Pods")
	require.ErrorContains(t, c.Create(ctx, pod("shop")), `failed calling webhook "fail.team-shop.policies.lintel.dev"`)
	require.NoError(t, c.Create(ctx, secret("bank")), "other namespaces are not affected")
	require.NoError(t, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop-new"}}))
	for _, namespace := range []string{"shop", "shop-eu", "shop-new"} {
		require.ErrorContains(t, c.Create(ctx, secret(namespace)), `failed calling webhook "fail.team-shop.policies.lintel.dev"`, "from the moment in which a namespace exists")
	}

	// The configurations of a scope are restored, and are deleted with it.
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	key := client.ObjectKey{Name: "lintel-team-shop"}
	require.NoError(t, c.Get(ctx, key, &config))
	config.Webhooks[1].Rules, config.Webhooks[1].MatchConditions = nil, nil
	require.NoError(t, c.Update(ctx, &config))
	registers()
	require.NoError(t, c.Get(ctx, key, &config))
	require.NotEmpty(t, config.Webhooks[1].Rules)
	require.NoError(t, c.Delete(ctx, &config))
	require.NotEmpty(t, registers())
	require.NoError(t, c.Get(ctx, key, &config))
	live.Store(acme)
	registers()
	require.Empty(t, registers())
	for _, object := range []client.Object{&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}} {
		require.True(t, apierrors.IsNotFound(c.Get(ctx, key, object)))
	}
	require.NoError(t, c.Create(ctx, secret("bank")))
}
