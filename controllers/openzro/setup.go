package openzro

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/controllers/system"
)

// workers is the number of concurrent reconciliations of a kind: one tenant uses only some of
// them.
const workers = 24

// controllerSet holds the controllers of all kinds, and how they enqueue objects.
type controllerSet struct {
	*shared
	all []controller
	// exposer is the controller of Services.
	exposer *exposer
	looks   map[string]chan event.GenericEvent
	kinds   map[string]func() client.Object
}

// controller is the one of a kind.
type controller interface {
	reconcile.Reconciler
	// of is its kind.
	of() string
	setUp(mgr system.Manager, c cluster.Cluster) error
}

// addControllers adds the controllers to a manager, with the cluster of newCluster. They run
// on the leader.
func addControllers(mgr system.Manager, c cluster.Cluster, o options) error {
	counted := newMetrics(mgr.Metrics)
	a := newControllers(c.GetClient(), c.GetAPIReader(), o, counted, time.Now)
	mgr.Metrics.MustRegister(newTenantMetrics(a.tenants))
	for _, one := range a.all {
		if err := one.setUp(mgr, c); err != nil {
			return err
		}
	}
	if err := a.exposer.setUp(mgr, c); err != nil {
		return err
	}
	return mgr.Add(a.keeper(o.interval))
}

// newControllers returns the controllers, with a clock. cached is a client with a cache, and
// live reads Secrets.
func newControllers(cached client.Client, live client.Reader, o options, counted *metrics, now func() time.Time) *controllerSet {
	a := &controllerSet{looks: map[string]chan event.GenericEvent{}, kinds: map[string]func() client.Object{}}
	a.shared = &shared{
		client: cached, metrics: counted, events: o.events, admit: o.admit, now: now, wake: a.wakeOne, interval: o.interval,
		tenants: management.NewTenants(counted.observe, now),
		access:  &access{cached: cached, live: live, url: o.managementURL, file: o.apiKeyFile, namespaces: o.defaultNamespaces},
	}
	a.exposer = &exposer{
		client: cached, events: o.events, grants: o.expose, cluster: o.clusterName, dns: o.clusterDNS,
		applier: &object.Applier{Client: cached, Live: live, Manager: exposeManager},
	}
	around := &neighbours{client: cached, access: a.access}
	a.grants = &grants{neighbours: around, tenants: a.tenants, settings: o.settings}
	add(a, "OZGroup", func() *v1.OZGroup { return &v1.OZGroup{} },
		func(g *v1.OZGroup) *v1.OZGroupStatus { return &g.Status },
		func(s *v1.OZGroupStatus) *v1.Status { return &s.Status }, &groupController{around}, a.followNamesakes)
	add(a, "OZPolicy", func() *v1.OZPolicy { return &v1.OZPolicy{} },
		func(p *v1.OZPolicy) *v1.OZPolicyStatus { return &p.Status },
		func(s *v1.OZPolicyStatus) *v1.Status { return &s.Status }, &policies{around, now},
		a.followGroups(policyConcerned, &v1.OZPolicyList{}), a.followResources)
	add(a, "OZResource", func() *v1.OZResource { return &v1.OZResource{} },
		func(r *v1.OZResource) *v1.OZResourceStatus { return &r.Status },
		func(s *v1.OZResourceStatus) *v1.Status { return &s.Status }, &resources{around, cached, a.grants},
		a.followGroups(resourceConcerned, &v1.OZResourceList{}), a.followPolicies)
	add(a, "OZSetupKey", func() *v1.OZSetupKey { return &v1.OZSetupKey{} },
		func(k *v1.OZSetupKey) *v1.OZSetupKeyStatus { return &k.Status },
		func(s *v1.OZSetupKeyStatus) *v1.Status { return &s.Status },
		&setupKeys{around, &keySecretStore{client: cached, reader: live, known: lru.New(maxKeySecrets)}, a.grants},
		a.followGroups(keyConcerned, &v1.OZSetupKeyList{}), a.followKeySecrets)
	add(a, "OZRoutingPeer", func() *v1.OZRoutingPeer { return &v1.OZRoutingPeer{} },
		func(p *v1.OZRoutingPeer) *v1.OZRoutingPeerStatus { return &p.Status },
		func(s *v1.OZRoutingPeerStatus) *v1.Status { return &s.Status },
		&routingPeers{
			client: cached, image: o.clientImage, cluster: o.clusterName,
			applier: &object.Applier{Client: cached, Live: live, Manager: fieldManager("OZRoutingPeer")},
		},
		owned(&v1.OZGroup{}), owned(&v1.OZSetupKey{}), owned(&appsv1.Deployment{}))
	add(a, "OZNetworkResource", func() *v1.OZNetworkResource { return &v1.OZNetworkResource{} },
		func(n *v1.OZNetworkResource) *v1.OZNetworkResourceStatus { return &n.Status },
		func(s *v1.OZNetworkResourceStatus) *v1.Status { return &s.Status }, &networkResourceController{around, a.grants, o.clusterName},
		a.followGroups(networkResourceConcerned, &v1.OZNetworkResourceList{}), a.followRoutingPeers, a.followServices)
	add(a, "OZHTTPRoute", func() *v1.OZHTTPRoute { return &v1.OZHTTPRoute{} },
		func(h *v1.OZHTTPRoute) *v1.OZHTTPRouteStatus { return &h.Status },
		func(s *v1.OZHTTPRouteStatus) *v1.Status { return &s.Status }, httpRoutes{})
	a.all = append(a.all, &sidecarProfiles{a.shared})
	return a
}

