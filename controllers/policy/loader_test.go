package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

const (
	requiresServices  = "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Service}]\n" + good
	requiresIngresses = "# METADATA\n# custom:\n#   requires: [{group: networking.k8s.io, kind: Ingress}]\n" + good
)

// loading is a loader over a cluster of PolicySources that have passed the gate.
type loading struct {
	*loader
	t       *testing.T
	client  client.Client
	cluster *fakeCluster
}

func newLoading(t *testing.T) loading {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.PolicySource{}).Build()
	live := engine.NewLive(admission.BuiltinResources())
	f := newFakeCluster()
	objects := startObjects(t, f, live.Resources)
	return loading{newLoader(c, live, objects, "lintel-system", source.NewCompiler("", 0)), t, c, f}
}

// pass stores a PolicySource as the gate leaves it: with artifact and digest.
func (l loading) pass(name, rego string) {
	l.t.Helper()
	object := makeSource(rego, func(o *v1alpha1.PolicySource) { o.Name = name })
	have := &v1alpha1.PolicySource{}
	if l.client.Get(l.t.Context(), types.NamespacedName{Name: name}, have) == nil {
		have.Spec = object.Spec
		require.NoError(l.t, l.client.Update(l.t.Context(), have))
		object = have
	} else {
		require.NoError(l.t, l.client.Create(l.t.Context(), object))
	}
	object.Status.Digest = definition.Source{Files: object.Spec.Inline.Files}.Digest()
	object.Status.Revision = object.Status.Digest
	require.NoError(l.t, l.client.Status().Update(l.t.Context(), object))
	wanted, err := artifactConfigMaps(object, object.Spec.Inline.Files, "lintel-system")
	require.NoError(l.t, err)
	require.NoError(l.t, storeArtifact(l.t.Context(), l.client, wanted))
}

