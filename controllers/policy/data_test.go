package policy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

func dataSource(change func(*v1alpha1.DataSource)) *v1alpha1.DataSource {
	object := &v1alpha1.DataSource{
		ObjectMeta: metav1.ObjectMeta{Name: "registries", UID: "u1", Generation: 1},
		Spec:       v1alpha1.DataSourceSpec{HTTPS: &v1alpha1.HTTPSOrigin{URL: "https://a.example/list.json", CABundle: []byte("x")}, Interval: metav1.Duration{Duration: time.Minute}},
	}
	if change != nil {
		change(object)
	}
	return object
}

func digestOfData(text string) string {
	return definition.Source{Files: external.Files(text)}.Digest()
}

var dataNow = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func TestStatusOfDataSources(t *testing.T) {
	t.Parallel()
	good := digestOfData(`["a"]`)
	answered := func(ago time.Duration) *look {
		return &look{done: true, succeeded: dataNow.Add(-ago), answer: &origin.Answer{Revision: "r2", Files: external.Files(`["a"]`), Entries: 1}}
	}
	failed := func(reason string, known bool) *look {
		l := &look{done: true, failure: &origin.Error{Reason: reason, Message: "m"}}
		if known {
			l.answer, l.succeeded = answered(0).answer, dataNow.Add(-10*time.Minute)
		}
		return l
	}
	inForce := func(s *v1alpha1.DataSource) {
		at := metav1.NewTime(dataNow.Add(-10 * time.Minute))
		s.Status = v1alpha1.DataSourceStatus{ObservedGeneration: 1, Digest: good, Revision: "r2", Entries: 1, Bytes: 5, LastSuccess: &at}
	}
	serving := []v1alpha1.ReplicaStatus{{Name: "a", Digest: good}, {Name: "b", Digest: good}}
	for name, c := range map[string]struct {
		object   func(*v1alpha1.DataSource)
		origin   *look
		stored   error
		loading  error
		replicas []v1alpha1.ReplicaStatus
		now      time.Duration // later
		ready    string        // status and reason
		stale    string
		words    string
		digest   string
	}{
		"the first check runs":      {origin: &look{}, ready: "False Progressing", stale: "", words: "is being fetched"},
		"the first check fails":     {origin: failed("NotFound", false), ready: "False NotFound", stale: "True NoData", words: "policies that read it cannot be evaluated"},
		"stored, not served":        {origin: answered(0), ready: "False Progressing", stale: "False Fresh", words: "0 of 0 replicas", digest: good},
		"served by some":            {origin: answered(0), replicas: []v1alpha1.ReplicaStatus{{Name: "a", Digest: good}, {Name: "b"}}, ready: "False Progressing", stale: "False Fresh", words: "1 of 2 replicas", digest: good},
		"served by all":             {origin: answered(0), replicas: serving, ready: "True Serving", stale: "False Fresh", words: "2 of 2 replicas serve revision r2 with 1 entries", digest: good},
		"not stored":                {origin: answered(0), stored: errors.New("no space"), ready: "False ArtifactFailed", stale: "True NoData", words: "no space"},
		"a broken push":             {object: inForce, origin: failed("SchemaMismatch", true), replicas: serving, ready: "False SchemaMismatch", stale: "False Fresh", words: "m; the last good data, revision r2, stays in force", digest: good},
		"a broken push, restarted":  {object: inForce, origin: failed("SchemaMismatch", false), replicas: serving, ready: "False SchemaMismatch", stale: "False Fresh", words: "stays in force", digest: good},
		"broken for long":           {object: inForce, origin: failed("FetchFailed", false), replicas: serving, now: time.Hour, ready: "False FetchFailed", stale: "True NotChecked", digest: good},
		"suspended":                 {object: func(s *v1alpha1.DataSource) { inForce(s); s.Spec.Suspend = true }, replicas: serving, ready: "True Suspended", stale: "False Fresh", digest: good},
		"suspended for long":        {object: func(s *v1alpha1.DataSource) { inForce(s); s.Spec.Suspend = true }, replicas: serving, now: time.Hour, ready: "True Suspended", stale: "True NotChecked", digest: good},
		"suspended from the start":  {object: func(s *v1alpha1.DataSource) { s.Spec.Suspend = true }, ready: "False Suspended", stale: "True NoData"},
		"a tampered artifact":       {object: inForce, origin: answered(0), loading: errors.New("the artifact holds x"), replicas: []v1alpha1.ReplicaStatus{{Name: "a"}}, ready: "False LoadFailed", stale: "False Fresh", words: "the artifact holds x", digest: good},
		"a changed spec is fetched": {object: func(s *v1alpha1.DataSource) { inForce(s); s.Generation = 2 }, origin: &look{}, replicas: serving, ready: "False Progressing", stale: "False Fresh", digest: good},
		"restarted":                 {object: inForce, origin: &look{}, replicas: serving, ready: "True Serving", stale: "False Fresh", digest: good},
	} {
		object := dataSource(c.object)
		f := dataFacts{object: object, now: dataNow.Add(c.now), origin: c.origin, stored: c.stored, loading: c.loading, replicas: c.replicas}
		if c.origin != nil && c.origin.answer != nil {
			f.digest = digestOfData(`["a"]`)
		}
		next := dataStatus(f)
		says := func(kind string) string {
			condition := meta.FindStatusCondition(next.Conditions, kind)
			if condition == nil {
				return ""
			}
			return string(condition.Status) + " " + condition.Reason
		}
		require.Equal(t, c.ready, says(v1alpha1.ConditionReady), name)
		require.Equal(t, c.stale, says(v1alpha1.ConditionStale), name)
		require.Contains(t, meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady).Message, c.words, name)
		require.Equal(t, c.digest, next.Digest, name)
	}
}

