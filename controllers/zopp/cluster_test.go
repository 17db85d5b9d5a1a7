package zopp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/test/zopp"
)

// lab is the system with a real API server and a double of zopp.
type lab struct {
	client  client.Client
	config  *rest.Config
	cluster *installation.Cluster
	peer    *zopp.Peer
	reader  *zopp.Principal
	log     logged
}

// logged are lines that are written from many goroutines.
type logged struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *logged) add(prefix, line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	fmt.Fprintln(&l.text, prefix, line)
}

func (l *logged) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// labPoll is the interval of polls in the lab.
const labPoll = 3 * time.Second

func newLab(t *testing.T) *lab {
	t.Helper()
	require.NoError(t, installation.Depend("test/cluster", "config/crd/zopp"))
	cluster, err := installation.StartCluster(t.Context(), filepath.Join(t.TempDir(), "cluster"), os.Stderr, "--without", "cert-manager")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Stop(context.Background())) })
	output, err := cluster.Kubectl(t.Context(), "", "apply", "-k", "config/crd/zopp")
	require.NoError(t, err, output)
	l := &lab{cluster: cluster}
	l.config, err = clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	require.NoError(t, err)
	l.config.QPS = -1
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	l.client, err = client.New(l.config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	l.peer, err = zopp.StartDouble(t.Context(), zopp.NewDouble())
	require.NoError(t, err)
	t.Cleanup(l.peer.Stop)
	return l
}

// start starts a manager that runs the system, and returns a function that stops it.
func (l *lab) start(t *testing.T, args ...string) (stop func()) {
	t.Helper()
	credentials := filepath.Join(t.TempDir(), "credentials.json")
	require.NoError(t, os.WriteFile(credentials, l.reader.Credentials(), 0o600))
	part, flags := Part(), pflag.NewFlagSet("", pflag.ContinueOnError)
	part.Flags(flags)
	require.NoError(t, flags.Parse(append([]string{
		"--zopp-server=" + l.peer.URL, "--zopp-credentials=" + credentials, "--zopp-poll-interval=" + labPoll.String(), "--zopp-secret-syncs", "--zopp-reload", "--zopp-namespace-mapping=Open",
	}, args...)))
	require.NoError(t, part.Check())
	ctx, cancel := context.WithCancel(context.Background())
	logger := funcr.New(l.log.add, funcr.Options{})
	mgr, err := ctrl.NewManager(l.config, manager.Options{
		Scheme: l.client.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		BaseContext: func() context.Context { return ctx }, Logger: logger,
	})
	require.NoError(t, err)
	_, err = part.SetUp(ctx, system.Manager{
		Manager: mgr, Namespace: "lintel-system", Metrics: prometheus.NewRegistry(),
		Namespaces: func(cached, _ client.Reader) builtin.NamespaceGetter { return stored{cached} },
	}, true)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = func() {
		cancel()
		if ended != nil {
			assert.NoError(t, <-ended)
		}
		ended = nil
	}
	t.Cleanup(stop)
	return stop
}

// place is a namespace with a workspace of zopp's to itself.
type place struct {
	*lab
	*testing.T
	namespace   string
	workspace   *zopp.Workspace
	environment *zopp.Environment
}

// in creates a namespace, and an environment backend/production in a workspace of the same name.
func (l *lab) in(t *testing.T, namespace string) *place {
	t.Helper()
	require.NoError(t, l.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	p := &place{lab: l, T: t, namespace: namespace}
	var err error
	p.workspace, err = l.peer.MakeWorkspace(t.Context(), namespace)
	require.NoError(t, err)
	if l.reader == nil {
		l.reader, err = p.workspace.MakeReader(t.Context(), "lintel")
		require.NoError(t, err)
	} else {
		require.NoError(t, p.workspace.Grant(t.Context(), l.reader))
		require.NoError(t, p.workspace.Permit(t.Context(), l.reader, wire.Role_READ))
	}
	p.environment = p.make("production")
	return p
}

func (p *place) make(name string) *zopp.Environment {
	p.Helper()
	e, err := p.workspace.MakeEnvironment(p.Context(), "backend", name)
	require.NoError(p, err)
	return e
}

func (p *place) set(key, value string) {
	p.Helper()
	p.until("the server to take "+key, func() bool { return p.environment.Set(p.Context(), key, value) == nil })
}

// create creates a Secret that names the environment, with further zopp annotations as
// name=value.
func (p *place) create(name string, annotations ...string) {
	p.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name, Annotations: values{
		v1alpha1.SyncAnnotation: "true", v1alpha1.WorkspaceAnnotation: p.workspace.Name, v1alpha1.ProjectAnnotation: "backend", v1alpha1.EnvironmentAnnotation: "production",
	}}}
	for _, annotation := range annotations {
		annotation, value, _ := strings.Cut(annotation, "=")
		secret.Annotations[v1alpha1.GroupName+"/"+annotation] = value
	}
	require.NoError(p, p.client.Create(p.Context(), secret))
}

