package serving

import (
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	"github.com/lintel-policy/lintel/controllers/system"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// workers is how many Servers are looked at at a time.
const workers = 8

// The controllers, which own the fields that each of them writes.
const (
	configsManager     = "lintel-openvox-configs"
	poolsManager       = "lintel-openvox-pools"
	serversManager     = "lintel-openvox-servers"
	classifiersManager = "lintel-openvox-classifiers"
	reportsManager     = "lintel-openvox-reports"
	databasesManager   = "lintel-openvox-databases"
)

// formerManager is the field manager of openvox-operator, which sends none: it is the name of
// its program.
const formerManager = "manager"

// Options configures the controllers of this package.
type Options struct {
	// Cluster caches OpenVox's kinds, and those objects of Kinds that this package creates.
	// Metadata caches the metadata of all Secrets and ConfigMaps.
	Cluster, Metadata cluster.Cluster
	// AdmitConfig and the others evaluate the rules for the objects of their kinds.
	AdmitConfig, AdmitServer, AdmitPool, AdmitDatabase, AdmitClassifier, AdmitProcessor builtin.Admitter
	// Outdated is why certificates are issued again: Pods are not replaced before they are.
	Outdated Outdated
	// ExternalOnly runs no servers nor databases in the cluster.
	ExternalOnly bool
	// FSGroup is the group of Pods that write to volumes: nil if the cluster assigns a group to
	// each namespace.
	FSGroup *int64
}

// Kinds returns the kinds of the objects of Configs, Servers, Pools and Databases, and Pods. The
// list may contain duplicates.
func Kinds() []client.Object {
	return slices.Concat(serverKinds(), databaseKinds(), []client.Object{&corev1.Pod{}, &discoveryv1.EndpointSlice{}})
}

// serverKinds returns the kinds of the objects of Servers.
func serverKinds() []client.Object {
	return []client.Object{
		&appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.NetworkPolicy{},
	}
}

// databaseKinds returns the kinds that only Databases consist of.
func databaseKinds() []client.Object {
	return []client.Object{&appsv1.StatefulSet{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}}
}

// SetUp adds the controllers to a manager. They run on the leader.
func SetUp(mgr system.Manager, o Options) error {
	c, all := o.Cluster, o.Metadata
	recorder := c.GetEventRecorder("lintel-openvox")
	s := secrets{client: c.GetClient(), live: c.GetAPIReader()}
	applier := func(manager string) *object.Applier {
		return &object.Applier{Client: c.GetClient(), Live: c.GetAPIReader(), Manager: manager, Former: []string{formerManager}}
	}
	rendering := classifiers{secrets: s, admit: o.AdmitClassifier}
	configs := &ConfigReconciler{client: c.GetClient(), applier: applier(configsManager), events: recorder, admit: o.AdmitConfig, classifiers: rendering}
	classifying := &ClassifierReconciler{client: c.GetClient(), events: recorder, classifiers: rendering}
	reporting := &ReportReconciler{client: c.GetClient(), applier: applier(reportsManager), secrets: s, events: recorder, admit: o.AdmitProcessor}
	servers := &ServerReconciler{client: c.GetClient(), secrets: s, applier: applier(serversManager), events: recorder, admit: o.AdmitServer, fsGroup: o.FSGroup, outdated: o.Outdated, externalOnly: o.ExternalOnly, now: time.Now}
	databases := &DatabaseReconciler{client: c.GetClient(), secrets: s, applier: applier(databasesManager), events: recorder, admit: o.AdmitDatabase, fsGroup: o.FSGroup, outdated: o.Outdated, externalOnly: o.ExternalOnly}
	pools := &PoolReconciler{client: c.GetClient(), applier: applier(poolsManager), events: recorder, admit: o.AdmitPool, externalOnly: o.ExternalOnly}
	w := watches{c.GetClient()}
	return errors.Join(
		object.Control(mgr, serversManager, workers, servers, w.serverSources(c, all, o.ExternalOnly)...),
		object.Control(mgr, databasesManager, 1, databases, w.databaseSources(c, all, o.ExternalOnly)...),
		object.Control(mgr, poolsManager, 1, pools, w.poolSources(c, o.ExternalOnly)...),
		object.Control(mgr, configsManager, 1, configs,
			object.Self(c, &v1alpha1.Config{}, pausing.Changed[*v1alpha1.Config]()),
			object.Owned(c, &corev1.ConfigMap{}, &v1alpha1.Config{}),
			object.Owned(c, &corev1.ServiceAccount{}, &v1alpha1.Config{}),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.Config{}),
			object.Mapped(c, &v1alpha1.NodeClassifier{}, w.configsOfClassifier, predicate.TypedGenerationChangedPredicate[*v1alpha1.NodeClassifier]{}),
			object.Mapped(c, &v1alpha1.ReportProcessor{}, configOfProcessor, predicate.TypedGenerationChangedPredicate[*v1alpha1.ReportProcessor]{}),
			object.Mapped(c, &v1alpha1.Database{}, func(ctx context.Context, d *v1alpha1.Database) []reconcile.Request {
				return object.RequestsFor(ctx, c.GetClient(), &v1alpha1.ConfigList{}, func(c *v1alpha1.Config) bool { return c.Spec.DatabaseRef == d.Name }, client.InNamespace(d.Namespace))
			}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Database]{}),
			object.Mapped(c, &v1alpha1.SigningPolicy{}, w.configsReplacing),
			object.Mapped(all, object.MetadataOf(object.SecretKind), w.configsOfClassifierSecret),
			// Some files depend on the CA, and a Config may be created before it.
			object.Mapped(c, &v1alpha1.CertificateAuthority{}, w.configsOf, predicate.TypedGenerationChangedPredicate[*v1alpha1.CertificateAuthority]{})),
		object.Control(mgr, classifiersManager, 1, classifying,
			object.Self(c, &v1alpha1.NodeClassifier{}),
			object.Mapped(all, object.MetadataOf(object.SecretKind), w.classifiersOfSecret)),
		object.Control(mgr, reportsManager, 1, reporting,
			object.Self(c, &v1alpha1.Config{}, pausing.Changed[*v1alpha1.Config]()),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.Config{}),
			object.Mapped(c, &v1alpha1.ReportProcessor{}, configOfProcessor),
			object.Mapped(all, object.MetadataOf(object.SecretKind), configOfReportsSecret),
			object.Mapped(all, object.MetadataOf(object.SecretKind), w.configsOfProcessorSecret),
			object.Mapped(all, object.MetadataOf(object.ConfigMapKind), w.configsOfProcessorConfigMap)),
	)
}
