package policy

import (
	"context"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// Loader makes live what status.digest names. It runs on every replica.
type Loader struct {
	client  client.Client
	options Options
}

// NewLoader makes a Loader; its client reads from a cache.
func NewLoader(c client.Client, options Options) *Loader {
	return &Loader{client: c, options: options}
}

// SetupWithManager registers the controller, and the first load of all sources.
func (l *Loader) SetupWithManager(mgr manager.Manager) error {
	everywhere := false
	if err := mgr.Add(firstLoad{l}); err != nil {
		return err
	}
	return builder.ControllerManagedBy(mgr).
		Named("lintel-policy-loader").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		For(&v1alpha1.PolicySource{}).
		// The status may arrive before the artifact does.
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: object.GetLabels()[SourceLabel]}}}
		})).
		Complete(l)
}

// Reconcile implements reconcile.Reconciler.
func (l *Loader) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var object v1alpha1.PolicySource
	if err := l.client.Get(ctx, request.NamespacedName, &object); apierrors.IsNotFound(err) {
		if _, ok := l.options.Live.Get(request.Name); ok {
			l.options.Live.Remove(request.Name)
		}
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
	if have, ok := l.options.Live.Get(object.Name); ok && have.Digest() == digest && have.CompiledFrom(source.FromPolicySource(object, have.Files(), object.Status.Revision)) {
		return nil
	}
	files, err := loadArtifact(ctx, l.client, l.options.Namespace, object.Name, digest)
	if err != nil {
		return err
	}
	set, err := engine.Compile(source.FromPolicySource(object, files, object.Status.Revision))
	if err != nil {
		return err
	}
	l.options.Live.Put(set)
	log.FromContext(ctx).Info("policies are live", "source", object.Name, "revision", set.Revision(), "policies", set.Policies())
	return nil
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
		return errors.New("the last good revision of some source is not loaded yet")
	}
	return nil
}

// firstLoad publishes where there is no source at all, and so nothing to reconcile.
type firstLoad struct{ loader *Loader }

// NeedLeaderElection says that every replica loads.
func (firstLoad) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable; the caches are synced by then.
func (f firstLoad) Start(ctx context.Context) error { return f.loader.publish(ctx) }
