package openvox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// workers is how many objects are looked at at a time; CAs are asked elsewhere.
const workers = 8

// newCluster has its own cache, which holds of what others have, too, ours only.
func newCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	byObject := map[client.Object]cache.ByObject{}
	for _, kind := range slices.Concat(internalKinds(), serverKinds(), databaseKinds(), []client.Object{&corev1.Pod{}, &discoveryv1.EndpointSlice{}}) {
		byObject[kind] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy})}
	}
	return newCachedCluster(config, namespaces, byObject)
}

// newMetadataCluster holds the metadata of all Secrets and ConfigMaps. A cache has one rule
// for a kind, whether it holds objects or their metadata.
func newMetadataCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	identities := cache.ByObject{Transform: object.IdentityOnly}
	return newCachedCluster(config, namespaces, map[client.Object]cache.ByObject{secretMetadata(): identities, configMapMetadata(): identities})
}

func newCachedCluster(config *rest.Config, namespaces []string, byObject map[client.Object]cache.ByObject) (cluster.Cluster, error) {
	return object.NewCluster(config, v1alpha1.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultNamespaces, o.Cache.ByObject = object.Only(namespaces), byObject
	})
}

func secretMetadata() *metav1.PartialObjectMetadata { return object.MetadataOf(object.SecretKind) }

func configMapMetadata() *metav1.PartialObjectMetadata {
	return object.MetadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

// internalKinds are the kinds of which CAs in the cluster consist, beside Secrets.
func internalKinds() []client.Object {
	return []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.Service{}, &corev1.ServiceAccount{}, &batchv1.Job{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
	}
}

// serverKinds are the kinds of which Servers consist.
func serverKinds() []client.Object {
	return []client.Object{
		&appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.NetworkPolicy{},
	}
}

// databaseKinds are the kinds of which Databases consist, beside those that others have, too.
func databaseKinds() []client.Object {
	return []client.Object{&appsv1.StatefulSet{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}}
}

// groupFor is the group of setup Pods: OpenShift gives each namespace its own.
func groupFor(mapper meta.RESTMapper) (*int64, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "security.openshift.io", Kind: "SecurityContextConstraints"})
	if meta.IsNoMatchError(err) {
		return new(int64(setupGroup)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking whether this is OpenShift: %w", err)
	}
	return nil, nil
}

