package zopp

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/policies/rules"
)

// workers is how many objects of a kind are carried at a time.
const workers = 8

// options are the dependencies of the controllers in this package.
type options struct {
	// store is where values are read.
	store *store.Store
	// pollInterval is how often an environment without events is read.
	pollInterval time.Duration
	// admit evaluates the rules before anything is read for an object.
	admit rules.Admitter
	// events records Events about objects.
	events events.EventRecorder
	// secretSyncs enables the controller of ZoppSecretSyncs, and reload the restart of
	// workloads. Where they are disabled, their kinds and permissions may be missing.
	secretSyncs, reload bool
}

// triggers receives the objects of one controller that must be reconciled.
type triggers chan event.TypedGenericEvent[user]

func (w triggers) source() source.Source {
	return source.TypedChannel(w, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, u user) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: u.NamespacedName}}
	}))
}

// wake enqueues an object at the controller of its kind.
func wake(kinds map[string]triggers) func(context.Context, user) {
	return func(ctx context.Context, u user) {
		select {
		case kinds[u.kind] <- event.TypedGenericEvent[user]{Object: u}:
		case <-ctx.Done():
		}
	}
}

// addControllers adds the controllers to a manager, with the cluster of newCluster. They run
// on the leader.
func addControllers(mgr system.Manager, c cluster.Cluster, o options) error {
	counted := newMetrics(mgr.Metrics)
	secrets, syncs, namespaces := make(triggers), make(triggers), make(triggers)
	wake := wake(map[string]triggers{"Secret": secrets, "ZoppSecretSync": syncs, "Namespace": namespaces})
	h := newHub(reader{o.store}, o.pollInterval, counted, wake)
	registerGauges(mgr.Metrics, h)
	follow := manager.RunnableFunc(func(ctx context.Context) error {
		defer o.store.Close()
		return h.Start(ctx)
	})
	if err := mgr.Add(follow); err != nil {
		return err
	}
	s := registrar{mgr, c, o, watches{c.GetClient()}}
	var reloading *reloads
	if o.reload {
		reloading = &reloads{client: c.GetClient(), live: c.GetAPIReader(), events: o.events, metrics: counted, now: time.Now,
			look: func(ctx context.Context, namespace string) {
				wake(ctx, user{"Namespace", client.ObjectKey{Name: namespace}})
			}}
	}
	fillerOf := func(manager string) applier {
		return applier{newWriter(c.GetClient(), manager, counted), c.GetAPIReader(), h, reloading, o.events}
	}
	errs := []error{s.addSecrets(&secretReconciler{fillerOf(secretManager), o.admit}, secrets)}
	if o.secretSyncs {
		errs = append(errs, s.addSyncs(&syncReconciler{fillerOf(syncManager), c.GetClient(), o.admit}, syncs))
	}
	if o.reload {
		errs = append(errs, object.Control(mgr, reloadManager, 1, reloading, namespaces.source()))
	}
	return errors.Join(errs...)
}

// registrar holds the shared dependencies of the controllers.
type registrar struct {
	mgr     system.Manager
	cluster cluster.Cluster
	options options
	watches watches
}

func (s registrar) addSecrets(r *secretReconciler, triggers triggers) error {
	sources := []source.Source{
		object.Mapped(s.cluster, object.MetadataOf(object.SecretKind), itself, annotated()),
		// A permission that is granted or withdrawn.
		object.Mapped(s.cluster, &corev1.Namespace{}, s.watches.secretsIn, permissionChanged()),
		triggers.source(),
	}
	if s.options.secretSyncs {
		// A ZoppSecretSync that fills the Secret, or no longer does.
		sources = append(sources, object.Mapped(s.cluster, &v1alpha1.ZoppSecretSync{}, secretOf, object.Updates(askedAnew)))
	}
	return object.Control(s.mgr, secretManager, workers, r, sources...)
}

func (s registrar) addSyncs(r *syncReconciler, triggers triggers) error {
	return object.Control(s.mgr, syncManager, workers, r,
		object.Self(s.cluster, &v1alpha1.ZoppSecretSync{}, object.Updates(askedAnew)),
		// Another ZoppSecretSync that names the same Secret, or no longer does.
		object.Mapped(s.cluster, &v1alpha1.ZoppSecretSync{}, s.watches.syncsBeside, object.Updates(askedAnew)),
		// The Secret itself, or a foreign one with its name.
		object.Mapped(s.cluster, object.MetadataOf(object.SecretKind), s.watches.syncsOf),
		object.Mapped(s.cluster, &corev1.Namespace{}, s.watches.syncsIn, permissionChanged()),
		triggers.source())
}
