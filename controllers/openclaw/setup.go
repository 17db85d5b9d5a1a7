package openclaw

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
)

// secretsIndex finds instances by the Secrets that they reference.
const secretsIndex = "secrets"

// statusDelay is how long the status update of a bundle waits for more gateways: many roll out
// at the same time.
const statusDelay = 200 * time.Millisecond

// workers is how many instances are carried out at a time.
const workers = 4

// newCluster caches objects with our labels: of Pods the fields that identify their policies,
// and of ConfigMaps and Secrets the metadata.
func newCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy}), Transform: object.Bounded(v1.GroupName)}
	return object.NewCluster(config, v1.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultNamespaces = object.Only(namespaces)
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:                    ours,
			&corev1.Pod{}:                           {Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy, componentLabel: gatewayComponent}), Transform: slimPod},
			&corev1.Service{}:                       ours,
			&policyv1.PodDisruptionBudget{}:         ours,
			object.MetadataOf(object.ConfigMapKind): ours,
			object.MetadataOf(object.SecretKind):    {Transform: object.IdentityOnly},
		}
	})
}

// newRecordCluster holds the records, whole. A cache has one rule for a kind, whether it
// holds objects or their metadata.
func newRecordCluster(config *rest.Config, namespace string) (cluster.Cluster, error) {
	return object.NewCluster(config, v1.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultNamespaces = object.Only([]string{namespace})
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy, componentLabel: recordComponent})},
		}
	})
}

// addControllers adds the controllers to a manager. They run on the leader.
func (a *admitter) addControllers(ctx context.Context, mgr system.Manager) error {
	c, err := newCluster(mgr.GetConfig(), a.served())
	if err != nil {
		return fmt.Errorf("setting up the cache of OpenClaw: %w", err)
	}
	recorded, err := newRecordCluster(mgr.GetConfig(), mgr.Namespace)
	if err != nil {
		return fmt.Errorf("setting up the cache of OpenClaw's records: %w", err)
	}
	if err := errors.Join(mgr.Add(c), mgr.Add(recorded)); err != nil {
		return err
	}
	err = c.GetFieldIndexer().IndexField(ctx, &v1.OpenClawInstance{}, secretsIndex, func(instance client.Object) (names []string) {
		for _, reference := range listSecretReferences(instance.(*v1.OpenClawInstance)) {
			names = append(names, reference.name)
		}
		return names
	})
	if err != nil {
		return fmt.Errorf("indexing OpenClawInstances: %w", err)
	}
	recorder := c.GetEventRecorder("lintel-openclaw")
	shared := newLibrary(a.rootNamespace)
	kept := recordStore{client: recorded.GetClient(), live: recorded.GetAPIReader(), namespace: mgr.Namespace}
	applier := func(manager string) *object.Applier {
		return &object.Applier{Client: c.GetClient(), Live: c.GetAPIReader(), Manager: manager}
	}
	instances := &InstanceReconciler{
		client: c.GetClient(), records: kept, library: shared, admit: a.admit, events: recorder, applier: applier(instanceManager),
		secrets: secrets{cached: c.GetClient(), live: c.GetAPIReader(), hashes: lru.New(maxSecretHashes)}, deadline: a.policyDeadline,
	}
	bundles := &BundleReconciler{
		client: c.GetClient(), records: kept, library: shared, admit: a.admit, events: recorder, applier: applier(bundleManager),
	}
	w := watches{cluster: c, library: shared, records: kept}
	return errors.Join(
		object.Control(mgr, instanceManager, workers, instances,
			object.Self(c, &v1.OpenClawInstance{}),
			object.Owned(c, &appsv1.Deployment{}, &v1.OpenClawInstance{}),
			object.Owned(c, object.MetadataOf(object.ConfigMapKind), &v1.OpenClawInstance{}),
			object.Owned(c, &corev1.Service{}, &v1.OpenClawInstance{}),
			object.Owned(c, &policyv1.PodDisruptionBudget{}, &v1.OpenClawInstance{}),
			// The gateways themselves, and Deployments that lost their owner.
			object.Mapped(c, &corev1.Pod{}, instanceOfLabels[*corev1.Pod], object.Updates(podChanged)),
			object.Mapped(c, &appsv1.Deployment{}, instanceOfLabels[*appsv1.Deployment]),
			// Bundles that come, are read, or go.
			object.Mapped(c, &v1.PolicyBundle{}, w.instancesOfBundle, object.Updates(bundleChanged)),
			// The last good policies of a bundle, and the last good spec.
			object.Mapped(recorded, &corev1.ConfigMap{}, w.instancesOfRecord),
			// A Secret that is created or changed; only its metadata is watched.
			object.Mapped(c, object.MetadataOf(object.SecretKind), w.instancesOfSecret)),
		object.Control(mgr, bundleManager, 1, bundles,
			ranked(w, &v1.PolicyBundle{}, 0, itself),
			object.Owned(c, object.MetadataOf(object.ConfigMapKind), &v1.PolicyBundle{}),
			object.Mapped(recorded, &corev1.ConfigMap{}, w.bundleOfRecord),
			// Gateways that roll out, and instances that begin or cease to be bound.
			delayed(w, &appsv1.Deployment{}, w.bundlesOf),
			delayed(w, &corev1.Pod{}, w.bundlesOf, object.Updates(podChanged)),
			delayed(w, &v1.OpenClawInstance{}, w.bundlesOf, object.Updates(instanceChanged)),
			// Broader policies that are tightened, or loosened again.
			delayed(w, &v1.PolicyBundle{}, w.bundlesBeside, object.Updates(specChanged[*v1.PolicyBundle]))),
	)
}

// bundleChanged selects the changes for which the first gateways wait. The effective content of
// a bundle changes with its record.
func bundleChanged(was, is *v1.PolicyBundle) bool {
	return (was.Status.ObservedGeneration == 0) != (is.Status.ObservedGeneration == 0)
}

// instanceChanged passes what changes whom policies bind, and what keeps them away.
func instanceChanged(was, is *v1.OpenClawInstance) bool {
	return specChanged(was, is) || !equality.Semantic.DeepEqual(
		meta.FindStatusCondition(was.Status.Conditions, v1.ConditionDegraded),
		meta.FindStatusCondition(is.Status.Conditions, v1.ConditionDegraded))
}
