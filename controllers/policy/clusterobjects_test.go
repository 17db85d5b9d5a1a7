package policy

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/terms"
)

var (
	serviceKind = admission.GroupVersionKind{Kind: "Service"}
	ingressKind = admission.GroupVersionKind{Group: "networking.k8s.io", Kind: "Ingress"}
)

// fakeCluster serves lists and watches, and faults. Its watches show the informers.
type fakeCluster struct {
	mu      sync.Mutex
	objects map[string][]unstructured.Unstructured // by kind
	failure error
	watches map[string]*watch.RaceFreeFakeWatcher
}

func newFakeCluster() *fakeCluster {
	return &fakeCluster{objects: map[string][]unstructured.Unstructured{}, watches: map[string]*watch.RaceFreeFakeWatcher{}}
}

func (f *fakeCluster) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = err
}

// watcher is the open watch of a kind: nil if there is none.
func (f *fakeCluster) watcher(kind string) *watch.RaceFreeFakeWatcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.watches[kind]; w != nil && !w.IsStopped() {
		return w
	}
	return nil
}

func (f *fakeCluster) listWatch(resource admission.ServedResource) cache.ListerWatcher {
	return listOnly{&cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.failure != nil {
				return nil, f.failure
			}
			list := &unstructured.UnstructuredList{Items: f.objects[resource.Kind]}
			list.SetResourceVersion("1")
			return list, nil
		},
		WatchFuncWithContext: func(_ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.watches[resource.Kind] = watch.NewRaceFreeFake()
			return f.watches[resource.Kind], nil
		},
	}}
}

// listOnly does without the watches that begin with a list, which fakes do not have.
type listOnly struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is the method that client-go checks for.
func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

func makeObject(apiVersion, kind, namespace, name string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": namespace, "managedFields": []any{map[string]any{"manager": "kubectl"}}},
	}}
}

// startObjects runs a clusterObjectLoader until the test ends, and checks that nothing of
// it is left then.
func startObjects(t *testing.T, f *fakeCluster, resources func() *admission.Resources) *clusterObjectLoader {
	t.Helper()
	if resources == nil {
		resources = admission.BuiltinResources
	}
	objects := newClusterObjects(resources, f.listWatch)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- objects.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(2 * time.Minute):
			t.Error("Start did not return")
		}
		for _, w := range f.watches {
			require.True(t, w.IsStopped(), "an informer outlived Start")
		}
	})
	return objects
}

func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 2*time.Minute, 5*time.Millisecond, what)
}

func count(objects *clusterObjectLoader, kind admission.GroupVersionKind) int {
	for _, size := range objects.Current().Sizes() {
		if size.Kind == kind {
			return size.Objects
		}
	}
	return -1
}

// readsOf are what a policy with this condition reads of Services.
func readsOf(t *testing.T, condition string) clusterdata.Projection {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: "s", Files: map[string]string{
		"p.rego": "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Service}]\npackage p\ndeny contains \"x\" if " + condition,
	}})
	require.NoError(t, err)
	return set.Projection()
}

func bytesOf(objects *clusterObjectLoader) int {
	for _, size := range objects.Current().Sizes() {
		return size.Bytes
	}
	return 0
}

// TestObjectsAreBroughtAnewForWhoReadsMore: until then, they stay for those before.
func TestObjectsAreBroughtAnewForWhoReadsMore(t *testing.T) {
	f := newFakeCluster()
	f.objects["Service"] = []unstructured.Unstructured{makeObject("v1", "Service", "shop", "a")}
	objects := startObjects(t, f, nil)
	little := readsOf(t, `data.cluster.Service["shop"]["a"].kind == "x"`)
	more := readsOf(t, `data.cluster.Service["shop"]["a"].metadata.name == "x"`)

	objects.Require("one", little)
	eventually(t, func() bool { return objects.Missing(little) == nil }, "the objects with the little")
	require.Equal(t, len(`{"kind": "Service"}`), bytesOf(objects), "nothing else is held")
	require.NotNil(t, objects.Missing(more))

	f.fail(apierrors.NewServiceUnavailable("later"))
	objects.Require("two", more)
	eventually(t, func() bool { return apierrors.IsServiceUnavailable(objects.Missing(more)) }, "the failure")
	require.Nil(t, objects.Missing(little), "who reads what there was goes on")
	f.fail(nil)
	eventually(t, func() bool { return objects.Missing(more) == nil }, "the objects with more")
	require.Nil(t, objects.Missing(little))
	require.Greater(t, bytesOf(objects), len(`{"kind": "Service"}`))
}