func (a *controllerSet) keeper(interval time.Duration) *keeper {
	return &keeper{tenants: a.tenants, interval: interval, now: a.now, wake: a.wake}
}

// wakeOne has an object looked at.
func (a *controllerSet) wakeOne(ctx context.Context, which management.Object) {
	of := a.kinds[which.Kind]()
	of.SetNamespace(which.Namespace)
	of.SetName(which.Name)
	select {
	case a.looks[which.Kind] <- event.GenericEvent{Object: of}:
	case <-ctx.Done():
	}
}

// add adds the reconciler of a kind, with its watches.
func add[T v1.Object, S any](a *controllerSet, kind string, empty func() T, status func(T) *S, common func(*S) *v1.Status, carry carrier[T], watched ...func(cluster.Cluster) source.Source) {
	r := &reconciler[T, S]{
		shared: a.shared, carrier: carry, kind: kind, empty: empty, status: status, common: common,
		look: make(chan event.GenericEvent), watched: watched,
	}
	a.all = append(a.all, r)
	a.looks[kind], a.kinds[kind] = r.look, func() client.Object { return empty() }
}

func (r *reconciler[T, S]) setUp(mgr system.Manager, c cluster.Cluster) error {
	list, err := emptyOf[client.ObjectList](r.kind + "List")
	if err != nil {
		return err
	}
	sources := []source.Source{
		source.Kind[client.Object](c.GetCache(), r.empty(), &handler.EnqueueRequestForObject{}, changed()),
		// The key of a namespace, which is created, rotated or deleted.
		object.Mapped[client.Object](c, object.MetadataOf(object.SecretKind), func(ctx context.Context, secret client.Object) []reconcile.Request {
			if secret.GetName() != v1.APIKeySecret {
				return nil
			}
			return object.RequestsFor[client.Object](ctx, r.client, list.DeepCopyObject().(client.ObjectList), nil, client.InNamespace(secret.GetNamespace()))
		}),
		// Changes at the server, and objects whose turn it is.
		source.Channel(r.look, &handler.EnqueueRequestForObject{}),
	}
	for _, watch := range r.watched {
		sources = append(sources, watch(c))
	}
	return object.Control(mgr, r.manager(), workers, r, sources...)
}

// changed passes changes that affect the desired state, and drops those of the status.
func changed() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || len(e.ObjectNew.GetFinalizers()) < len(e.ObjectOld.GetFinalizers())
		},
	})
}
