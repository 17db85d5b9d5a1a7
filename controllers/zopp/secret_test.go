package zopp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// desk is a reconciler with a scripted server, and records the writes.
type desk struct {
	*secretReconciler
	t       *testing.T
	server  *scripted
	client  client.Client
	sent    *events.FakeRecorder
	writes  int
	denied  string
	refused error  // the answer to the next write
	before  func() // is called before the next write
}

func newDesk(t *testing.T, objects ...client.Object) *desk {
	t.Helper()
	d := &desk{t: t, server: newScripted(), sent: events.NewFakeRecorder(100)}
	written := func() error {
		if before := d.before; before != nil {
			d.before = nil
			before()
		}
		d.writes++
		err := d.refused
		d.refused = nil
		return err
	}
	scheme := runtime.NewScheme()
	// Not all of clientgoscheme: the client iterates over the scheme at each write.
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	d.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.ZoppSecretSync{}).WithObjects(objects...).WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if err := written(); err != nil {
				return err
			}
			return c.Apply(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if err := written(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, options...)
		},
	}).Build()
	d.secretReconciler = d.replica()
	d.writes = 0
	return d
}

// replica is a reconciler that knows nothing yet.
func (d *desk) replica() *secretReconciler {
	counted := newMetrics(prometheus.NewRegistry())
	h := newHub(d.server, time.Minute, counted, func(context.Context, user) {})
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Start(ctx)
	}()
	d.t.Cleanup(func() {
		end()
		<-ended
	})
	reloads := &reloads{client: d.client, live: d.client, events: d.sent, metrics: counted, now: time.Now, look: func(context.Context, string) {}}
	return &secretReconciler{applier{newWriter(d.client, secretManager, counted), d.client, h, reloads, d.sent}, d.verdict}
}

// verdict returns the scripted verdict of the rules.
func (d *desk) verdict(_ context.Context, object builtin.Object) (builtin.Verdict, error) {
	if secret, is := object.(*corev1.Secret); is {
		require.Empty(d.t, secret.Data, "rules see no values")
	}
	if d.denied != "" {
		return builtin.Verdict{Denials: []string{d.denied}}, nil
	}
	return builtin.Verdict{}, nil
}

// appSecret is that of the product document.
func appSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "app-secrets", Namespace: "default", Annotations: values{
			v1alpha1.SyncAnnotation: "true", v1alpha1.WorkspaceAnnotation: "acme", v1alpha1.ProjectAnnotation: "backend", v1alpha1.EnvironmentAnnotation: "production",
		}},
		Type: corev1.SecretTypeOpaque,
	}
}

var appSecretsKey = client.ObjectKey{Namespace: "default", Name: "app-secrets"}

// sync looks at the Secret until nothing is left to be done.
func (d *desk) sync() {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		uses, writes := d.readAll(), d.writes
		result, err := d.Reconcile(d.t.Context(), reconcile.Request{NamespacedName: appSecretsKey})
		require.NoError(d.t, err)
		return writes == d.writes && result.IsZero() && reflect.DeepEqual(uses, d.hub.usesNow())
	}, 2*time.Minute, time.Millisecond)
}

// readAll reads all environments in use again, and returns their users.
func (d *desk) readAll() map[user][]store.Environment {
	uses := d.hub.usesNow()
	for _, used := range uses {
		for _, environment := range used {
			d.hub.Fresh(d.t.Context(), environment)
		}
	}
	return uses
}

func (h *hub) usesNow() map[user][]store.Environment {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	uses := map[user][]store.Environment{}
	for u, used := range h.uses {
		uses[u] = used
	}
	return uses
}

func (d *desk) secret() *corev1.Secret {
	d.t.Helper()
	secret := &corev1.Secret{}
	require.NoError(d.t, d.client.Get(d.t.Context(), appSecretsKey, secret))
	return secret
}

// edit changes the Secret as a user does.
func (d *desk) edit(change func(*corev1.Secret)) {
	d.t.Helper()
	secret := d.secret()
	change(secret)
	secret.ManagedFields = nil
	require.NoError(d.t, d.client.Update(d.t.Context(), secret, client.FieldOwner("kubectl-edit")))
	d.writes = 0
}

func (d *desk) data() values { return texts(d.secret().Data) }

func (d *desk) told() (told []string) {
	for len(d.sent.Events) > 0 {
		told = append(told, <-d.sent.Events)
	}
	return told
}

