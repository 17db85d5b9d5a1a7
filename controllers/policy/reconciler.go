package policy

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
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
	"github.com/lintel-policy/lintel/policies/source"
)

// fieldManager owns the fields that this package writes.
const fieldManager = "lintel-policy-source"

// concurrentReconciles is the number of sources that are evaluated concurrently.
const concurrentReconciles = 4

// reconciler gates PolicySources, stores their artifacts and writes their status. It
// runs on the leader.
type reconciler struct {
	client    client.Client
	live      *engine.Live
	objects   *clusterObjectLoader
	origins   *origins
	rehearsed *rehearsals
	namespace string // of artifacts and reports
	events    events.EventRecorder
	// unregistered returns why the API server does not call the webhooks for the policies of a
	// snapshot: "" if it does. lost reports that it did before.
	unregistered func(digest string) (why string, lost bool)
	verdicts     *source.VerdictCache
	changed      chan event.GenericEvent // for all sources
}

func newReconciler(p *Policies, unregistered func(digest string) (why string, lost bool)) *reconciler {
	r := &reconciler{
		client: p.manager.GetClient(), live: p.Live, objects: p.objects, origins: p.origins, rehearsed: p.rehearsals, namespace: p.options.Namespace,
		events: p.manager.GetEventRecorder("lintel-manager"), unregistered: unregistered,
		verdicts: source.NewVerdicts(p.gate), changed: make(chan event.GenericEvent, 1),
	}
	p.Live.OnChange(func(*engine.Snapshot) { r.refresh() })
	p.objects.OnChange(r.refresh)
	return r
}

// refresh recomputes the status of every source after a change of the served or registered
// policies or of the cached cluster objects. It never blocks.
func (r *reconciler) refresh() {
	signal(r.changed, event.GenericEvent{Object: &v1alpha1.PolicySource{}})
}

// setUp registers the controller.
func (r *reconciler) setUp(mgr manager.Manager) error {
	every := handler.EnqueueRequestsFromMapFunc(everySource(r.client))
	return builder.ControllerManagedBy(mgr).
		Named(fieldManager).
		For(&v1alpha1.PolicySource{}).
		// A deleted artifact is stored again.
		Owns(&corev1.ConfigMap{}).
		// The reports of replicas are merged into the status of every source. Leases are renewed
		// continuously; only changes of the annotation matter.
		Watches(&coordinationv1.Lease{}, every, builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		Watches(&v1alpha1.DataSource{}, every, builder.WithPredicates(dataAppeared)).
		WatchesRawSource(ctrlsource.Channel(r.changed, every)).
		WatchesRawSource(r.origins.fetches.Source()).
		WatchesRawSource(r.rehearsed.attempts.Source()).
		// A source that takes long to evaluate does not delay the others.
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrentReconciles}).
		Complete(r)
}

// everySource maps any object to all PolicySources.
func everySource(c client.Client) handler.MapFunc {
	return func(ctx context.Context, _ client.Object) []reconcile.Request {
		return object.RequestsFor[*v1alpha1.PolicySource](ctx, c, &v1alpha1.PolicySourceList{}, nil)
	}
}

type report = object.Report[v1alpha1.PolicySourceStatus]

func (r *reconciler) reporter() object.Reporter[*v1alpha1.PolicySource, v1alpha1.PolicySourceStatus] {
	return object.Reporter[*v1alpha1.PolicySource, v1alpha1.PolicySourceStatus]{
		Client: r.client, Manager: fieldManager, Action: "Reconcile", Events: r.events, News: news, Gone: r.forget,
		Status:     func(s *v1alpha1.PolicySource) *v1alpha1.PolicySourceStatus { return &s.Status },
		Conditions: func(s *v1alpha1.PolicySourceStatus) []metav1.Condition { return s.Conditions },
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.PolicySource{}, r.reconcileSource)
}

// forget drops the state of a deleted source. The garbage collector deletes its objects by their
// owner references.
func (r *reconciler) forget(_ context.Context, name client.ObjectKey) error {
	r.origins.Forget(name.Name)
	r.rehearsed.Forget(name.Name)
	r.verdicts.Forget(name.Name)
	return nil
}

// reconcileSource stores the artifact of a source and computes its status.
func (r *reconciler) reconcileSource(ctx context.Context, object *v1alpha1.PolicySource) (report, error) {
	if !object.DeletionTimestamp.IsZero() {
		return report{}, nil
	}
	gathered, again, err := r.gather(ctx, object)
	if err != nil {
		return report{}, err
	}
	gathered.stored = r.apply(ctx, gathered)
	next := status(gathered)
	if gathered.stored == nil && next.Digest == object.Status.Digest { // else replicas do not load it yet
		err = policyArtifacts.prune(ctx, r.client, r.namespace, object.Name, object.Status.Digest)
	}
	return report{Status: &next, Again: again}, errors.Join(gathered.stored, err)
}