func (l loading) reconcile(names ...string) {
	l.t.Helper()
	for _, name := range names {
		_, err := l.Reconcile(l.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
		require.NoError(l.t, err)
	}
}

// digest is that of a live source: empty if it is not.
func (l loading) digest(name string) string { return l.live.Digests()[name] }

func TestASourceGoesLiveWhenItsObjectsAreHeld(t *testing.T) {
	l := newLoading(t)
	l.cluster.fail(apierrors.NewServiceUnavailable("starting"))
	l.pass("team", requiresServices)
	l.pass("plain", good)
	l.reconcile("team", "plain")
	require.Empty(t, l.digest("team"))
	require.NotEmpty(t, l.digest("plain"))
	require.Error(t, l.ready(nil), "a replica that starts waits for the objects")

	l.cluster.fail(nil)
	<-l.changed
	eventually(t, func() bool {
		l.reconcile("team")
		return l.ready(nil) == nil
	}, "the replica to be ready")
	require.NotEmpty(t, l.digest("team"))
	require.True(t, l.objects.Current().Has(serviceKind))

	require.NoError(t, l.client.Delete(t.Context(), makeSource(good)))
	l.reconcile("team")
	require.Empty(t, l.digest("team"))
	eventually(t, func() bool { return !l.objects.Current().Has(serviceKind) }, "the objects to be forgotten")
}

func TestAReplicaThatStartsDoesNotWaitForPermission(t *testing.T) {
	l := newLoading(t)
	l.cluster.fail(apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", nil))
	l.pass("team", requiresServices)
	l.reconcile("team")
	eventually(t, func() bool {
		l.reconcile("team")
		return l.ready(nil) == nil
	}, "the replica to be ready")
	review, err := admission.NewReview([]byte(`{"uid":"1","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"name":"a","namespace":"b","operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}}`))
	require.NoError(t, err)
	ask := func() *engine.Decision {
		return l.live.Snapshot().Validate(t.Context(), review, engine.Options{Cluster: l.objects.Current()})
	}
	require.True(t, ask().Denials[0].Error, "its failure policy decides about what it cannot evaluate")

	l.cluster.fail(nil)
	eventually(t, func() bool { return !ask().Denials[0].Error }, "the policy to be asked")
}

func TestTheRevisionThatIsLiveStaysUntilTheNextHasItsObjects(t *testing.T) {
	l := newLoading(t)
	l.pass("team", requiresServices)
	eventually(t, func() bool { l.reconcile("team"); return l.ready(nil) == nil }, "the replica to be ready")
	first := l.digest("team")

	l.cluster.fail(apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, "", nil))
	l.pass("team", requiresIngresses)
	l.pass("plain", good)
	l.reconcile("team", "plain")
	kinds := clusterdata.Whole(ingressKind)
	eventually(t, func() bool { missing := l.objects.Missing(kinds); return missing != nil && missing.Final }, "the refusal")
	l.reconcile("team", "plain")
	require.Equal(t, first, l.digest("team"))
	require.True(t, l.objects.Current().Has(serviceKind), "what is live keeps its objects")
	require.NotEmpty(t, l.digest("plain"), "another source is not held up")

	l.cluster.fail(nil)
	eventually(t, func() bool { l.reconcile("team"); return l.digest("team") != first }, "the new revision to go live")
	eventually(t, func() bool { return !l.objects.Current().Has(serviceKind) }, "the objects that only the old one required to be forgotten")

	l.cluster.fail(apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", nil))
	second := l.digest("team")
	l.pass("team", requiresServices)
	l.reconcile("team")
	l.pass("team", requiresIngresses)
	l.reconcile("team")
	require.Equal(t, second, l.digest("team"))
	require.Empty(t, l.waiting)
	eventually(t, func() bool { return l.cluster.watcher("Service") == nil }, "nobody to wait for what an abandoned revision required")
	l.objects.mu.Lock()
	defer l.objects.mu.Unlock()
	require.Len(t, l.objects.required, 1)
	require.Contains(t, l.objects.required["team"], ingressKind)
}

// TestWhatWasCompiledForTheGateIsLoaded as it is, and not kept once it is live.
func TestWhatWasCompiledForTheGateIsLoaded(t *testing.T) {
	l := newLoading(t)
	revision := source.FromPolicySource(makeSource(good), makeSource(good).Spec.Inline.Files, "")
	evaluated, err := l.compiler.Load(t.Context(), revision)
	require.NoError(t, err)
	l.pass("team", good)
	l.reconcile("team")
	live, _ := l.live.Get("team")
	require.Same(t, evaluated, live)

	again, err := l.compiler.Load(t.Context(), revision)
	require.NoError(t, err)
	require.NotSame(t, live, again)
}

// TestASourceThatIsCreatedAgainIsYounger: the deletion and the creation of a PolicySource may be one
// event. Which of two sources keeps a package depends on their age.
func TestASourceThatIsCreatedAgainIsYounger(t *testing.T) {
	l := newLoading(t)
	create := func(at time.Time) {
		object := makeSource(good, func(o *v1alpha1.PolicySource) { o.Name, o.CreationTimestamp = "team", metav1.NewTime(at) })
		require.NoError(t, l.client.Create(t.Context(), object))
		l.pass("team", good)
		l.reconcile("team")
	}
	created := func() time.Time {
		set, ok := l.live.Get("team")
		require.True(t, ok)
		return set.Source().Created
	}
	first := time.Now().Add(-time.Hour).Truncate(time.Second)
	create(first)
	require.True(t, created().Equal(first))
	_, err := l.compiler.Load(t.Context(), source.FromPolicySource(makeSource(good, func(o *v1alpha1.PolicySource) { o.Name, o.CreationTimestamp = "team", metav1.NewTime(first) }), makeSource(good).Spec.Inline.Files, ""))
	require.NoError(t, err)
	require.NoError(t, l.client.Delete(t.Context(), makeSource(good, func(o *v1alpha1.PolicySource) { o.Name = "team" })))
	create(first.Add(time.Minute))
	require.True(t, created().Equal(first.Add(time.Minute)))
}