func TestSecretIsFilled(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.remake(backend, "a")
	d.server.set(backend, "KEY", "one")
	d.server.set(backend, "OTHER", "two")
	d.sync()
	require.Equal(t, values{"KEY": "one", "OTHER": "two"}, d.data())
	annotations := d.secret().Annotations
	require.Equal(t, "Synced", annotations[v1alpha1.StatusAnnotation])
	require.Equal(t, "2", annotations[v1alpha1.SyncedVersionAnnotation])
	require.Equal(t, "in step with acme/backend/production (keys: 2)", annotations[v1alpha1.MessageAnnotation])
	require.Equal(t, 1, d.writes)
	require.Len(t, d.told(), 1)

	d.server.set(backend, "KEY", "three")
	d.sync()
	require.Equal(t, values{"KEY": "three", "OTHER": "two"}, d.data())
	require.Equal(t, 2, d.writes)
	require.Empty(t, d.told(), "no Event for a change")
}

// Defects D3 and D8: an unchanged Secret is not written, even by a replica without a record of
// it.
func TestSecretIsWrittenOnce(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	before := d.secret()
	d.secretReconciler = d.replica()
	d.sync()
	d.server.set(backend, "KEY", "one") // another version of the same
	d.sync()
	require.Equal(t, before, d.secret())
	require.Equal(t, 1, d.writes)
}

func TestSecretLosesWhatZoppHasNoMoreAndKeepsTheUsersKeys(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.server.set(backend, "OLD", "two")
	d.sync()
	d.edit(func(s *corev1.Secret) { s.Data["USERS"] = []byte("own") })
	d.server.unset(backend, "OLD")
	d.secretReconciler = d.replica() // it happened while no replica ran
	d.sync()
	require.Equal(t, values{"KEY": "one", "USERS": "own"}, d.data())
}

func TestSecretTakesBackWhatAUserHasChanged(t *testing.T) {
	for name, change := range map[string]func(*corev1.Secret){
		"changed": func(s *corev1.Secret) { s.Data["KEY"] = []byte("by hand") },
		"deleted": func(s *corev1.Secret) { delete(s.Data, "KEY") },
		"all":     func(s *corev1.Secret) { s.Data = nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, appSecret())
			d.server.set(backend, "KEY", "one")
			d.sync()
			changed := readRecord(d.secret().Annotations).Changed
			d.edit(change)
			d.sync()
			require.Equal(t, values{"KEY": "one"}, d.data())
			require.Equal(t, 1, d.writes)
			require.Equal(t, changed, readRecord(d.secret().Annotations).Changed, "it is no change in zopp, and rolls nothing")
		})
	}
}

func TestSecretHasTheOutcomeThatAUserTakesAway(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	before := d.secret().Annotations
	d.edit(func(s *corev1.Secret) {
		for _, name := range ourAnnotations {
			delete(s.Annotations, name)
		}
	})
	d.sync()
	delete(before, recordAnnotation)
	for name, value := range before {
		require.Equal(t, value, d.secret().Annotations[name])
	}
}

// Defect D2: a sync that is switched off ends.
func TestSecretThatIsSyncedNoMore(t *testing.T) {
	off := func(s *corev1.Secret) { delete(s.Annotations, v1alpha1.SyncAnnotation) }
	for name, c := range map[string]struct {
		cleanup bool
		change  func(*corev1.Secret)
		keeps   values
	}{
		"switched off":               {false, off, values{"KEY": "one", "USERS": "own"}},
		"another value":              {false, func(s *corev1.Secret) { s.Annotations[v1alpha1.SyncAnnotation] = "True" }, values{"KEY": "one", "USERS": "own"}},
		"with cleanup":               {true, off, values{"USERS": "own"}},
		"with cleanup, all are gone": {true, func(s *corev1.Secret) { s.Annotations = nil }, values{"USERS": "own"}},
		"immutable":                  {true, func(s *corev1.Secret) { off(s); s.Immutable = new(true) }, values{"KEY": "one", "USERS": "own"}},
	} {
		t.Run(name, func(t *testing.T) {
			secret := appSecret()
			if c.cleanup {
				secret.Annotations[v1alpha1.CleanupAnnotation] = "true"
			}
			d := newDesk(t, secret)
			d.server.set(backend, "KEY", "one")
			d.sync()
			d.edit(func(s *corev1.Secret) { s.Data["USERS"] = []byte("own"); c.change(s) })
			d.sync()
			require.Equal(t, c.keeps, d.data())
			require.Empty(t, d.hub.usesNow())
			for _, name := range ourAnnotations {
				require.NotContains(t, d.secret().Annotations, name)
			}
			require.False(t, isOurs(d.secret(), secretManager))
			require.Equal(t, 1, d.writes)
			d.server.set(backend, "KEY", "two")
			d.sync()
			require.Equal(t, c.keeps, d.data())
		})
	}
}

