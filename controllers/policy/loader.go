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

// loader loads the revisions in status.digest. It runs on every replica.
type loader struct {
	client    client.Client
	live      *engine.Live
	objects   *clusterObjectLoader
	namespace string
	compiler  *source.CachingCompiler
	// exceptions are loaded before the first snapshot is published.
	exceptions *exceptionLoader
	// data is loaded before the first snapshot is published, too.
	data    *dataLoader
	changed chan event.GenericEvent
	// waiting are compiled sources whose cluster objects are not cached yet. Only Reconcile uses
	// it, one request at a time.
	waiting map[string]*engine.PolicySet
}

// newLoader returns a loader whose client reads from a cache.
func newLoader(c client.Client, live *engine.Live, objects *clusterObjectLoader, namespace string, compiler *source.CachingCompiler) *loader {
	l := &loader{
		client: c, live: live, objects: objects, namespace: namespace, compiler: compiler,
		exceptions: &exceptionLoader{client: c, live: live}, data: newDataLoader(c, live, namespace),
		changed: make(chan event.GenericEvent, 1), waiting: map[string]*engine.PolicySet{},
	}
	l.data.loaded = func(ctx context.Context) error {
		signal(l.changed, event.GenericEvent{Object: &v1alpha1.PolicySource{}})
		return l.publish(ctx)
	}
	objects.OnChange(func() { signal(l.changed, event.GenericEvent{Object: &v1alpha1.PolicySource{}}) })
	return l
}

// setUp registers the controller, and the first load of all sources.
func (l *loader) setUp(mgr manager.Manager) error {
	everywhere := false
	every := handler.EnqueueRequestsFromMapFunc(everySource(l.client))
	// Without any source there is nothing to reconcile; the caches are synced by then.
	if err := mgr.Add(object.Everywhere(l.publish)); err != nil {
		return err
	}
	return builder.ControllerManagedBy(mgr).
		Named("lintel-policy-loader").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		For(&v1alpha1.PolicySource{}).
		// The status may arrive before the artifact does.
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(policyArtifacts.toOwner)).
		// The objects that a source waits for may be cached now.
		WatchesRawSource(ctrlsource.Channel(l.changed, every)).
		Complete(l)
}

// Reconcile implements reconcile.Reconciler.
func (l *loader) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var object v1alpha1.PolicySource
	if err := l.client.Get(ctx, request.NamespacedName, &object); apierrors.IsNotFound(err) {
		if _, ok := l.live.Get(request.Name); ok {
			l.live.Remove(request.Name)
		}
		delete(l.waiting, request.Name)
		l.objects.Require(request.Name, nil) // not before: reviews still ask the source
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if err := l.load(ctx, &object); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, l.publish(ctx)
}

// load makes one source live. A source that never passed the gate has no revision to load.
func (l *loader) load(ctx context.Context, object *v1alpha1.PolicySource) error {
	digest := object.Status.Digest
	if digest == "" {
		return nil
	}
	same := func(set *engine.PolicySet) bool {
		return set != nil && set.Digest() == digest && set.CompiledFrom(source.FromPolicySource(object, set.Files(), object.Status.Revision))
	}
	live, _ := l.live.Get(object.Name)
	if same(live) {
		if l.waiting[object.Name] != nil { // another revision was on its way
			delete(l.waiting, object.Name)
			l.objects.Require(object.Name, live.Projection())
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
	pending := ""
	if names := set.External(); len(names) > 0 {
		var err error
		if pending, err = l.data.pending(ctx, names); err != nil {
			return err
		}
	}
	if !l.hold(ctx, set, live) || pending != "" {
		l.waiting[object.Name] = set
		return nil // a change of the cached objects, or loaded data, triggers another load
	}
	delete(l.waiting, object.Name)
	l.live.Put(set)
	l.compiler.Forget(set)
	l.objects.Require(object.Name, set.Projection())
	log.FromContext(ctx).Info("policies are live", "source", object.Name, "revision", set.Revision(), "policies", set.Policies())
	return nil
}

// compile reads and compiles the revision in status.digest.
func (l *loader) compile(ctx context.Context, object *v1alpha1.PolicySource) (_ *engine.PolicySet, err error) {
	ctx, end := tracing.Step(ctx, "load", object.Name)
	defer func() { end(err) }()
	files, err := LoadArtifact(ctx, l.client, l.namespace, object.Name, object.Status.Digest)
	if err != nil {
		return nil, err
	}
	return l.compiler.Load(ctx, source.FromPolicySource(object, files, object.Status.Revision))
}

// hold caches the cluster objects that a set requires, in addition to those of the live set, and
// reports whether the set can go live, which is when they are cached. A starting replica does
// not wait for objects that waiting cannot provide: the set goes live without them, and its
// failure policy applies to reviews that need them.
func (l *loader) hold(ctx context.Context, set, live *engine.PolicySet) bool {
	required := set.Projection()
	all := required
	if live != nil {
		all = all.Union(live.Projection())
	}
	l.objects.Require(set.Name(), all)
	missing := l.objects.Missing(required)
	if missing == nil {
		return true
	}
	starting := l.live.Snapshot() == nil
	log.FromContext(ctx).Info("policies wait for cluster objects", "source", set.Name(), "kind", missing.Kind.String(), "reason", missing.Err.Error())
	return starting && missing.Final
}

// publish starts answering once every source with a good revision is loaded.
func (l *loader) publish(ctx context.Context) error {
	if l.live.Snapshot() != nil {
		return nil
	}
	var list v1alpha1.PolicySourceList
	if err := l.client.List(ctx, &list); err != nil {
		return err
	}
	for _, object := range list.Items {
		if _, ok := l.live.Get(object.Name); !ok && object.Status.Digest != "" {
			return nil // its own reconcile brings it, and comes here again
		}
	}
	if pending, err := l.data.pending(ctx, nil); pending != "" || err != nil {
		return err // its own load comes here again
	}
	if err := l.exceptions.load(ctx); err != nil {
		return err
	}
	l.live.Publish()
	return nil
}

// ready is a healthz.Checker that fails until this replica can answer.
func (l *loader) ready(*http.Request) error {
	if l.live.Snapshot() == nil {
		return errors.New("the last good revision of some source is not loaded yet, or the cluster objects that it requires are not")
	}
	return nil
}
