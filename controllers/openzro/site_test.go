package openzro

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/test/openzro"
)

// site is a cluster with the controllers, and a double of a management server. The test triggers
// the steps that would otherwise run in the background: see settle.
type site struct {
	*controllerSet
	t        *testing.T
	client   client.Client
	server   *openzro.Server
	account  *openzro.Account
	options  options
	events   *events.FakeRecorder
	mutex    sync.Mutex // over woken
	enqueued []management.Object
	clock    time.Time
	uids     int
	// statuses counts those that were written, and refused is what to answer to one, and
	// broken to writing Secrets.
	statuses atomic.Int64
	refused  func(client.Object) error
	// behind is the answer of a cache that is behind: nil for none.
	behind *v1.OZGroup
	broken error
	denied string
	// stale is what the keeper knows from one look to the next.
	stale map[*management.Tenant]bool
}

// team is the tenant of most tests, whose key is that of the account acme.
const team = "team"

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, events: events.NewFakeRecorder(10000), clock: time.Now().Truncate(time.Second)}
	var err error
	s.server, err = openzro.Start()
	require.NoError(t, err)
	t.Cleanup(s.server.Stop)
	s.account = s.server.AddAccount("acme")
	scheme := runtime.NewScheme()
	// Not all of clientgoscheme: the client goes through the scheme at each write.
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithStatusSubresource(
		&v1.OZGroup{}, &v1.OZPolicy{}, &v1.OZResource{}, &v1.OZSetupKey{}, &v1.OZRoutingPeer{}, &v1.OZNetworkResource{}, &v1.OZHTTPRoute{}, &v1.OZSidecarProfile{}, &appsv1.Deployment{},
	).WithIndex(&v1.OZGroup{}, nameIndex, remoteName)
	for _, kind := range kinds() {
		builder.WithIndex(kind, accountIndex, accountOf)
	}
	store := builder.Build()
	s.client = interceptor.NewClient(store, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			if s.refused != nil {
				if err := s.refused(o); err != nil {
					return err
				}
			}
			s.statuses.Add(1)
			return c.SubResource(sub).Patch(ctx, o, p, options...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if group, is := o.(*v1.OZGroup); is && s.behind != nil {
				s.behind.DeepCopyInto(group)
				return nil
			}
			return c.Get(ctx, key, o, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if o.GetUID() == "" {
				s.uids++
				o.SetUID(types.UID(string(rune('a'+s.uids)) + "-uid"))
			}
			return c.Create(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if _, is := o.(*corev1.Secret); is && s.broken != nil {
				return s.broken
			}
			return c.Patch(ctx, o, p, options...)
		},
	})
	s.options = options{
		settings: settings{
			managementURL: s.server.URL, defaultNamespaces: []string{"*"}, clientImage: "client:1", clusterName: "kind", clusterDNS: "svc.cluster.local", interval: time.Minute,
		},
		events: s.events,
		admit: func(context.Context, rules.Object) (v rules.Verdict, err error) {
			if s.denied != "" {
				v.Denials = []string{s.denied}
			}
			return v, nil
		},
	}
	s.restart()
	s.key(team, s.account.Token)
	return s
}

// restart drops the controllers' state in memory.
func (s *site) restart() {
	s.stale = map[*management.Tenant]bool{}
	s.controllerSet = newControllers(s.client, s.client, s.options, newMetrics(prometheus.NewRegistry()), func() time.Time { return s.clock })
	s.controllerSet.wake = func(_ context.Context, o management.Object) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.enqueued = append(s.enqueued, o)
	}
	s.controllerSet.events = s.events
}

// key has a namespace have a key to the server.
func (s *site) key(namespace, token string) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1.APIKeySecret}}
	err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(secret), secret)
	secret.Data = map[string][]byte{v1.APIKey: []byte(token)}
	if apierrors.IsNotFound(err) {
		require.NoError(s.t, s.client.Create(s.t.Context(), secret))
		return
	}
	require.NoError(s.t, s.client.Update(s.t.Context(), secret))
}

// apply is what a user does.
func (s *site) apply(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace(team)
		}
		o.SetResourceVersion("")
		err := s.client.Create(s.t.Context(), o)
		if apierrors.IsAlreadyExists(err) {
			have := o.DeepCopyObject().(client.Object)
			require.NoError(s.t, s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o), have))
			o.SetResourceVersion(have.GetResourceVersion())
			o.SetUID(have.GetUID())
			o.SetFinalizers(have.GetFinalizers())
			o.SetGeneration(have.GetGeneration() + 1)
			err = s.client.Update(s.t.Context(), o)
		}
		require.NoError(s.t, err)
	}
}

func (s *site) delete(o client.Object) {
	s.t.Helper()
	require.NoError(s.t, s.client.Delete(s.t.Context(), o))
}

// reconcile applies objects, and reconciles all objects until nothing changes.
func (s *site) reconcile(objects ...client.Object) {
	s.t.Helper()
	s.apply(objects...)
	s.settle()
}

// requireDeletion deletes an object, which is gone once nothing changes.
func (s *site) requireDeletion(o client.Object) {
	s.t.Helper()
	s.delete(o)
	s.settle()
	require.True(s.t, s.isGone(o))
}

