package blocked

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/test/reviews"
)

var start = time.Date(2026, 12, 4, 17, 0, 0, 0, time.UTC)

// workload is an object of apps/v1, with a controller unless controller is empty.
func workload(kind, name, controllerKind, controller string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name + "-uid")},
	}
	if controller != "" {
		object.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"},
			{APIVersion: "apps/v1", Kind: controllerKind, Name: controller, UID: types.UID(controller + "-uid"), Controller: new(true)},
		}
	}
	return object
}

// pod is the review of a Pod that a controller creates.
func pod(t *testing.T, controllerKind, controller string, change func(reviews.Builder)) *admission.Review {
	t.Helper()
	object := workload("Pod", "", controllerKind, controller)
	object.APIVersion, object.GenerateName = "v1", "web-1-"
	builder := reviews.MakeCreation(corev1.SchemeGroupVersion.WithKind("Pod"), "pods", object).Named("shop", "")
	change(builder)
	return builder.Obj(t)
}

func unchanged(reviews.Builder) {}

// site has Events in front of an API server with workloads.
type site struct {
	*testing.T
	*Events
	client   *fake.FakeMetadataClient
	recorder *events.FakeRecorder
	clock    time.Time
}

func newSite(t *testing.T, objects ...runtime.Object) *site {
	t.Helper()
	scheme := fake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	require.NoError(t, appsv1.AddToScheme(scheme))
	s := &site{T: t, client: fake.NewSimpleMetadataClient(scheme, objects...), recorder: events.NewFakeRecorder(100), clock: start}
	s.Events = New(admission.BuiltinResources, s.client, s.recorder)
	s.now = func() time.Time { return s.clock }
	return s
}

// work handles the queue, and returns the Events and the errors.
func (s *site) work() (sent []string, problems []error) {
	for {
		select {
		case next := <-s.queue:
			if s.due(next) {
				if err := s.send(s.Context(), next); err != nil {
					problems = append(problems, err)
				}
			}
			continue
		default:
		}
		break
	}
	for len(s.recorder.Events) > 0 {
		sent = append(sent, <-s.recorder.Events)
	}
	return sent, problems
}

func TestTheTopWorkloadGetsAnEvent(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload("Deployment", "web", "", ""), workload("ReplicaSet", "web-1", "Deployment", "web"))
	top, err := s.top(t.Context(), denial{namespace: "shop", owner: owner{"apps/v1", "ReplicaSet", "web-1", "web-1-uid"}})
	require.NoError(t, err)
	require.Equal(t, owner{"apps/v1", "Deployment", "web", "web-uid"}, top)
	s.Denied(pod(t, "ReplicaSet", "web-1", unchanged), []string{"no team", "no owner"})
	sent, problems := s.work()
	require.Empty(t, problems)
	require.Equal(t, []string{"Warning ChildDenied Pod web-1-… of ReplicaSet web-1 was denied: no team; no owner"}, sent)

	s.client.PrependReactor("get", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(appsv1.Resource("deployments"), "web", nil)
	})
	top, err = s.top(t.Context(), denial{namespace: "shop", owner: owner{"apps/v1", "ReplicaSet", "web-1", "web-1-uid"}})
	require.NoError(t, err)
	require.Equal(t, "web", top.name, "the ReplicaSet names it")
}

// A repeated denial has one Event in ten minutes, and an owner few, even if all messages differ.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload("ReplicaSet", "web-1", "", ""))
	for range 20 {
		s.Denied(pod(t, "ReplicaSet", "web-1", unchanged), []string{"no"})
	}
	sent, _ := s.work()
	require.Equal(t, []string{"Warning ChildDenied Pod web-1-… was denied: no"}, sent)
	s.clock = s.clock.Add(repeatAfter - time.Second)
	s.Denied(pod(t, "ReplicaSet", "web-1", unchanged), []string{"no"})
	sent, _ = s.work()
	require.Empty(t, sent)
	s.clock = s.clock.Add(time.Second)
	s.Denied(pod(t, "ReplicaSet", "web-1", unchanged), []string{"no"})
	sent, _ = s.work()
	require.Len(t, sent, 1)
	for i := range 50 {
		s.Denied(pod(t, "ReplicaSet", "web-1", unchanged), []string{fmt.Sprint(i)})
	}
	sent, _ = s.work()
	require.Len(t, sent, ownerBurst-1)

	for i := range 3 * queueLength { // nothing empties the queue, and nothing waits
		s.Denied(pod(t, "ReplicaSet", fmt.Sprint(i), unchanged), []string{"no"})
	}
	require.Len(t, s.queue, queueLength)
	_, problems := s.work()
	require.LessOrEqual(t, len(problems), allBurst)
	for i := range 2 * maxOwners {
		s.clock = s.clock.Add(time.Millisecond)
		s.due(denial{owner: owner{uid: types.UID(fmt.Sprint("owner-", i))}})
	}
	require.Len(t, s.owners, maxOwners)
	require.Contains(t, s.owners, types.UID(fmt.Sprint("owner-", 2*maxOwners-1)))
	require.NotContains(t, s.owners, types.UID("owner-0"), "the oldest are forgotten")
}

// Reviews that create nothing, and objects without a controller, have no Events.
func TestDenialsWithoutEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload("ReplicaSet", "web-1", "", ""))
	for name, review := range map[string]*admission.Review{
		"dry run":       pod(t, "ReplicaSet", "web-1", func(b reviews.Builder) { b["dryRun"] = true }),
		"update":        pod(t, "ReplicaSet", "web-1", func(b reviews.Builder) { b["operation"] = "UPDATE" }),
		"subresource":   pod(t, "ReplicaSet", "web-1", func(b reviews.Builder) { b["subResource"] = "eviction" }),
		"no controller": pod(t, "", "", unchanged),
	} {
		s.Denied(review, []string{"no"})
		require.Empty(t, s.queue, name)
	}
}

// A reference to an owner that does not exist, that was replaced, or that is of an unknown kind
// leads to no Event: any user can write it.
func TestForgedReferences(t *testing.T) {
	t.Parallel()
	replaced := workload("ReplicaSet", "web-1", "", "")
	replaced.UID = "another"
	s := newSite(t, replaced)
	for _, controller := range [][2]string{{"ReplicaSet", "web-1"}, {"ReplicaSet", "missing"}, {"Unknown", "web"}} {
		s.Denied(pod(t, controller[0], controller[1], unchanged), []string{"no"})
	}
	sent, problems := s.work()
	require.Empty(t, sent)
	require.Len(t, problems, 3)
}

func TestEventsEndWithTheContext(t *testing.T) {
	t.Parallel()
	s := newSite(t, workload("ReplicaSet", "web-1", "", ""))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	s.Denied(pod(t, "ReplicaSet", "web-1", unchanged), []string{"no"})
	require.Equal(t, "Warning ChildDenied Pod web-1-… was denied: no", <-s.recorder.Events)
	cancel()
	require.NoError(t, <-ended)
}