// addControllers adds the controllers to a manager. They run on the leader.
func (a *admitter) addControllers(mgr system.Manager) error {
	c, err := newCluster(mgr.GetConfig(), a.namespaces)
	if err != nil {
		return fmt.Errorf("setting up the cache of OpenVox: %w", err)
	}
	all, err := newMetadataCluster(mgr.GetConfig(), a.namespaces)
	if err != nil {
		return fmt.Errorf("setting up the cache of Secrets and ConfigMaps: %w", err)
	}
	recorder := c.GetEventRecorder("lintel-openvox")
	s := secrets{client: c.GetClient(), live: c.GetAPIReader()}
	crls := newCRLMetrics(time.Now)
	if err := mgr.Metrics.Register(crls); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	group, err := groupFor(c.GetRESTMapper())
	if err != nil {
		return err
	}
	applier := func(manager string) *object.Applier {
		return &object.Applier{Client: c.GetClient(), Live: c.GetAPIReader(), Manager: manager}
	}
	policies := &PolicyReconciler{client: c.GetClient(), secrets: s, events: recorder}
	authorities := newAuthorityReconciler(c.GetClient(), s, recorder, crls, time.Now)
	issuing, signing := attempt.NewRunner[outcome](time.Now), attempt.NewRunner[outcome](time.Now)
	certificates := &CertificateReconciler{client: c.GetClient(), secrets: s, events: recorder, attempts: issuing, keys: newKeyMaker(a.keyBits), admit: a.admitCertificate, revoked: authorities.revoked, now: time.Now}
	initializing := &InitializeReconciler{client: c.GetClient(), secrets: s, applier: applier(initializeManager), events: recorder, admit: a.admitCertificate, fsGroup: group, externalOnly: a.externalOnly, now: time.Now}
	rendering := classifiers{secrets: s, admit: a.admitClassifier}
	configs := &ConfigReconciler{client: c.GetClient(), applier: applier(configsManager), events: recorder, admit: a.admitConfig, classifiers: rendering}
	classifying := &ClassifierReconciler{client: c.GetClient(), events: recorder, classifiers: rendering}
	reporting := &ReportReconciler{client: c.GetClient(), applier: applier(reportsManager), secrets: s, events: recorder, admit: a.admitProcessor}
	servers := &ServerReconciler{client: c.GetClient(), secrets: s, applier: applier(serversManager), events: recorder, admit: a.admitServer, fsGroup: group, externalOnly: a.externalOnly}
	databases := &DatabaseReconciler{client: c.GetClient(), secrets: s, applier: applier(databasesManager), events: recorder, admit: a.admitDatabase, fsGroup: group, externalOnly: a.externalOnly}
	pools := &PoolReconciler{client: c.GetClient(), applier: applier(poolsManager), events: recorder, admit: a.admitPool, externalOnly: a.externalOnly}
	var approves builtin.Admitter
	if a.approve {
		approves = a.admitRequest
	}
	signs := signer{client: c.GetClient(), secrets: s, admit: a.admitRequest, revoked: authorities.revoked, names: &certnames{}}
	requests := &RequestReconciler{client: c.GetClient(), signer: signs, events: recorder, attempts: signing, approves: approves, namespaces: a.namespaces}
	later := &certManager{manager: mgr, namespaces: a.namespaces, cluster: c, mapper: c.GetRESTMapper(), signer: signs, approves: approves}
	for _, runnable := range []manager.Runnable{c, all, issuing, signing, authorities.refreshes, later} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	w := watches{c.GetClient()}
	newGeneration := predicate.TypedGenerationChangedPredicate[*v1alpha1.CertificateAuthority]{}
	setup := []source.Source{object.Self(c, &v1alpha1.CertificateAuthority{})}
	if !a.externalOnly { // else the CAs' status says that nothing is set up, and no more
		setup = append(setup,
			object.Mapped(all, secretMetadata(), w.authoritiesOfIntermediateSecret),
			object.Mapped(c, &v1alpha1.Config{}, func(_ context.Context, c *v1alpha1.Config) []reconcile.Request {
				return object.Request(c.Namespace, c.Spec.AuthorityRef)
			}),
			object.Mapped(c, &v1alpha1.Certificate{}, authorityOfCertificate),
			object.Mapped(c, client.Object(&corev1.Secret{}), labelled))
		for _, kind := range internalKinds() {
			setup = append(setup, object.Mapped(c, kind, labelled))
		}
		setup = append(setup, object.Mapped(c, &v1alpha1.Server{}, w.authorityOfServer))
	}
	running := []source.Source{object.Self(c, &v1alpha1.Server{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Server]{})}
	reaching := []source.Source{object.Self(c, &v1alpha1.Pool{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Pool]{})}
	storing := []source.Source{object.Self(c, &v1alpha1.Database{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Database]{})}
	if !a.externalOnly {
		running = append(running, w.serverSources(c, all)...)
		storing = append(storing, w.databaseSources(c, all)...)
		reaching = append(reaching,
			object.Owned(c, &corev1.Service{}, &v1alpha1.Pool{}),
			object.Mapped(c, &discoveryv1.EndpointSlice{}, func(_ context.Context, s *discoveryv1.EndpointSlice) []reconcile.Request {
				return object.Request(s.Namespace, s.Labels[discoveryv1.LabelServiceName])
			}),
			// One that goes may leave its host name to another.
			object.Mapped(c, &v1alpha1.Pool{}, w.poolsBeside, predicate.TypedGenerationChangedPredicate[*v1alpha1.Pool]{}))
	}
	return errors.Join(
		object.Control(mgr, policiesManager, 1, policies,
			object.Self(c, &v1alpha1.CertificateAuthority{}, newGeneration),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.CertificateAuthority{}),
			object.Mapped(c, &v1alpha1.SigningPolicy{}, func(_ context.Context, p *v1alpha1.SigningPolicy) []reconcile.Request {
				return object.Request(p.Namespace, p.Spec.CertificateAuthorityRef)
			}),
			object.Mapped(c, &v1alpha1.Certificate{}, authorityOfCertificate),
			object.Mapped(c, &v1alpha1.Pool{}, w.authoritiesOfPool),
			object.Mapped(c, &v1alpha1.Database{}, w.authorityOfDatabase, predicate.TypedGenerationChangedPredicate[*v1alpha1.Database]{}),
			object.Mapped(c, &v1alpha1.Server{}, w.authorityOfServer),
			object.Mapped(all, secretMetadata(), w.authoritiesOfPolicySecret),
			object.Mapped(all, secretMetadata(), authorityOfAutosignSecret)),
		object.Control(mgr, authoritiesManager, workers, authorities,
			object.Self(c, &v1alpha1.CertificateAuthority{}),
			object.Mapped(all, secretMetadata(), func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
				requests := w.authoritiesOfSecret(ctx, secret)
				for _, request := range requests {
					authorities.hurry(request.NamespacedName)
				}
				return requests
			}),
			authorities.refreshes.Source()),
		object.Control(mgr, initializeManager, 1, initializing, setup...),
		object.Control(mgr, certificatesManager, workers, certificates,
			object.Self(c, &v1alpha1.Certificate{}),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.Certificate{}),
			issuing.Source(),
			object.Mapped(c, &v1alpha1.CertificateAuthority{}, w.certificatesOf),
			object.Mapped(c, &v1alpha1.Pool{}, w.certificatesOfPool, predicate.TypedGenerationChangedPredicate[*v1alpha1.Pool]{}),
			object.Mapped(c, &v1alpha1.Database{}, func(_ context.Context, d *v1alpha1.Database) []reconcile.Request {
				return object.Request(d.Namespace, d.Spec.CertificateRef)
			}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Database]{}),
			object.Mapped(c, &v1alpha1.Server{}, func(_ context.Context, s *v1alpha1.Server) []reconcile.Request {
				return object.Request(s.Namespace, s.Spec.CertificateRef)
			}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Server]{})),
		object.Control(mgr, serversManager, workers, servers, running...),
		object.Control(mgr, databasesManager, 1, databases, storing...),
		object.Control(mgr, poolsManager, 1, pools, reaching...),
		object.Control(mgr, configsManager, 1, configs,
			object.Self(c, &v1alpha1.Config{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Config]{}),
			object.Owned(c, &corev1.ConfigMap{}, &v1alpha1.Config{}),
			object.Owned(c, &corev1.ServiceAccount{}, &v1alpha1.Config{}),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.Config{}),
			object.Mapped(c, &v1alpha1.NodeClassifier{}, w.configsOfClassifier, predicate.TypedGenerationChangedPredicate[*v1alpha1.NodeClassifier]{}),
			object.Mapped(c, &v1alpha1.ReportProcessor{}, configOfProcessor, predicate.TypedGenerationChangedPredicate[*v1alpha1.ReportProcessor]{}),
			object.Mapped(c, &v1alpha1.Database{}, func(ctx context.Context, d *v1alpha1.Database) []reconcile.Request {
				return object.Requests(ctx, c.GetClient(), &v1alpha1.ConfigList{}, func(c *v1alpha1.Config) bool { return c.Spec.DatabaseRef == d.Name }, client.InNamespace(d.Namespace))
			}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Database]{}),
			object.Mapped(all, secretMetadata(), w.configsOfClassifierSecret),
			// Some files say what the CA does, and a Config may be there before it.
			object.Mapped(c, &v1alpha1.CertificateAuthority{}, w.configsOf, newGeneration)),
		object.Control(mgr, classifiersManager, 1, classifying,
			object.Self(c, &v1alpha1.NodeClassifier{}),
			object.Mapped(all, secretMetadata(), w.classifiersOfSecret)),
		object.Control(mgr, reportsManager, 1, reporting,
			object.Self(c, &v1alpha1.Config{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Config]{}),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.Config{}),
			object.Mapped(c, &v1alpha1.ReportProcessor{}, configOfProcessor),
			object.Mapped(all, secretMetadata(), configOfReportsSecret),
			object.Mapped(all, secretMetadata(), w.configsOfProcessorSecret),
			object.Mapped(all, configMapMetadata(), w.configsOfProcessorConfigMap)),
		object.Control(mgr, requestsManager, workers, requests,
			object.Self(c, &certificatesv1.CertificateSigningRequest{}),
			signing.Source()),
	)
}
