package openclaw

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// secretsIndex finds instances by the Secrets that they reference.
const secretsIndex = "secrets"

// statusDelay is how long the status of a bundle waits for more gateways to come along:
// many roll out at once.
const statusDelay = 200 * time.Millisecond

// workers is how many instances are carried out at a time.
const workers = 4

// newCluster holds what carries our labels, and of Secrets the metadata.
func newCluster(config *rest.Config) (cluster.Cluster, error) {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy})}
	return object.NewCluster(config, v1.AddToScheme, func(o *cluster.Options) {
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:                 ours,
			&corev1.ConfigMap{}:                  ours,
			&corev1.Service{}:                    ours,
			&policyv1.PodDisruptionBudget{}:      ours,
			object.MetadataOf(object.SecretKind): {Transform: object.IdentityOnly},
		}
	})
}

// SetupWithManager adds the controllers of OpenClaw to a manager. They run on the
// leader.
func SetupWithManager(ctx context.Context, mgr manager.Manager, options Options) error {
	c, err := newCluster(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("setting up the cache of OpenClaw: %w", err)
	}
	if err := mgr.Add(c); err != nil {
		return err
	}
	err = c.GetFieldIndexer().IndexField(ctx, &v1.OpenClawInstance{}, secretsIndex, func(instance client.Object) (names []string) {
		for _, reference := range secretReferences(instance.(*v1.OpenClawInstance)) {
			names = append(names, reference.name)
		}
		return names
	})
	if err != nil {
		return fmt.Errorf("indexing OpenClawInstances: %w", err)
	}
	if options.Events == nil {
		options.Events = c.GetEventRecorder("lintel-openclaw")
	}
	shared := newLibrary(options.RootNamespace)
	kept := records{client: c.GetClient(), namespace: options.Namespace}
	applier := func(manager string) *object.Applier {
		return &object.Applier{Client: c.GetClient(), Live: c.GetAPIReader(), Manager: manager}
	}
	instances := &InstanceReconciler{
		client: c.GetClient(), records: kept, library: shared, options: options, applier: applier(instanceManager),
		secrets: secrets{cached: c.GetClient(), live: c.GetAPIReader()},
	}
	bundles := &BundleReconciler{
		client: c.GetClient(), records: kept, library: shared, options: options, applier: applier(bundleManager),
	}
	w := watches{cluster: c, library: shared, records: kept}
	if err := instances.setup(mgr, w); err != nil {
		return fmt.Errorf("setting up the controller of OpenClawInstances: %w", err)
	}
	if err := bundles.setup(mgr, w); err != nil {
		return fmt.Errorf("setting up the controller of PolicyBundles: %w", err)
	}
	return nil
}

func (r *InstanceReconciler) setup(mgr manager.Manager, w watches) error {
	return builder.ControllerManagedBy(mgr).
		Named(instanceManager).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		WatchesRawSource(object.Self(w.cluster, &v1.OpenClawInstance{})).
		WatchesRawSource(object.Owned(w.cluster, &appsv1.Deployment{}, &v1.OpenClawInstance{})).
		WatchesRawSource(object.Owned(w.cluster, &corev1.ConfigMap{}, &v1.OpenClawInstance{})).
		WatchesRawSource(object.Owned(w.cluster, &corev1.Service{}, &v1.OpenClawInstance{})).
		WatchesRawSource(object.Owned(w.cluster, &policyv1.PodDisruptionBudget{}, &v1.OpenClawInstance{})).
		// Bundles that come, are read, or go.
		WatchesRawSource(object.Mapped(w.cluster, &v1.PolicyBundle{}, w.instancesOfBundle, object.Updates(bundleChanged))).
		// The last good policies of a bundle, and the last good spec.
		WatchesRawSource(object.Mapped(w.cluster, &corev1.ConfigMap{}, w.instancesOfRecord)).
		// A Secret that is created or changed; only its metadata is watched.
		WatchesRawSource(object.Mapped(w.cluster, object.MetadataOf(object.SecretKind), w.instancesOfSecret)).
		Complete(r)
}

func (r *BundleReconciler) setup(mgr manager.Manager, w watches) error {
	return builder.ControllerManagedBy(mgr).
		Named(bundleManager).
		WatchesRawSource(object.Self(w.cluster, &v1.PolicyBundle{})).
		WatchesRawSource(object.Owned(w.cluster, &corev1.ConfigMap{}, &v1.PolicyBundle{})).
		WatchesRawSource(object.Mapped(w.cluster, &corev1.ConfigMap{}, w.bundleOfRecord)).
		// Gateways that roll out, and instances that begin or cease to be bound.
		WatchesRawSource(delayed(w, &appsv1.Deployment{}, w.bundlesOf)).
		WatchesRawSource(delayed(w, &v1.OpenClawInstance{}, w.bundlesOf, object.Updates(instanceChanged))).
		// Broader policies that are tightened, or loosened again.
		WatchesRawSource(delayed(w, &v1.PolicyBundle{}, w.bundlesBeside, object.Updates(specChanged[*v1.PolicyBundle]))).
		Complete(r)
}

// bundleChanged passes what the first gateways wait for. What is in force of a bundle
// changes with its record.
func bundleChanged(was, is *v1.PolicyBundle) bool {
	return (was.Status.ObservedGeneration == 0) != (is.Status.ObservedGeneration == 0)
}

// instanceChanged passes what changes whom policies bind, and what keeps them away.
func instanceChanged(was, is *v1.OpenClawInstance) bool {
	return specChanged(was, is) || !equality.Semantic.DeepEqual(
		meta.FindStatusCondition(was.Status.Conditions, v1.ConditionDegraded),
		meta.FindStatusCondition(is.Status.Conditions, v1.ConditionDegraded))
}