// TestStatusOfDataSourcesIsWrittenSeldom: a check without news does not change the status, until
// lastSuccess is a quarter of staleAfter behind.
func TestStatusOfDataSourcesIsWrittenSeldom(t *testing.T) {
	t.Parallel()
	object := dataSource(nil)
	replicas := []v1alpha1.ReplicaStatus{{Name: "a", Digest: digestOfData(`["a"]`)}}
	check := func(at time.Time) {
		object.Status = dataStatus(dataFacts{object: object, now: at, digest: digestOfData(`["a"]`), replicas: replicas,
			origin: &look{done: true, succeeded: at, answer: &origin.Answer{Revision: "r", Files: external.Files(`["a"]`), Entries: 1}}})
	}
	check(dataNow)
	first := object.Status.DeepCopy()
	for minutes := range 15 {
		check(dataNow.Add(time.Duration(minutes) * time.Minute))
		require.Equal(t, first, &object.Status, minutes)
	}
	check(dataNow.Add(15 * time.Minute))
	require.Equal(t, dataNow.Add(15*time.Minute), object.Status.LastSuccess.UTC())
}

// dataCluster has a DataSource and a reconciler and loader of its data.
type dataCluster struct {
	t *testing.T
	client.Client
	origins    *testOrigins
	reconciler *dataReconciler
}

func newDataCluster(t *testing.T, fetch func(context.Context, origin.Request) (*origin.Answer, error), objects ...client.Object) *dataCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.DataSource{}).Build()
	f := &dataCluster{t: t, Client: c, origins: newTestOrigins(t, fetch)}
	f.restart()
	return f
}

// restart begins with an empty memory, as a new process does.
func (f *dataCluster) restart() {
	live := engine.NewLive(admission.BuiltinResources())
	live.Publish()
	loader := newDataLoader(f.Client, live, "lintel-system")
	loader.loaded = func(context.Context) error { return nil }
	f.reconciler = &dataReconciler{client: f.Client, live: live, loader: loader, origins: f.origins.origins, namespace: "lintel-system", now: time.Now}
}

func (f *dataCluster) load() error {
	_, err := f.reconciler.loader.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "registries"}})
	return err
}

// step reconciles once and stores the status.
func (f *dataCluster) step() *v1alpha1.DataSource {
	f.t.Helper()
	object := &v1alpha1.DataSource{}
	require.NoError(f.t, f.Get(f.t.Context(), client.ObjectKey{Name: "registries"}, object))
	report, _ := f.reconciler.step(f.t.Context(), object)
	object.Status = *report.Status
	require.NoError(f.t, f.Status().Update(f.t.Context(), object))
	return object
}

// fetched reconciles until the origin was checked.
func (f *dataCluster) fetched() *v1alpha1.DataSource {
	f.t.Helper()
	f.step()
	f.origins.wait("registries")
	return f.step()
}