func TestInformersFollowWhatIsRequired(t *testing.T) {
	f := newFakeCluster()
	f.objects["Service"] = []unstructured.Unstructured{makeObject("v1", "Service", "shop", "a")}
	objects := startObjects(t, f, nil)
	require.Zero(t, len(f.watches), "nothing is read that nobody requires")

	objects.Require("one", clusterdata.Whole(serviceKind))
	objects.Require("two", clusterdata.Whole(serviceKind, ingressKind))
	both := clusterdata.Whole(serviceKind, ingressKind)
	eventually(t, func() bool { return objects.Missing(both) == nil }, "both kinds to be held")
	require.Equal(t, 1, count(objects, serviceKind))
	require.Equal(t, 0, count(objects, ingressKind), "a kind without objects is held, too")
	eventually(t, func() bool { return f.watcher("Service") != nil && f.watcher("Ingress") != nil }, "the watches")

	added := makeObject("v1", "Service", "shop", "b")
	f.watcher("Service").Add(&added)
	eventually(t, func() bool { return count(objects, serviceKind) == 2 }, "the added object")
	f.watcher("Service").Delete(&f.objects["Service"][0])
	eventually(t, func() bool { return count(objects, serviceKind) == 1 }, "the deletion")
	require.NoError(t, testutil.CollectAndCompare(clusterMetrics{objects.Current}, strings.NewReader(`
# HELP lintel_cluster_data_objects Cluster objects that are held for policies with requires, by kind.
# TYPE lintel_cluster_data_objects gauge
lintel_cluster_data_objects{kind="Ingress.networking.k8s.io"} 0
lintel_cluster_data_objects{kind="Service"} 1
# HELP lintel_cluster_data_bytes Size of these objects as JSON, by kind; in memory they take about ten times that.
# TYPE lintel_cluster_data_bytes gauge
lintel_cluster_data_bytes{kind="Ingress.networking.k8s.io"} 0
lintel_cluster_data_bytes{kind="Service"} 79
`)))

	objects.Require("two", nil)
	eventually(t, func() bool { return !objects.Current().Has(ingressKind) && f.watcher("Ingress") == nil }, "the informer that nobody needs to stop")
	require.True(t, objects.Current().Has(serviceKind), "another source still requires it")
	require.NotNil(t, f.watcher("Service"))
}

func TestABurstCostsOneVersion(t *testing.T) {
	f := newFakeCluster()
	for n := range 10_000 {
		f.objects["Service"] = append(f.objects["Service"], makeObject("v1", "Service", "shop", fmt.Sprint("s", n)))
	}
	objects := startObjects(t, f, nil)
	var changes atomic.Int32
	objects.OnChange(func() { changes.Add(1) })
	versions := map[*clusterdata.Objects]bool{}
	objects.Require("one", clusterdata.Whole(serviceKind))
	eventually(t, func() bool {
		versions[objects.Current()] = true
		return objects.Missing(clusterdata.Whole(serviceKind)) == nil
	}, "the objects")
	require.Equal(t, 10_000, count(objects, serviceKind))
	require.LessOrEqual(t, len(versions), 2, "the empty version, and the one with all")
	eventually(t, func() bool { return changes.Load() == 1 }, "the notification")

	eventually(t, func() bool { return f.watcher("Service") != nil }, "the watch")
	added := makeObject("v1", "Service", "shop", "new")
	f.watcher("Service").Add(&added)
	eventually(t, func() bool { return count(objects, serviceKind) == 10_001 }, "the update")
}

