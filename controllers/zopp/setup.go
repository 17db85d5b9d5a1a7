package zopp

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/policies/rules"
)

// workers is how many objects of a kind are carried at a time.
const workers = 8

// options are what the controllers of this package need.
type options struct {
	// store is where values are read.
	store *store.Store
	// pollInterval is how often an environment is read that says nothing.
	pollInterval time.Duration
	// admit is asked before anything is read for an object.
	admit rules.Admitter
	// events receives what changes about objects.
	events events.EventRecorder
	// secretSyncs says whether ZoppSecretSyncs are carried out, and reload whether workloads
	// are rolled. Where they are not, their kinds and permissions may be missing.
	secretSyncs, reload bool
}

// reader is a store as the hub asks it.
type reader struct{ *store.Store }

// Watch implements server.
func (r reader) Watch(ctx context.Context, environment store.Environment) (stream, error) {
	return r.Store.Watch(ctx, environment)
}

// woken are the objects of one controller that are to be looked at.
type woken chan event.TypedGenericEvent[user]

func (w woken) source() source.Source {
	return source.TypedChannel(w, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, u user) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: u.NamespacedName}}
	}))
}

// wake has an object looked at by the controller of its kind.
func wake(kinds map[string]woken) func(context.Context, user) {
	return func(ctx context.Context, u user) {
		select {
		case kinds[u.kind] <- event.TypedGenericEvent[user]{Object: u}:
		case <-ctx.Done():
		}
	}
}

// addControllers adds the controllers to a manager, with a cluster whose cache holds the
// metadata of Secrets, with the annotations and labels of those that have one of zopp's.
// They run on the leader.
func addControllers(mgr system.Manager, c cluster.Cluster, o options) error {
	counted := newMetrics(mgr.Metrics)
	secrets := make(woken)
	h := newHub(reader{o.store}, o.pollInterval, counted, wake(map[string]woken{"Secret": secrets}))
	counted.follow(mgr.Metrics, h)
	if err := mgr.Add(h); err != nil {
		return err
	}
	w := watches{c.GetClient()}
	r := &secretReconciler{
		filler: filler{newWriter(c.GetClient(), secretManager, counted), c.GetAPIReader(), h, &reloads{}, o.events},
		admit:  o.admit,
	}
	return object.Control(mgr, secretManager, workers, r,
		object.Mapped(c, object.MetadataOf(object.SecretKind), itself, annotated()),
		// A permission that is given or withdrawn.
		object.Mapped(c, &corev1.Namespace{}, w.secretsIn, permissionChanged()),
		secrets.source())
}
