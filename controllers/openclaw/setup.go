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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// secretsIndex finds instances by the Secrets that they reference.
const secretsIndex = "secrets"

// settle is how long the status of a bundle waits for more gateways to come along: many
// roll out at once.
const settle = 200 * time.Millisecond

// workers is how many instances are carried out at a time.
const workers = 4

// newCluster has its own cache, which holds what carries our labels, and of Secrets
// the metadata: a manager without this system watches none of it.
func newCluster(config *rest.Config) (cluster.Cluster, error) {
	config = rest.CopyConfig(config)
	// The API server's own fairness limits better: one edit may concern hundreds of
	// gateways.
	config.QPS = -1
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy})}
	return cluster.New(config, func(o *cluster.Options) {
		o.Scheme = scheme
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:            ours,
			&corev1.ConfigMap{}:             ours,
			&corev1.Service{}:               ours,
			&policyv1.PodDisruptionBudget{}: ours,
			secretKind():                    {Transform: identityOnly},
		}
	})
}

// identityOnly keeps of an object's metadata what tells versions apart.
func identityOnly(object any) (any, error) {
	if whole, ok := object.(*metav1.PartialObjectMetadata); ok {
		whole.Labels, whole.Annotations, whole.ManagedFields, whole.OwnerReferences = nil, nil, nil, nil
	}
	return object, nil
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
	err = c.GetFieldIndexer().IndexField(ctx, &v1.OpenClawInstance{}, secretsIndex, func(object client.Object) (names []string) {
		for _, reference := range secretReferences(object.(*v1.OpenClawInstance)) {
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
	instances := &InstanceReconciler{
		client: c.GetClient(), records: kept, library: shared, options: options,
		writer:  writer{client: c.GetClient(), live: c.GetAPIReader(), manager: instanceManager},
		secrets: secrets{cached: c.GetClient(), live: c.GetAPIReader()},
	}
	bundles := &BundleReconciler{
		client: c.GetClient(), records: kept, library: shared, options: options,
		writer: writer{client: c.GetClient(), live: c.GetAPIReader(), manager: bundleManager},
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
		WatchesRawSource(self(w, &v1.OpenClawInstance{})).
		WatchesRawSource(owned(w, &appsv1.Deployment{}, &v1.OpenClawInstance{})).
		WatchesRawSource(owned(w, &corev1.ConfigMap{}, &v1.OpenClawInstance{})).
		WatchesRawSource(owned(w, &corev1.Service{}, &v1.OpenClawInstance{})).
		WatchesRawSource(owned(w, &policyv1.PodDisruptionBudget{}, &v1.OpenClawInstance{})).
		// Bundles that come, are read, or go.
		WatchesRawSource(mapped(w, &v1.PolicyBundle{}, w.instancesOfBundle, bundleChanged)).
		// The last good policies of a bundle, and the last good spec.
		WatchesRawSource(mapped(w, &corev1.ConfigMap{}, w.instancesOfRecord)).
		// A Secret that is created or changed; only its metadata is watched.
		WatchesRawSource(mapped(w, secretKind(), w.instancesOfSecret)).
		Complete(r)
}

func (r *BundleReconciler) setup(mgr manager.Manager, w watches) error {
	return builder.ControllerManagedBy(mgr).
		Named(bundleManager).
		WatchesRawSource(self(w, &v1.PolicyBundle{})).
		WatchesRawSource(owned(w, &corev1.ConfigMap{}, &v1.PolicyBundle{})).
		WatchesRawSource(mapped(w, &corev1.ConfigMap{}, w.bundleOfRecord)).
		// Gateways that roll out, and instances that begin or cease to be bound.
		WatchesRawSource(settled(w, &appsv1.Deployment{}, w.bundlesOf)).
		WatchesRawSource(settled(w, &v1.OpenClawInstance{}, w.bundlesOf, instanceChanged)).
		// Broader policies that are tightened, or loosened again.
		WatchesRawSource(settled(w, &v1.PolicyBundle{}, w.bundlesBeside, specChanged)).
		Complete(r)
}

// bundleChanged passes what the first gateways wait for. What is in force of a bundle
// changes with its record.
func bundleChanged(before, after client.Object) bool {
	was, is := before.(*v1.PolicyBundle), after.(*v1.PolicyBundle)
	return (was.Status.ObservedGeneration == 0) != (is.Status.ObservedGeneration == 0)
}

// instanceChanged passes what changes whom policies bind, and what keeps them away.
func instanceChanged(before, after client.Object) bool {
	was, is := before.(*v1.OpenClawInstance), after.(*v1.OpenClawInstance)
	return specChanged(was, is) || !equality.Semantic.DeepEqual(
		meta.FindStatusCondition(was.Status.Conditions, v1.ConditionDegraded),
		meta.FindStatusCondition(is.Status.Conditions, v1.ConditionDegraded))
}
