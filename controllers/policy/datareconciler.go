package policy

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/tracing"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// dataManager owns the fields that the reconciler of DataSources writes.
const dataManager = "lintel-policy-data"

// dataReconciler fetches the data of DataSources, stores it and writes their status. It runs on
// the leader.
type dataReconciler struct {
	client    client.Client
	live      *engine.Live
	loader    *dataLoader
	origins   *origins
	namespace string // of artifacts and reports
	events    events.EventRecorder
	now       func() time.Time
	changed   chan event.GenericEvent // for all DataSources
}

func newDataReconciler(p *Policies, loader *dataLoader) *dataReconciler {
	r := &dataReconciler{
		client: p.manager.GetClient(), live: p.Live, loader: loader, origins: p.dataOrigins, namespace: p.options.Namespace,
		events: p.manager.GetEventRecorder("lintel-manager"), now: time.Now, changed: make(chan event.GenericEvent, 1),
	}
	p.Live.OnChange(func(*engine.Snapshot) { signal(r.changed, event.GenericEvent{Object: &v1alpha1.DataSource{}}) })
	return r
}

// setUp registers the controller.
func (r *dataReconciler) setUp(mgr manager.Manager) error {
	every := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return object.RequestsFor[*v1alpha1.DataSource](ctx, r.client, &v1alpha1.DataSourceList{}, nil)
	})
	return builder.ControllerManagedBy(mgr).
		Named(dataManager).
		For(&v1alpha1.DataSource{}).
		Owns(&corev1.ConfigMap{}). // a deleted artifact is stored again
		Watches(&coordinationv1.Lease{}, every, builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		WatchesRawSource(ctrlsource.Channel(r.changed, every)).
		WatchesRawSource(r.origins.fetches.Source()).
		Complete(r)
}

// dataNews maps the types of a DataSource's conditions to their Events.
var dataNews = map[string]object.News{
	v1alpha1.ConditionReady: readiness,
	v1alpha1.ConditionStale: object.Turned(metav1.ConditionTrue),
}

type dataReport = object.Report[v1alpha1.DataSourceStatus]

// Reconcile implements reconcile.Reconciler.
func (r *dataReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	reporter := object.Reporter[*v1alpha1.DataSource, v1alpha1.DataSourceStatus]{
		Client: r.client, Manager: dataManager, Action: "Reconcile", Events: r.events, News: dataNews, Gone: r.forget,
		Status:     func(s *v1alpha1.DataSource) *v1alpha1.DataSourceStatus { return &s.Status },
		Conditions: func(s *v1alpha1.DataSourceStatus) []metav1.Condition { return s.Conditions },
	}
	return reporter.Reconcile(ctx, request, &v1alpha1.DataSource{}, r.step)
}

// forget drops the state of a deleted DataSource. The garbage collector deletes its artifacts.
func (r *dataReconciler) forget(_ context.Context, name client.ObjectKey) error {
	r.origins.Forget(name.Name)
	return nil
}

// step gathers the facts, stores the data and computes the status.
func (r *dataReconciler) step(ctx context.Context, source *v1alpha1.DataSource) (dataReport, error) {
	if !source.DeletionTimestamp.IsZero() {
		return dataReport{}, nil
	}
	gathered, again, err := r.gather(ctx, source)
	if err != nil {
		return dataReport{}, err
	}
	gathered.stored = r.apply(ctx, gathered)
	next := dataStatus(gathered)
	if gathered.stored == nil && next.Digest != "" && next.Digest == source.Status.Digest { // else replicas do not load it yet
		err = dataArtifacts.prune(ctx, r.client, r.namespace, source.Name, next.Digest)
	}
	if left := staleIn(source, gathered); left > 0 {
		again = min(again, left)
	}
	return dataReport{Status: &next, Again: again}, errors.Join(gathered.stored, err)
}

// gather collects the facts. again is the time until they may have changed without an event.
func (r *dataReconciler) gather(ctx context.Context, source *v1alpha1.DataSource) (_ dataFacts, again time.Duration, err error) {
	reports, err := readReports(ctx, r.client, r.namespace)
	if err != nil {
		return dataFacts{}, 0, err
	}
	f := dataFacts{object: source, now: r.now(), live: r.live.External()[source.Name], loading: r.loader.failures()[source.Name]}
	f.replicas = serving(source.Name, reports, source.Status.Replicas, f.now, func(one replicaReport) map[string]string { return one.external })
	again = reportExpiry
	if !source.Spec.Suspend {
		found, due := r.origins.Look(source, nil)
		f.origin, again = &found, min(again, due)
		if found.answer != nil {
			f.digest = definition.Source{Files: found.answer.Files}.Digest()
		}
	}
	return f, again, nil
}

// apply stores the latest good data. If there was none since this process started, it stores the
// data that it serves again: the artifact may have been deleted.
func (r *dataReconciler) apply(ctx context.Context, f dataFacts) (err error) {
	files, err := f.files()
	if err != nil || files == nil {
		return err
	}
	ctx, end := tracing.Step(ctx, "store data", f.object.Name)
	defer func() { end(err) }()
	wanted, err := dataArtifacts.configMaps(f.object, files, r.namespace)
	if err != nil {
		return err
	}
	return storeArtifact(ctx, r.client, wanted)
}