func TestAnInformerThatMayNotListHeals(t *testing.T) {
	f := newFakeCluster()
	f.fail(apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", nil))
	objects := startObjects(t, f, nil)
	changes := make(chan struct{}, 1)
	objects.OnChange(func() { signal(changes, struct{}{}) })
	kinds := clusterdata.Whole(serviceKind)
	objects.Require("one", kinds)
	eventually(t, func() bool { missing := objects.Missing(kinds); return missing != nil && missing.Final }, "the refusal")
	require.True(t, apierrors.IsForbidden(objects.Missing(kinds)))
	<-changes

	f.fail(nil)
	eventually(t, func() bool { return objects.Missing(kinds) == nil }, "the objects, once they may be read")
}

func TestOtherFailuresAreWaitedFor(t *testing.T) {
	f := newFakeCluster()
	f.fail(apierrors.NewServiceUnavailable("starting"))
	objects := startObjects(t, f, nil)
	kinds := clusterdata.Whole(serviceKind)
	objects.Require("one", kinds)
	eventually(t, func() bool { return apierrors.IsServiceUnavailable(objects.Missing(kinds)) }, "the failure")
	require.False(t, objects.Missing(kinds).Final)
}

func TestAKindThatTheClusterDoesNotServe(t *testing.T) {
	f := newFakeCluster()
	table := atomic.Pointer[admission.Resources]{}
	table.Store(admission.NewResources(nil))
	objects := startObjects(t, f, table.Load)
	kinds := clusterdata.Whole(serviceKind)
	objects.Require("one", kinds)
	missing := objects.Missing(kinds)
	require.ErrorIs(t, missing, errKindUnknown)
	require.True(t, missing.Final)
	table.Store(admission.NewResources([]admission.ServedResource{{Group: ingressKind.Group, Version: "v1", Kind: ingressKind.Kind, Name: "ingresses"}}))
	require.False(t, objects.Missing(clusterdata.Whole(serviceKind, ingressKind)).Final, "what is on its way is waited for")

	table.Store(admission.BuiltinResources())
	objects.refresh()
	eventually(t, func() bool { return objects.Missing(kinds) == nil }, "the kind that was installed since")

	table.Store(admission.NewResources([]admission.ServedResource{{Version: "v2", Kind: "Service", Name: "services"}}))
	before := f.watcher("Service")
	objects.refresh()
	eventually(t, func() bool { w := f.watcher("Service"); return w != nil && w != before }, "the preferred version to be followed")
	require.True(t, objects.Current().Has(serviceKind), "meanwhile what is known stays")

	table.Store(admission.NewResources(nil))
	objects.refresh()
	require.Never(t, func() bool { return !objects.Current().Has(serviceKind) }, 100*time.Millisecond, 10*time.Millisecond,
		"a group that cannot be discovered for a moment is no reason to forget its objects")
}

func TestAnObjectThatCannotBeReadIsNotLeftOut(t *testing.T) {
	f := newFakeCluster()
	var deep any = "x"
	for range terms.MaxNesting + 1 {
		deep = []any{deep}
	}
	object := makeObject("v1", "Service", "shop", "deep")
	object.Object["spec"] = deep
	f.objects["Service"] = []unstructured.Unstructured{object}
	objects := startObjects(t, f, nil)
	kinds := clusterdata.Whole(serviceKind)
	objects.Require("one", kinds)
	eventually(t, func() bool {
		missing := objects.Missing(kinds)
		return missing != nil && strings.Contains(missing.Error(), "reading Service shop/deep: objects and lists nest deeper than 1000")
	}, "the reason")
}