// TestDataSurvivesARestart: the last good data is stored in the cluster, and loaded and kept while
// the origin is broken.
func TestDataSurvivesARestart(t *testing.T) {
	t.Parallel()
	broken := false
	f := newDataCluster(t, func(context.Context, origin.Request) (*origin.Answer, error) {
		if broken {
			return nil, &origin.Error{Reason: origin.ReasonFetchFailed, Message: "down"}
		}
		return &origin.Answer{Revision: "r1", Files: external.Files(`{"<a>":[1.50,null,"é"]}`), Entries: 1}, nil
	}, dataSource(nil))
	object := f.fetched()
	require.NoError(t, f.load())
	require.Equal(t, object.Status.Digest, f.reconciler.live.External()["registries"].Digest)

	broken = true
	f.origins.Forget("registries")
	f.restart()
	require.Equal(t, "registries", must(f.reconciler.loader.pending(t.Context(), nil)), "a replica is not ready before it has loaded the data")
	require.NoError(t, f.load())
	require.Empty(t, must(f.reconciler.loader.pending(t.Context(), nil)))
	require.Equal(t, object.Status.Digest, f.reconciler.live.External()["registries"].Digest)
	object = f.fetched()
	ready := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
	require.Equal(t, origin.ReasonFetchFailed, ready.Reason)
	require.Contains(t, ready.Message, "the last good data, revision r1, stays in force")

	require.NoError(t, f.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace("lintel-system")))
	f.step()
	f.restart()
	require.NoError(t, f.load(), "the leader has stored the data that it serves again")
}

func TestTamperedData(t *testing.T) {
	t.Parallel()
	f := newDataCluster(t, func(context.Context, origin.Request) (*origin.Answer, error) {
		return &origin.Answer{Revision: "r1", Files: external.Files(`["a"]`), Entries: 1}, nil
	}, dataSource(nil))
	object := f.fetched()
	var stored corev1.ConfigMapList
	require.NoError(t, f.List(t.Context(), &stored))
	require.Len(t, stored.Items, 1)
	other, err := dataArtifacts.configMaps(object, external.Files(`["a","evil"]`), "lintel-system")
	require.NoError(t, err)
	changed := stored.Items[0].DeepCopy()
	require.NoError(t, f.Delete(t.Context(), changed.DeepCopy()))
	changed.ResourceVersion, changed.BinaryData = "", other[0].BinaryData
	require.NoError(t, f.Create(t.Context(), changed))

	require.ErrorContains(t, f.load(), "the artifact holds sha256:")
	require.Nil(t, f.reconciler.live.External()["registries"])
	require.Empty(t, must(f.reconciler.loader.pending(t.Context(), nil)), "a broken artifact does not keep a replica from answering")
	ready := meta.FindStatusCondition(f.step().Status.Conditions, v1alpha1.ConditionReady)
	require.Equal(t, ReasonArtifactFailed, ready.Reason)
	require.Contains(t, ready.Message, "holds something else than this artifact; delete it")
}

func TestMissingDataOfPolicies(t *testing.T) {
	t.Parallel()
	f := newDataCluster(t, nil, dataSource(func(s *v1alpha1.DataSource) {
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "False", Reason: "NotFound", Message: "404"}}
	}))
	require.Equal(t, "DataSource other does not exist: create it, or correct custom.external; DataSource registries has no data yet: 404",
		must(missingData(t.Context(), f, []string{"other", "registries"})))
	object := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 1}}
	set, err := policyset.Compile(definition.Source{Name: "p", Files: map[string]string{"p.rego": "package p\ndeny contains \"x\""}})
	require.NoError(t, err)
	passed := func(before string) *metav1.Condition {
		object.Status.Digest, object.Status.Revision = before, "old"
		next := status(facts{object: object, verdict: &source.Verdict{Set: set}, dataMissing: "gone", replicas: []v1alpha1.ReplicaStatus{{Name: "a", Digest: set.Digest()}}})
		if before == "" {
			require.Equal(t, set.Digest(), next.Digest, "without an earlier revision, the policies come into force and fail closed")
		} else {
			require.Equal(t, before, next.Digest)
		}
		return meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	}
	for before, words := range map[string]string{"": "spec.failurePolicy applies", "sha256:old": "the last good revision old stays live"} {
		ready := passed(before)
		require.Equal(t, "False", string(ready.Status))
		require.Equal(t, ReasonDataMissing, ready.Reason)
		require.Contains(t, ready.Message, words)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestArtifactsAreInTheCache: replicas read artifacts from it, and it has the ConfigMaps of one label.
func TestArtifactsAreInTheCache(t *testing.T) {
	t.Parallel()
	for object, options := range Caches("lintel-system") {
		if _, ok := object.(*corev1.ConfigMap); !ok {
			continue
		}
		for _, kind := range []artifactKind{policyArtifacts, dataArtifacts} {
			require.True(t, options.Namespaces["lintel-system"].LabelSelector.Matches(labels.Set(kind.labels("a"))), kind.kind)
		}
	}
	chunk := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: dataArtifacts.labels("a")}}
	require.Empty(t, policyArtifacts.toOwner(t.Context(), chunk))
	require.Len(t, dataArtifacts.toOwner(t.Context(), chunk), 1)
}