func (p *place) secret(name string) *corev1.Secret {
	p.Helper()
	secret := &corev1.Secret{}
	require.NoError(p, p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, secret))
	return secret
}

func (p *place) annotate(name string, annotations map[string]any) {
	p.Helper()
	p.merge(name, map[string]any{"metadata": map[string]any{"annotations": annotations}}, "kubectl-annotate")
}

func (p *place) merge(name string, patch map[string]any, manager string) {
	p.Helper()
	text, err := json.Marshal(patch)
	require.NoError(p, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	require.NoError(p, p.client.Patch(p.Context(), secret, client.RawPatch("application/merge-patch+json", text), client.FieldOwner(manager)))
}

// until waits until something is so.
func (p *place) until(what string, is func() bool) {
	p.Helper()
	if !assert.Eventually(p, is, 2*time.Minute, 10*time.Millisecond, what) {
		p.Fatal(p.log.String())
	}
}

// holds waits until a Secret has exactly these data.
func (p *place) holds(name string, data values) {
	p.Helper()
	var last *corev1.Secret
	defer func() {
		if p.Failed() {
			p.Log(last.Annotations, texts(last.Data))
		}
	}()
	p.until(fmt.Sprint(name, " holds ", data), func() bool {
		last = p.secret(name)
		return maps.Equal(texts(last.Data), data)
	})
}

// says waits until a Secret has an outcome whose message contains a text.
func (p *place) says(name string, status v1alpha1.SyncStatus, part string) {
	p.Helper()
	p.until(fmt.Sprint(name, " says ", status, " ", part), func() bool {
		annotations := p.secret(name).Annotations
		return annotations[v1alpha1.StatusAnnotation] == string(status) && strings.Contains(annotations[v1alpha1.MessageAnnotation], part)
	})
}

// rests checks that a Secret is not written for two polls.
func (p *place) rests(name string) {
	p.Helper()
	before := p.secret(name).ResourceVersion
	calls := p.peer.Double.Calls("ListSecrets")
	p.until("two polls", func() bool { return p.peer.Double.Calls("ListSecrets") >= calls+2*p.peer.Double.Streams() })
	require.Equal(p, before, p.secret(name).ResourceVersion, "writes at rest")
}

// TestAgainstAnAPIServer runs the system against a real API server, with a double of zopp that
// injects faults.
func TestAgainstAnAPIServer(t *testing.T) {
	l := newLab(t)
	first := l.in(t, "first")
	stop := l.start(t)

	t.Run("a Secret is filled, changed and emptied within a second", func(t *testing.T) {
		first.T = t
		first.set("DATABASE_URL", "postgres://db")
		first.create("app-secrets")
		first.holds("app-secrets", values{"DATABASE_URL": "postgres://db"})
		first.says("app-secrets", "Synced", "first/backend/production")
		for i := range 5 {
			began := time.Now()
			first.set("DATABASE_URL", fmt.Sprint("postgres://db/", i))
			first.holds("app-secrets", values{"DATABASE_URL": fmt.Sprint("postgres://db/", i)})
			t.Log("changed within", time.Since(began))
		}
		require.NoError(t, first.environment.Delete(t.Context(), "DATABASE_URL"))
		first.holds("app-secrets", values{})
		first.set("KEY", "one")
		first.holds("app-secrets", values{"KEY": "one"})
		first.rests("app-secrets")
	})

	t.Run("one stream and one connection for many Secrets", func(t *testing.T) {
		p := l.in(t, "many")
		p.set("KEY", "one")
		streams := p.peer.Double.Streams()
		for i := range 30 {
			p.create(fmt.Sprint("secret-", i))
		}
		for i := range 30 {
			p.holds(fmt.Sprint("secret-", i), values{"KEY": "one"})
		}
		require.Equal(t, streams+1, p.peer.Double.Streams())
		require.Equal(t, 2, p.peer.Double.Connections(), "one of them is this test's")
		require.NoError(t, p.client.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace("many")))
		p.until("nothing is followed for them", func() bool { return p.peer.Double.Streams() == streams })
	})

	t.Run("a burst loses nothing and doubles nothing", func(t *testing.T) {
		p := l.in(t, "burst")
		p.create("app-secrets")
		p.says("app-secrets", "Synced", "")
		all := values{}
		for i := range 100 {
			all[fmt.Sprint("KEY_", i%10)] = fmt.Sprint(i)
			p.set(fmt.Sprint("KEY_", i%10), fmt.Sprint(i))
		}
		p.holds("app-secrets", all)
		p.rests("app-secrets")
		require.Equal(t, "100", p.secret("app-secrets").Annotations[v1alpha1.SyncedVersionAnnotation])
	})

	t.Run("what the user does", func(t *testing.T) {
		p := l.in(t, "users")
		p.set("KEY", "one")
		p.set("OTHER", "two")
		p.create("app-secrets")
		p.holds("app-secrets", values{"KEY": "one", "OTHER": "two"})
		p.merge("app-secrets", map[string]any{"stringData": map[string]any{"KEY": "by hand", "USERS": "own"}, "data": map[string]any{"OTHER": nil}}, "kubectl-edit")
		p.holds("app-secrets", values{"KEY": "one", "OTHER": "two", "USERS": "own"})
		require.NoError(t, p.environment.Delete(t.Context(), "OTHER"))
		p.holds("app-secrets", values{"KEY": "one", "USERS": "own"})
		p.annotate("app-secrets", map[string]any{v1alpha1.StatusAnnotation: nil, recordAnnotation: "{"})
		p.says("app-secrets", "Synced", "keys: 1")
		p.rests("app-secrets")

		p.annotate("app-secrets", map[string]any{v1alpha1.KeysAnnotation: "name=KEY"})
		p.holds("app-secrets", values{"name": "one", "USERS": "own"})
		staging := p.make("staging")
		require.NoError(t, staging.Set(t.Context(), "KEY", "of staging"))
		p.annotate("app-secrets", map[string]any{v1alpha1.EnvironmentAnnotation: "staging"})
		p.holds("app-secrets", values{"name": "of staging", "USERS": "own"})
		p.annotate("app-secrets", map[string]any{
			v1alpha1.WorkspaceAnnotation: nil, v1alpha1.ProjectAnnotation: nil, v1alpha1.EnvironmentAnnotation: nil,
			v1alpha1.SourcesAnnotation: "users/backend/production, users/backend/staging", v1alpha1.KeysAnnotation: nil,
		})
		p.holds("app-secrets", values{"KEY": "of staging", "USERS": "own"})

		streams := p.peer.Double.Streams()
		p.annotate("app-secrets", map[string]any{v1alpha1.SyncAnnotation: nil})
		p.until("nothing is followed any more", func() bool { return p.peer.Double.Streams() == streams-2 })
		p.until("it is released", func() bool { return !isOurs(p.secret("app-secrets"), secretManager) })
		require.Equal(t, values{"KEY": "of staging", "USERS": "own"}, texts(p.secret("app-secrets").Data))
		require.NotContains(t, p.secret("app-secrets").Annotations, v1alpha1.StatusAnnotation)
		p.annotate("app-secrets", map[string]any{v1alpha1.SyncAnnotation: "true", v1alpha1.CleanupAnnotation: "true"})
		p.says("app-secrets", "Synced", "keys: 1")
		p.merge("app-secrets", map[string]any{"metadata": map[string]any{"annotations": nil}}, "kubectl-replace")
		p.until("it is cleaned up", func() bool { return !isOurs(p.secret("app-secrets"), secretManager) })
		require.Equal(t, values{"USERS": "own"}, texts(p.secret("app-secrets").Data))
	})

	t.Run("what the original operator has left", func(t *testing.T) {
		p := l.in(t, "legacy")
		p.set("KEY", "one")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "legacy", Name: "app-secrets"}}
		require.NoError(t, p.client.Create(t.Context(), secret))
		p.merge("app-secrets", map[string]any{"stringData": map[string]any{"USERS": "own"}}, "kubectl-edit")
		p.merge("app-secrets", map[string]any{"data": map[string]any{"KEY": "b25l", "LEFTOVER": "b2xk"}}, legacyManager)
		p.annotate("app-secrets", map[string]any{v1alpha1.SyncAnnotation: "true", v1alpha1.SourcesAnnotation: "legacy/backend/production"})
		p.holds("app-secrets", values{"KEY": "one", "USERS": "own"})
		p.says("app-secrets", "Synced", "")
		p.rests("app-secrets")
	})

	t.Run("bad input", func(t *testing.T) {
		p := l.in(t, "bad")
		p.set("KEY", "one")
		p.set("BAD", "good")
		p.create("app-secrets")
		p.holds("app-secrets", values{"KEY": "one", "BAD": "good"})
		require.NoError(t, p.environment.SetSealed(t.Context(), "BAD", make([]byte, 24), make([]byte, 40)))
		p.says("app-secrets", "Failed", `"BAD" cannot be decrypted`)
		p.set("KEY", "two")
		p.holds("app-secrets", values{"KEY": "two", "BAD": "good"})
		p.set("BAD", "better")
		p.holds("app-secrets", values{"KEY": "two", "BAD": "better"})
		p.says("app-secrets", "Synced", "")
		p.set("not a key", "three")
		p.set("BYTES", "\xff\xfe")
		p.says("app-secrets", "Failed", `"not a key" cannot be a key`)
		p.says("app-secrets", "Failed", `"BYTES" is no UTF-8`)
		p.holds("app-secrets", values{"KEY": "two", "BAD": "better"})
		require.NoError(t, p.environment.Delete(t.Context(), "not a key"))
		require.NoError(t, p.environment.Delete(t.Context(), "BYTES"))
		p.set("LARGE", strings.Repeat("x", 1<<20))
		p.says("app-secrets", "Failed", "1048585 bytes")
		p.holds("app-secrets", values{"KEY": "two", "BAD": "better"})
		require.NoError(t, p.environment.Delete(t.Context(), "LARGE"))
		p.says("app-secrets", "Synced", "")
		p.merge("app-secrets", map[string]any{"immutable": true}, "kubectl-edit")
		p.set("KEY", "three")
		p.says("app-secrets", "Denied", "immutable")
		p.holds("app-secrets", values{"KEY": "two", "BAD": "better"})
		p.rests("app-secrets")
		p.create("incomplete", "workspace=")
		p.says("incomplete", "Denied", "workspace")
	})

	t.Run("what happens to the server", func(t *testing.T) {
		p := l.in(t, "server")
		p.set("KEY", "one")
		p.create("app-secrets")
		p.holds("app-secrets", values{"KEY": "one"})

		p.peer.Double.Drop(1)
		p.set("KEY", "dropped")
		p.holds("app-secrets", values{"KEY": "dropped"})

		p.peer.Double.EndStreams(nil)
		p.until("a stream", func() bool { return p.peer.Double.Streams() > 0 })
		p.set("KEY", "two")
		p.holds("app-secrets", values{"KEY": "two"})

		require.NoError(t, p.environment.Remake(t.Context()))
		require.NoError(t, p.environment.Set(t.Context(), "KEY", "of another"))
		p.holds("app-secrets", values{"KEY": "of another"})
		p.says("app-secrets", "Synced", "")
		require.NoError(t, p.environment.Rotate(t.Context(), values{"KEY": "rotated"}))
		p.holds("app-secrets", values{"KEY": "rotated"})

		require.NoError(t, p.workspace.Withdraw(t.Context(), p.reader))
		p.says("app-secrets", "Failed", "server/backend/production cannot be read")
		p.holds("app-secrets", values{"KEY": "rotated"})
		p.rests("app-secrets")
		require.NoError(t, p.workspace.Permit(t.Context(), p.reader, wire.Role_READ))
		p.set("KEY", "three")
		p.holds("app-secrets", values{"KEY": "three"})
		p.says("app-secrets", "Synced", "")

		p.peer.Double.Stop()
		require.NoError(t, p.peer.Double.Start())
		p.set("KEY", "after a restart")
		p.holds("app-secrets", values{"KEY": "after a restart"})

		require.NoError(t, p.environment.Remove(t.Context()))
		p.says("app-secrets", "Failed", "cannot be read")
		p.holds("app-secrets", values{"KEY": "after a restart"})
		for _, event := range []string{"Synced", "NotFound", "Denied"} {
			p.until("an Event "+event, func() bool { return p.hasEvent(event) })
		}
	})

	t.Run("who may read what", func(t *testing.T) {
		p := l.in(t, "mapped")
		p.set("KEY", "one")
		p.create("app-secrets")
		p.holds("app-secrets", values{"KEY": "one"})
		p.permit("mapped", v1alpha1.AllowedSourcesAnnotation, "other/*/*")
		p.says("app-secrets", "Denied", `namespace "mapped" may not read mapped/backend/production`)
		p.set("KEY", "two")
		p.permit("mapped", v1alpha1.AllowedSourcesAnnotation, "mapped/backend/*")
		p.holds("app-secrets", values{"KEY": "two"})
	})

	t.Run("ZoppSecretSyncs", func(t *testing.T) {
		p, other := l.in(t, "syncs"), l.in(t, "target")
		p.set("KEY", "one")
		p.createSync("own", "")
		p.syncSays("own", "SyncSuccess")
		p.holds("own", values{"KEY": "one"})
		p.set("KEY", "two")
		p.holds("own", values{"KEY": "two"})
		p.merge("own", map[string]any{"stringData": map[string]any{"KEY": "by hand"}}, "kubectl-edit")
		p.holds("own", values{"KEY": "two"})
		require.NoError(t, p.client.Delete(t.Context(), p.secret("own")))
		p.until("it is made again", func() bool {
			return p.client.Get(t.Context(), client.ObjectKey{Namespace: "syncs", Name: "own"}, &corev1.Secret{}) == nil
		})
		p.holds("own", values{"KEY": "two"})
		// One write creates the Secret, and another adopts it.
		p.until("it is ours", func() bool { return isOurs(p.secret("own"), syncManager) })
		p.rests("own")
		sync := p.sync("own")
		p.set("OTHER", "three")
		p.holds("own", values{"KEY": "two", "OTHER": "three"})
		p.until("the version", func() bool { return p.sync("own").Status.LastSyncVersion == sync.Status.LastSyncVersion+1 })
		require.Equal(t, ready(t, sync).LastTransitionTime, ready(t, p.sync("own")).LastTransitionTime)

		p.createSync("far", "target")
		p.syncSays("far", "Denied")
		p.permit("target", v1alpha1.AcceptFromNamespacesAnnotation, "syncs")
		p.syncSays("far", "SyncSuccess")
		other.holds("far", values{"KEY": "two", "OTHER": "three"})

		p.create("claimed")
		p.holds("claimed", values{"KEY": "two", "OTHER": "three"})
		p.until("another second", func() bool {
			made := p.secret("claimed").CreationTimestamp
			return time.Since(made.Time) > 1500*time.Millisecond
		})
		p.createSync("claimed", "")
		p.syncSays("claimed", "Denied")
		require.NoError(t, p.client.Delete(t.Context(), p.secret("claimed")))
		p.syncSays("claimed", "SyncSuccess")

		require.NoError(t, p.client.Delete(t.Context(), p.sync("far")))
		p.until("the Secret is gone", func() bool {
			return client.IgnoreNotFound(p.client.Get(t.Context(), client.ObjectKey{Namespace: "target", Name: "far"}, &corev1.Secret{})) == nil &&
				p.client.Get(t.Context(), client.ObjectKey{Namespace: "target", Name: "far"}, &corev1.Secret{}) != nil
		})
		require.NoError(t, p.client.Delete(t.Context(), p.sync("own")))
		// The garbage collector looks for new kinds each half a minute.
		require.Eventually(t, func() bool {
			return p.client.Get(t.Context(), client.ObjectKey{Namespace: "syncs", Name: "own"}, &corev1.Secret{}) != nil
		}, 3*time.Minute, 50*time.Millisecond, "the Secret to be gone")
	})

	t.Run("workloads are rolled", func(t *testing.T) {
		p := l.in(t, "rolled")
		p.set("KEY", "one")
		p.create("app-secrets")
		p.holds("app-secrets", values{"KEY": "one"})
		p.deploy("app")
		p.set("KEY", "two")
		p.holds("app-secrets", values{"KEY": "two"})
		p.until("it is rolled", func() bool { return p.rollouts() == 2 })
		p.rests("app-secrets")
		require.Equal(t, 2, p.rollouts())
	})

	t.Run("a write does not make a Secret again that is gone", func(t *testing.T) {
		p := l.in(t, "gone")
		p.create("app-secrets")
		p.says("app-secrets", "Synced", "")
		secret := p.secret("app-secrets")
		require.NoError(t, p.client.Delete(t.Context(), secret))
		w := newWriter(p.client, secretManager, newMetrics(prometheus.NewRegistry()))
		plan, _ := w.diff(secret, actualOf(secret, secretManager), desiredSecret{data: bytesOf(values{"KEY": "one"})}, extras{}, time.Time{})
		require.Error(t, w.apply(t.Context(), secret, plan))
		require.Error(t, w.empty(t.Context(), secret))
		require.Error(t, p.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
		p.create("app-secrets") // another of the name
		require.Error(t, w.apply(t.Context(), secret, plan))
	})

	t.Run("what changed while nobody looked", func(t *testing.T) {
		first.T = t
		first.deploy("app")
		first.set("KEY", "before")
		first.holds("app-secrets", values{"KEY": "before"})
		first.until("it is rolled", func() bool { return first.rollouts() == 2 })
		stop()
		first.peer.Double.Stop()
		require.NoError(t, first.peer.Double.Start())
		first.set("KEY", "two")
		first.create("new", "keys=KEY")
		stop = l.start(t)
		first.holds("app-secrets", values{"KEY": "two"})
		first.holds("new", values{"KEY": "two"})
		first.until("it is rolled", func() bool { return first.rollouts() == 3 })
		first.rests("app-secrets")
		require.Equal(t, 3, first.rollouts())
	})

	t.Run("the end", func(t *testing.T) {
		stop()
		first.T = t
		first.until("no stream is left open", func() bool { return l.peer.Double.Streams() == 0 })
		require.NotContains(t, l.log.String(), "postgres://db")
	})
}