// gather collects the facts from which the status is computed. again is the time until they may
// have changed without an event.
func (r *reconciler) gather(ctx context.Context, object *v1alpha1.PolicySource) (_ facts, again time.Duration, err error) {
	reports, err := readReports(ctx, r.client, r.namespace)
	if err != nil {
		return facts{}, 0, err
	}
	now := time.Now()
	gathered := facts{
		unregistered: "no replica is ready to answer",
		object:       object,
		replicas:     serving(object.Name, reports, object.Status.Replicas, now, func(one replicaReport) map[string]string { return one.digests }),
		settings:     settingsOf(object.Name, reports),
		limits:       limitsOf(object.Name, reports, now),
		notCalled:    notCalledBy(reports, now),
	}
	if snapshot := r.live.Snapshot(); snapshot != nil {
		gathered.unregistered, gathered.lost = r.unregistered(snapshot.PolicyDigest())
	}
	again = reportExpiry // a replica that ended without a word is noticed by its silence
	files, revision := map[string]string(nil), ""
	switch {
	case object.Spec.Suspend:
	case object.Spec.Inline != nil:
		files = object.Spec.Inline.Files
	default:
		found, due := r.origins.Look(object, notificationsOf(object.Name, reports))
		gathered.origin = &found
		again = min(again, due)
		if found.answer != nil {
			files, revision = found.answer.Files, found.answer.Revision
		}
	}
	if files == nil {
		if live, ok := r.live.Get(object.Name); ok {
			gathered.dataMissing, err = missingData(ctx, r.client, live.External())
		}
		return gathered, again, err
	}
	candidate := source.FromPolicySource(object, files, revision)
	lastGood, err := r.lastGood(ctx, object, &candidate)
	if err != nil {
		return gathered, 0, err
	}
	verdict, err := r.runGate(ctx, candidate, lastGood)
	if errors.Is(err, source.ErrBusy) {
		return gathered, time.Second, nil
	}
	if err != nil {
		return gathered, 0, err
	}
	gathered.verdict = &verdict
	if verdict.Set == nil {
		return gathered, again, nil
	}
	var due time.Duration
	gathered.rehearsal, due = r.rehearsed.Look(object, verdict.Set)
	again = min(again, due)
	kinds := verdict.Set.Requires()
	if gathered.unmet, err = unmetRequires(ctx, r.client, r.live.Resources(), kinds); err != nil {
		return gathered, 0, err
	}
	if gathered.unmet != nil {
		again = min(again, permissionInterval) // granting a permission triggers no event
	}
	gathered.missing = r.objects.Missing(verdict.Set.Projection())
	gathered.dataMissing, err = missingData(ctx, r.client, verdict.Set.External())
	return gathered, again, err
}

// lastGood returns the files of a partial source that are in force. If they cannot be read because
// the artifact was deleted, the candidate is evaluated as a whole: nothing may be left out that
// another replica may have in force.
func (r *reconciler) lastGood(ctx context.Context, object *v1alpha1.PolicySource, candidate *definition.Source) (map[string]string, error) {
	digest := object.Status.Digest
	if !candidate.Partial || digest == "" {
		return nil, nil
	}
	if set, ok := r.live.Get(object.Name); ok && set.Digest() == digest {
		return set.Files(), nil
	}
	files, err := LoadArtifact(ctx, r.client, r.namespace, object.Name, digest)
	if apierrors.IsNotFound(err) {
		candidate.Partial = false
		return nil, nil
	}
	return files, err
}

// runGate runs the gate for a revision.
func (r *reconciler) runGate(ctx context.Context, candidate definition.Source, lastGood map[string]string) (_ source.Verdict, err error) {
	ctx, end := tracing.Step(ctx, "gate", candidate.Name)
	defer func() { end(err) }()
	return r.verdicts.EvaluateSince(ctx, candidate, lastGood, r.live)
}

// apply stores the revision that passed the gate. Otherwise, if this replica serves the last
// good revision, apply stores that one again: its origin may have changed or be unreachable.
func (r *reconciler) apply(ctx context.Context, f facts) error {
	if f.verdict != nil && f.verdict.Set != nil && f.permitted() {
		return r.store(ctx, f.object, f.verdict.Set.Files())
	}
	set, ok := r.live.Get(f.object.Name)
	if !ok || f.object.Status.Digest == "" || set.Digest() != f.object.Status.Digest {
		return nil
	}
	return r.store(ctx, f.object, set.Files())
}

func (r *reconciler) store(ctx context.Context, object *v1alpha1.PolicySource, files map[string]string) (err error) {
	ctx, end := tracing.Step(ctx, "store", object.Name)
	defer func() { end(err) }()
	wanted, err := artifactConfigMaps(object, files, r.namespace)
	if err != nil {
		return err
	}
	return storeArtifact(ctx, r.client, wanted)
}
