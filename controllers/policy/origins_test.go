package policy

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

// testOrigins is an origins whose repository is a function.
type testOrigins struct {
	*origins
	t     *testing.T
	queue workqueue.TypedRateLimitingInterface[reconcile.Request] // gets a source whose look has ended

	mu       sync.Mutex
	requests []origin.Request
}

func newTestOrigins(t *testing.T, fetch func(ctx context.Context, request origin.Request) (*origin.Answer, error), secrets ...client.Object) *testOrigins {
	o := &testOrigins{t: t, queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())}
	o.origins = newOrigins(&origins{
		secrets: fake.NewClientBuilder().WithObjects(secrets...).Build(), namespace: "lintel-system",
		fetch: func(ctx context.Context, request origin.Request) (*origin.Answer, error) {
			o.mu.Lock()
			o.requests = append(o.requests, request)
			o.mu.Unlock()
			return fetch(ctx, request)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, o.fetches.Source().Start(ctx, o.queue))
	done := make(chan struct{})
	go func() { defer close(done); _ = o.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return o
}

// look begins a look, and waits until one has ended.
func (o *testOrigins) look(object *v1alpha1.PolicySource) look {
	o.t.Helper()
	o.Look(object, nil)
	o.wait(object.Name)
	got, _ := o.Look(object, nil)
	return got
}

func (o *testOrigins) wait(name string) {
	o.t.Helper()
	request, _ := o.queue.Get()
	o.queue.Done(request)
	require.Equal(o.t, name, request.Name)
}

func (o *testOrigins) asked() []origin.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests
}

func gitSource(name string) *v1alpha1.PolicySource {
	object := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1"}}
	object.Spec.Git = &v1alpha1.GitOrigin{URL: "https://git.example.com/" + name}
	object.Spec.Interval.Duration = time.Hour
	return object
}

func always(revision string) func(context.Context, origin.Request) (*origin.Answer, error) {
	return func(_ context.Context, request origin.Request) (*origin.Answer, error) {
		if request.Known == revision {
			return &origin.Answer{Revision: revision}, nil
		}
		return &origin.Answer{Revision: revision, Files: map[string]string{"a.rego": "package a"}}, nil
	}
}

func TestOriginsAreLookedAtWhenDue(t *testing.T) {
	o := newTestOrigins(t, always("r1"))
	object := gitSource("team")
	first, _ := o.Look(object, nil)
	require.False(t, first.done)
	o.wait("team")
	got, due := o.Look(object, nil)
	require.Equal(t, "r1", got.answer.Revision)
	require.Greater(t, due, 53*time.Minute)
	require.LessOrEqual(t, due, time.Hour, "never later than the interval")
	require.Len(t, o.asked(), 1, "it is not due yet")

	object.Annotations = map[string]string{v1alpha1.ReconcileAtAnnotation: "now"}
	got = o.look(object)
	require.Equal(t, "now", got.handled)
	require.Len(t, o.asked(), 2)
	require.Equal(t, "r1", o.asked()[1].Known)
	require.NotEmpty(t, got.answer.Files, "what is known stays")

	o.Look(object, map[string]string{"pod-1": "10:00"})
	o.wait("team")
	require.Len(t, o.asked(), 3, "a notification that another replica received")
	o.Look(object, map[string]string{"pod-1": "10:00"})
	o.Look(object, nil)
	require.Len(t, o.asked(), 3, "the same one again, and a replica that has ended")

	o.notify("team")
	o.notify("nobody")
	o.wait("team")
	o.look(object)
	require.Len(t, o.asked(), 4)

	object.Spec.Interval.Duration = 5 * time.Second
	_, due = o.Look(object, nil)
	require.LessOrEqual(t, due, 5*time.Second, "a shorter interval holds at once")

	object.Spec.Git = object.Spec.Git.DeepCopy()
	object.Spec.Git.Path = "other"
	pending, _ := o.Look(object, nil)
	require.False(t, pending.done, "what was found of another origin says nothing")
	o.wait("team")
	require.Empty(t, o.asked()[4].Known)
}

func TestASlowOriginHoldsUpNoOther(t *testing.T) {
	quick := always("r1")
	o := newTestOrigins(t, func(ctx context.Context, request origin.Request) (*origin.Answer, error) {
		if request.Git.URL == "https://git.example.com/slow" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return quick(ctx, request)
	})
	o.Look(gitSource("slow"), nil)
	require.Equal(t, "r1", o.look(gitSource("quick")).answer.Revision)
}

func TestNotificationsBecomeOneLook(t *testing.T) {
	release := make(chan struct{})
	o := newTestOrigins(t, func(ctx context.Context, request origin.Request) (*origin.Answer, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return always("r1")(ctx, request)
	})
	object := gitSource("team")
	o.Look(object, nil)
	for range 50 { // while one look is running
		o.notify("team")
		o.wait("team")
		o.Look(object, nil)
	}
	close(release)
	o.wait("team")
	o.look(object)
	require.Len(t, o.asked(), 2, "all of them are one look more")
}

func TestFailuresAreTriedAgain(t *testing.T) {
	failing := true
	o := newTestOrigins(t, func(ctx context.Context, request origin.Request) (*origin.Answer, error) {
		if failing {
			return nil, &origin.Error{Reason: origin.ReasonNotFound, Message: "gone"}
		}
		return always("r1")(ctx, request)
	})
	object := gitSource("team")
	again := func(value string) (look, time.Duration) {
		object.Annotations = map[string]string{v1alpha1.ReconcileAtAnnotation: value}
		o.look(object)
		return o.Look(object, nil)
	}
	var last time.Duration
	for _, value := range []string{"1", "2", "3"} {
		got, due := again(value)
		require.Equal(t, origin.ReasonNotFound, got.failure.Reason)
		require.Nil(t, got.answer)
		require.Greater(t, due, last, "each pause is longer")
		require.LessOrEqual(t, due, time.Minute)
		last = due
	}
	failing = false
	got, due := again("4")
	require.Nil(t, got.failure)
	require.Equal(t, "r1", got.answer.Revision)
	require.Greater(t, due, time.Minute)
	failing = true
	got, _ = again("5")
	require.NotNil(t, got.failure)
	require.Equal(t, "r1", got.answer.Revision, "the last good answer is kept")
}

func TestSecretsOfOrigins(t *testing.T) {
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lintel-system", Name: "keys"}, Data: map[string][]byte{"ada": []byte("1")}}
	o := newTestOrigins(t, always("r1"), keys)
	object := gitSource("team")
	object.Spec.Git.Verify = &v1alpha1.GitVerification{SecretRef: v1alpha1.SecretReference{Name: "keys"}}
	o.look(object)
	require.Equal(t, keys.Data, o.asked()[0].Keys)

	keys.Data["ada"] = []byte("2")
	require.NoError(t, o.secrets.(client.Client).Update(t.Context(), keys))
	object.Annotations = map[string]string{v1alpha1.ReconcileAtAnnotation: "1"}
	o.look(object)
	require.Empty(t, o.asked()[1].Known, "with other keys, what is known must be verified again")

	object.Spec.Git.SecretRef = &v1alpha1.SecretReference{Name: "missing"}
	got := o.look(object)
	require.Equal(t, origin.ReasonCredentialsInvalid, got.failure.Reason)
	require.Contains(t, got.failure.Message, "no Secret missing in namespace lintel-system")
	require.Len(t, o.asked(), 2, "nothing is fetched without them")
}

func TestFileOriginsNeedPermission(t *testing.T) {
	o := newTestOrigins(t, always("r1"))
	object := gitSource("team")
	object.Spec.Git.URL = "file:///srv/policies.git"
	got := o.look(object)
	require.Contains(t, got.failure.Message, "--allow-file-origins")
	require.Empty(t, o.asked())
	o.allowFile = true
	object.Annotations = map[string]string{v1alpha1.ReconcileAtAnnotation: "1"}
	require.Nil(t, o.look(object).failure)
}

func TestErrorsOfFetchingHaveAReason(t *testing.T) {
	o := newTestOrigins(t, func(context.Context, origin.Request) (*origin.Answer, error) {
		return nil, errors.New("no such program")
	})
	require.Equal(t, &origin.Error{Reason: origin.ReasonFetchFailed, Message: "no such program"}, o.look(gitSource("team")).failure)
}