func (p *place) hasEvent(reason string) bool {
	output, err := p.cluster.Kubectl(p.Context(), "", "get", "events.events.k8s.io", "-n", p.namespace, "-o", "jsonpath={.items[*].reason}")
	return err == nil && strings.Contains(output, reason)
}

func (p *place) permit(namespace, annotation, value string) {
	p.Helper()
	output, err := p.cluster.Kubectl(p.Context(), "", "annotate", "--overwrite", "namespace", namespace, annotation+"="+value)
	require.NoError(p, err, output)
}

func (p *place) createSync(name, namespace string) {
	p.Helper()
	require.NoError(p, p.client.Create(p.Context(), &v1alpha1.ZoppSecretSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec: v1alpha1.ZoppSecretSyncSpec{
			Source: &v1alpha1.Source{Workspace: p.workspace.Name, Project: "backend", Environment: "production"},
			Target: v1alpha1.Target{SecretName: name, Namespace: namespace},
		},
	}))
}

func (p *place) sync(name string) *v1alpha1.ZoppSecretSync {
	p.Helper()
	sync := &v1alpha1.ZoppSecretSync{}
	require.NoError(p, p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, sync))
	return sync
}

func (p *place) syncSays(name, reason string) {
	p.Helper()
	var last []metav1.Condition
	defer func() {
		if p.Failed() {
			p.Log(last)
		}
	}()
	p.until(name+" says "+reason, func() bool {
		last = p.sync(name).Status.Conditions
		condition := meta.FindStatusCondition(last, v1alpha1.ConditionReady)
		return condition != nil && condition.Reason == reason
	})
}

// deploy creates a Deployment that opts in to restarts.
func (p *place) deploy(name string) {
	p.Helper()
	deployment := deploymentOf(name, corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app", EnvFrom: fromAll[1:]}}}, reloading)
	deployment.Namespace = p.namespace
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: values{"app": name}}
	deployment.Spec.Template.Labels = values{"app": name}
	require.NoError(p, p.client.Create(p.Context(), deployment))
	p.until("its first template", func() bool { return p.rollouts() == 1 })
}

// rollouts are how many Pod templates the Deployments of the namespace have had.
func (p *place) rollouts() int {
	p.Helper()
	var list appsv1.ReplicaSetList
	require.NoError(p, p.client.List(p.Context(), &list, client.InNamespace(p.namespace)))
	return len(list.Items)
}