// get reads an object.
func get[T client.Object](s *site, o T) T {
	s.t.Helper()
	if o.GetNamespace() == "" {
		o.SetNamespace(team)
	}
	require.NoError(s.t, s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o))
	return o
}

// isGone says whether an object is there no more.
func (s *site) isGone(o client.Object) bool {
	err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o)
	require.NoError(s.t, client.IgnoreNotFound(err))
	return err != nil
}

// once looks at each object once, and gives the errors.
func (s *site) once() (failures error) {
	s.t.Helper()
	for _, c := range s.all {
		list, err := emptyOf[client.ObjectList](c.of() + "List")
		require.NoError(s.t, err)
		require.NoError(s.t, s.client.List(s.t.Context(), list))
		require.NoError(s.t, meta.EachListItem(list, func(item runtime.Object) error {
			_, err := c.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
			failures = errors.Join(failures, err)
			return nil
		}))
	}
	return failures
}

// carry looks at one object.
func (s *site) carry(c controller, o client.Object) {
	s.t.Helper()
	_, err := c.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	require.NoError(s.t, err)
}

// settle looks at all objects until nothing changes.
func (s *site) settle() {
	s.t.Helper()
	for range 10 {
		before := s.written()
		require.NoError(s.t, s.once())
		if s.written() == before {
			return
		}
	}
	s.t.Fatal("the objects never come to rest")
}

// written counts the writes to the cluster and to the server.
func (s *site) written() int {
	return int(s.statuses.Load()) + s.uids + s.server.Writes(openzro.Call{})
}

// look lists what the servers have, as it happens at an interval, and looks at the objects
// that this wakes, and no others.
func (s *site) look() {
	s.t.Helper()
	s.clock = s.clock.Add(s.options.interval)
	k := s.keeper(s.options.interval)
	k.busy, k.reported, k.stale = map[*management.Tenant]bool{}, map[*management.Tenant]bool{}, s.stale
	s.enqueued = nil
	for _, t := range k.due() {
		k.refresh(s.t.Context(), t)
	}
	for _, t := range k.turnedStale() {
		k.wakeAll(s.t.Context(), t)
	}
	for range 5 {
		for _, o := range s.enqueued {
			for _, c := range s.all {
				if c.of() == o.Kind {
					_, err := c.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: o.NamespacedName})
					require.NoError(s.t, err)
				}
			}
		}
	}
}

// atRest checks that nothing is asked of the server and nothing is written.
func (s *site) atRest() {
	s.t.Helper()
	s.server.ForgetCalls()
	statuses := s.statuses.Load()
	require.NoError(s.t, s.once())
	require.Empty(s.t, s.server.Calls())
	require.Equal(s.t, statuses, s.statuses.Load())
}

// other is another client that writes to the account.
func (s *site) other(token string) *management.Tenant {
	t, err := management.NewTenants(nil, time.Now).Of(management.Credentials{URL: s.server.URL, Key: token})
	require.NoError(s.t, err)
	return t
}

// ready is the condition Ready of an object.
func (s *site) ready(o v1.Object) metav1.Condition {
	s.t.Helper()
	ready := meta.FindStatusCondition(get(s, o).CommonStatus().Conditions, v1.ConditionReady)
	require.NotNil(s.t, ready, "it says nothing")
	return *ready
}

func (s *site) requireReconciled(objects ...v1.Object) {
	s.t.Helper()
	for _, o := range objects {
		ready := s.ready(o)
		require.Equal(s.t, v1.ReasonReconciled, ready.Reason, ready.Message)
		require.Equal(s.t, metav1.ConditionTrue, ready.Status)
	}
}

func (s *site) requireReason(o v1.Object, reason string, words ...string) {
	s.t.Helper()
	ready := s.ready(o)
	require.Equal(s.t, reason, ready.Reason, ready.Message)
	require.Equal(s.t, metav1.ConditionFalse, ready.Status)
	for _, word := range words {
		require.Contains(s.t, ready.Message, word)
	}
}

// groupNamed is a group of the account, which is there.
func (s *site) groupNamed(name string) openzro.Group {
	s.t.Helper()
	for _, g := range s.account.Groups() {
		if g.Name == name {
			return g
		}
	}
	s.t.Fatalf("the server has no group %s", name)
	return openzro.Group{}
}

// names are those of items of the account.
func names[T any](items []T, name func(T) string) (all []string) {
	for _, item := range items {
		all = append(all, name(item))
	}
	return all
}

func (s *site) groupNames() []string {
	return names(s.account.Groups(), func(g openzro.Group) string { return g.Name })
}

func (s *site) policyNames() []string {
	return names(s.account.Policies(), func(p openzro.Policy) string { return p.Name })
}

func ozgroup(name, group string) *v1.OZGroup {
	return &v1.OZGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.OZGroupSpec{Name: group}}
}

// crash stops the manager after a write to the server, before the status is written.
func (s *site) crash() {
	s.t.Helper()
	before := s.server.Writes(openzro.Call{})
	s.refused = func(client.Object) error {
		if s.server.Writes(openzro.Call{}) > before {
			return errors.New("the manager is dead")
		}
		return nil
	}
	require.ErrorContains(s.t, s.once(), "the manager is dead")
	s.refused = nil
	s.restart()
}

// reported returns the Events so far.
func (s *site) reported() (all string) {
	for len(s.events.Events) > 0 {
		all += <-s.events.Events + "\n"
	}
	return all
}
