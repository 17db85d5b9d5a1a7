package policy

import (
	"context"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/tracing"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// Loader makes live what status.digest names. It runs on every replica.
type Loader struct {
	client  client.Client
	options Options
	changed chan event.GenericEvent
	// waiting are compiled sources whose cluster objects are not held yet. Only
	// Reconcile uses it, one at a time.
	waiting map[string]*engine.PolicySet
}

// NewLoader makes a Loader; its client reads from a cache.
func NewLoader(c client.Client, options Options) *Loader {
	l := &Loader{client: c, options: options, changed: make(chan event.GenericEvent, 1), waiting: map[string]*engine.PolicySet{}}
	options.Objects.OnChange(func() { signal(l.changed, event.GenericEvent{Object: &v1alpha1.PolicySource{}}) })
	return l
}

// SetupWithManager registers the controller, and the first load of all sources.
func (l *Loader) SetupWithManager(mgr manager.Manager) error {
	everywhere := false
	every := handler.EnqueueRequestsFromMapFunc(everySource(l.client))
	if err := mgr.Add(firstLoad{l}); err != nil {
		return err
	}
	return builder.ControllerManagedBy(mgr).
		Named("lintel-policy-loader").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		For(&v1alpha1.PolicySource{}).
		// The status may arrive before the artifact does.
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, chunk client.Object) []reconcile.Request {
			return object.Request("", chunk.GetLabels()[SourceLabel])
		})).
		// What a source waits for may be held now.
		WatchesRawSource(ctrlsource.Channel(l.changed, every)).
		Complete(l)
}

// Reconcile implements reconcile.Reconciler.
func (l *Loader) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var object v1alpha1.PolicySource
	if err := l.client.Get(ctx, request.NamespacedName, &object); apierrors.IsNotFound(err) {
		if _, ok := l.options.Live.Get(request.Name); ok {
			l.options.Live.Remove(request.Name)
		}
		delete(l.waiting, request.Name)
		l.options.Objects.Require(request.Name, nil) // not before: reviews still ask the source
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if err := l.load(ctx, &object); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, l.publish(ctx)
}

// load makes one source live; a source that never passed the gate has nothing to.
func (l *Loader) load(ctx context.Context, object *v1alpha1.PolicySource) error {
	digest := object.Status.Digest
	if digest == "" {
		return nil
	}
	same := func(set *engine.PolicySet) bool {
		return set != nil && set.Digest() == digest && set.CompiledFrom(source.FromPolicySource(object, set.Files(), object.Status.Revision))
	}
	live, _ := l.options.Live.Get(object.Name)
	if same(live) {
		if l.waiting[object.Name] != nil { // another revision was on its way
			delete(l.waiting, object.Name)
			l.options.Objects.Require(object.Name, live.ClusterReads())
		}
		return nil
	}
	set := l.waiting[object.Name]
	if !same(set) {
		var err error
		if set, err = l.compile(ctx, object); err != nil {
			return err
		}
	}
	if !l.hold(ctx, set, live) {
		l.waiting[object.Name] = set
		return nil // a change of what is held comes here again
	}
	delete(l.waiting, object.Name)
	l.options.Live.Put(set)
	l.options.Compiler.Forget(set)
	l.options.Objects.Require(object.Name, set.ClusterReads())
	log.FromContext(ctx).Info("policies are live", "source", object.Name, "revision", set.Revision(), "policies", set.Policies())
	return nil
}

// compile reads the revision that is to be live, and compiles it.
func (l *Loader) compile(ctx context.Context, object *v1alpha1.PolicySource) (_ *engine.PolicySet, err error) {
	ctx, end := tracing.Step(ctx, "load", object.Name)
	defer func() { end(err) }()
	files, err := LoadArtifact(ctx, l.client, l.options.Namespace, object.Name, object.Status.Digest)
	if err != nil {
		return nil, err
	}
	return l.options.Compiler.Load(ctx, source.FromPolicySource(object, files, object.Status.Revision))
}

// hold has the cluster objects brought that a set requires, beside those of what is
// live, and says whether the set can go live: when they are held. A replica that
// starts does not wait for what no waiting will bring: there the set goes live
// without, so that its failure policy decides about what it cannot judge.
func (l *Loader) hold(ctx context.Context, set, live *engine.PolicySet) bool {
	required := set.ClusterReads()
	all := required
	if live != nil {
		all = all.Union(live.ClusterReads())
	}
	l.options.Objects.Require(set.Name(), all)
	missing := l.options.Objects.Missing(required)
	if missing == nil {
		return true
	}
	starting := l.options.Live.Snapshot() == nil
	log.FromContext(ctx).Info("policies wait for cluster objects", "source", set.Name(), "kind", missing.Kind.String(), "reason", missing.Err.Error())
	return starting && missing.Final
}

// publish starts answering once every source that has a good revision is loaded.
func (l *Loader) publish(ctx context.Context) error {
	if l.options.Live.Snapshot() != nil {
		return nil
	}
	var list v1alpha1.PolicySourceList
	if err := l.client.List(ctx, &list); err != nil {
		return err
	}
	for _, object := range list.Items {
		if _, ok := l.options.Live.Get(object.Name); !ok && object.Status.Digest != "" {
			return nil // its own reconcile brings it, and comes here again
		}
	}
	l.options.Live.Publish()
	return nil
}

// Ready is an error until this replica can answer: a healthz.Checker.
func (l *Loader) Ready(*http.Request) error {
	if l.options.Live.Snapshot() == nil {
		return errors.New("the last good revision of some source is not loaded yet, or the cluster objects that it requires are not")
	}
	return nil
}

// firstLoad publishes where there is no source at all, and so nothing to reconcile.
type firstLoad struct{ loader *Loader }

// NeedLeaderElection says that every replica loads.
func (firstLoad) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable; the caches are synced by then.
func (f firstLoad) Start(ctx context.Context) error { return f.loader.publish(ctx) }