func TestSecretIsRetargeted(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.server.set(backend, "OLD", "two")
	d.server.set(shared, "KEY", "shared")
	d.sync()
	d.edit(func(s *corev1.Secret) { s.Annotations[v1alpha1.ProjectAnnotation] = "shared" })
	d.sync()
	require.Equal(t, values{"KEY": "shared"}, d.data())
	require.Equal(t, map[user][]store.Environment{appSecrets: {shared}}, d.hub.usesNow())
}

func TestSecretIsDenied(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.told()
	d.denied = "namespace default may not read acme/backend/production"
	d.server.set(backend, "KEY", "two")
	d.sync()
	require.Equal(t, values{"KEY": "one"}, d.data())
	require.Equal(t, "Denied", d.secret().Annotations[v1alpha1.StatusAnnotation])
	require.Equal(t, d.denied, d.secret().Annotations[v1alpha1.MessageAnnotation])
	require.Empty(t, d.hub.usesNow(), "nothing is read any more")
	require.Len(t, d.told(), 1)
	d.denied = ""
	d.sync()
	require.Equal(t, values{"KEY": "two"}, d.data())
}

// A Secret that was created for a ZoppSecretSync has the outcome of that: two controllers that
// write theirs would never stop.
func TestSecretOfAZoppSecretSyncIsDenied(t *testing.T) {
	secret := appSecret()
	secret.Labels = values{ownerLabel: "uid"}
	d := newDesk(t, secret)
	d.denied = "ZoppSecretSync default/all fills this Secret already"
	before := d.secret().ResourceVersion
	d.sync()
	require.Equal(t, before, d.secret().ResourceVersion)
	require.Empty(t, d.hub.usesNow())
}

func TestSecretOfAServerThatIsAway(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.told()
	d.secretReconciler = d.replica() // one that has nothing else to show
	d.server.fail(unreachable)
	d.sync()
	require.Equal(t, values{"KEY": "one"}, d.data())
	require.Equal(t, "Failed", d.secret().Annotations[v1alpha1.StatusAnnotation])
	require.Contains(t, d.secret().Annotations[v1alpha1.MessageAnnotation], "the server does not answer (since ")
	require.Len(t, d.told(), 1)
	d.writes = 0
	d.secretReconciler = d.replica()
	d.sync()
	require.Zero(t, d.writes)
	d.server.fail(nil)
	d.sync()
	require.Equal(t, "Synced", d.secret().Annotations[v1alpha1.StatusAnnotation])
}

// Defect D18.
func TestSecretThatIsGoneIsNotFollowed(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	require.NoError(t, d.client.Delete(t.Context(), d.secret()))
	d.sync()
	require.Empty(t, d.hub.usesNow())
	require.Empty(t, d.lastWrites)
}

func TestSecretThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	secret := appSecret()
	secret.Finalizers = []string{"example.com/wait"}
	d := newDesk(t, secret)
	d.server.set(backend, "KEY", "one")
	d.sync()
	require.NoError(t, d.client.Delete(t.Context(), d.secret()))
	d.server.set(backend, "KEY", "two")
	d.sync()
	require.Equal(t, values{"KEY": "one"}, d.data())
	require.Empty(t, d.hub.usesNow())
}

// Defect D11: a replica that led once and has not noticed yet does not undo newer values.
func TestSecretKeepsWhatANewerLeaderHasWritten(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.remake(backend, "a")
	d.server.set(backend, "KEY", "one")
	d.sync()
	old := d.secretReconciler
	known := old.hub.followers[backend]
	known.cancel()                     // the list that follows its subscription may not have run yet
	known.list(known.ctx, time.Time{}) // reads nothing, but waits for a list that is running
	d.secretReconciler = d.replica()
	d.server.set(backend, "KEY", "two")
	d.sync()
	require.Equal(t, values{"KEY": "two"}, d.data())

	require.Equal(t, "one", string(known.latest.Load().contents.Values[0].Value), "the old one has not heard of it")
	d.writes = 0
	_, err := old.Reconcile(t.Context(), reconcile.Request{NamespacedName: appSecretsKey})
	require.NoError(t, err)
	require.Equal(t, values{"KEY": "two"}, d.data())
	require.Zero(t, d.writes)

	// And where it has read the Secret before, its write is refused.
	d.server.set(backend, "KEY", "three")
	known.list(t.Context(), time.Time{})
	d.before = func() {
		d.server.set(backend, "KEY", "four")
		d.sync()
	}
	result, err := old.Reconcile(t.Context(), reconcile.Request{NamespacedName: appSecretsKey})
	require.NoError(t, err)
	require.NotZero(t, result.RequeueAfter)
	require.Equal(t, values{"KEY": "four"}, d.data())
}

// Defects D6 and D16: a re-created environment is read as it is, with any version.
func TestSecretOfAnEnvironmentThatWasMadeAnew(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.remake(backend, "a")
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.server.remake(backend, "b")
	d.server.set(backend, "KEY", "two")
	d.secretReconciler = d.replica()
	d.sync()
	require.Equal(t, values{"KEY": "two"}, d.data())
	require.Equal(t, []string{"b"}, readRecord(d.secret().Annotations).Environments)
}

func TestSecretOfTheOriginalOperator(t *testing.T) {
	secret := appSecret()
	d := newDesk(t, secret)
	patch := []byte(`{"data":{"KEY":"b25l","LEFTOVER":"b2xk"}}`)
	require.NoError(t, d.client.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner(legacyManager)))
	d.edit(func(s *corev1.Secret) { s.Data["USERS"] = []byte("own") })
	d.server.set(backend, "KEY", "one")
	d.sync()
	require.Equal(t, values{"KEY": "one", "USERS": "own"}, d.data())
	for _, entry := range d.secret().ManagedFields {
		require.NotEqual(t, legacyManager, entry.Manager)
	}
}

func TestSecretThatSomebodyElseWritesMeanwhile(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.server.set(backend, "KEY", "two")
	d.hub.Fresh(t.Context(), backend)
	d.refused = apierrors.NewConflict(corev1.Resource("secrets"), "app-secrets", nil)
	before := readRecord(d.secret().Annotations).Changed
	d.sync()
	require.Equal(t, values{"KEY": "two"}, d.data())
	require.Greater(t, readRecord(d.secret().Annotations).Changed, before, "the write that was refused does not count")
	require.Equal(t, 2.0, testutil.ToFloat64(d.metrics.writes))
}

// Only the data of a Secret contains values.
func TestSecretTellsNoValue(t *testing.T) {
	d := newDesk(t, appSecret())
	const value = "hunter2-hunter2"
	d.server.set(backend, "KEY", value)
	d.server.set(backend, "bad key", value)
	d.sync()
	for _, annotation := range d.secret().Annotations {
		require.NotContains(t, annotation, value)
	}
	for _, event := range d.told() {
		require.NotContains(t, event, value)
	}
	require.Equal(t, "Failed", d.secret().Annotations[v1alpha1.StatusAnnotation])
	require.Equal(t, values{"KEY": value}, d.data())
}

// A rejection by the API server is reported on the Secret, which keeps its values.
func TestSecretThatTheAPIServerRefuses(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.told()
	changed := readRecord(d.secret().Annotations).Changed
	d.server.set(backend, "KEY", "two")
	d.hub.Fresh(t.Context(), backend)
	d.refused = apierrors.NewForbidden(corev1.Resource("secrets"), "app-secrets", errors.New("exceeded quota"))
	result, err := d.Reconcile(t.Context(), reconcile.Request{NamespacedName: appSecretsKey})
	require.NoError(t, err)
	require.Equal(t, refusedDelay, result.RequeueAfter)
	require.Equal(t, values{"KEY": "one"}, d.data())
	require.Equal(t, "Failed", d.secret().Annotations[v1alpha1.StatusAnnotation])
	require.Contains(t, d.secret().Annotations[v1alpha1.MessageAnnotation], "exceeded quota")
	require.Len(t, d.told(), 1)
	d.sync()
	require.Equal(t, values{"KEY": "two"}, d.data())
	require.Equal(t, "Synced", d.secret().Annotations[v1alpha1.StatusAnnotation])
	require.Greater(t, readRecord(d.secret().Annotations).Changed, changed)
}

// The lag is that from an event to the write that it has led to, and of no other write.
func TestSecretLag(t *testing.T) {
	d := newDesk(t, appSecret())
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.metrics.lag)
	lags := func() uint64 {
		gathered, err := registry.Gather()
		require.NoError(t, err)
		return gathered[0].GetMetric()[0].GetHistogram().GetSampleCount()
	}
	d.server.set(backend, "KEY", "one")
	d.sync()
	require.Zero(t, lags(), "what was there before was not noticed")
	value := ""
	for i := 0; lags() == 0 && i < 100; i++ { // on a busy machine, the hub's own first list may be late and read the value
		value = fmt.Sprint("value ", i)
		d.server.set(backend, "KEY", value)
		d.hub.followers[backend].list(t.Context(), time.Now())
		d.sync()
	}
	require.EqualValues(t, 1, lags())
	d.edit(func(s *corev1.Secret) { s.Data["KEY"] = []byte("by hand") })
	d.sync()
	require.EqualValues(t, 1, lags())
	require.Equal(t, values{"KEY": value}, d.data())
}
