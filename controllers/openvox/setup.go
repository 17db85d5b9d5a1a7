package openvox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

const (
	// DefaultKeyBits is the size of keys that are made here.
	DefaultKeyBits = 4096
	// workers is how many objects are looked at at a time; CAs are asked elsewhere.
	workers = 8
)

// Options are what the controllers of this package need.
type Options struct {
	// KeyBits is the size of RSA keys: DefaultKeyBits unless set.
	KeyBits int
	// Admitter is asked about Certificates, and RequestAdmitter about approved
	// CertificateSigningRequests and CertificateRequests, before a CA is.
	Admitter, RequestAdmitter builtin.Admitter
	// ConfigAdmitter is asked about Configs before they are rendered.
	ConfigAdmitter builtin.Admitter
	// Namespaces are those whose objects are looked at: all where there are none.
	Namespaces []string
	// ExternalOnly sets up no CAs in the cluster, and so needs no Jobs, volumes and Roles.
	ExternalOnly bool
	// Approve has requests approved that RequestAdmitter admits, and others denied.
	Approve bool
	// Registry gets the metrics.
	Registry prometheus.Registerer
}

// newCluster has its own cache: a manager without this system watches none of it. What
// others have, too, it holds of ours only.
func newCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	byObject := map[client.Object]cache.ByObject{}
	for _, kind := range append(internalKinds(), &corev1.ConfigMap{}, &corev1.Secret{}) {
		byObject[kind] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy})}
	}
	return newCachedCluster(config, namespaces, byObject)
}

// newSecretsCluster holds the metadata of all Secrets. A cache has one rule for a kind,
// whether it holds objects or their metadata.
func newSecretsCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	return newCachedCluster(config, namespaces, map[client.Object]cache.ByObject{secretKind(): {Transform: identityOnly}})
}

func newCachedCluster(config *rest.Config, namespaces []string, byObject map[client.Object]cache.ByObject) (cluster.Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness limits better
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return cluster.New(config, func(o *cluster.Options) {
		o.Scheme, o.Cache.DefaultNamespaces, o.Cache.ByObject = scheme, only(namespaces), byObject
	})
}

// only has a cache hold objects of these namespaces, beside those of none: all where there
// are no names.
func only(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	configs := map[string]cache.Config{}
	for _, name := range namespaces {
		configs[name] = cache.Config{}
	}
	return configs
}

// KindCaches has the manager's cache, by which requests are judged, hold no other namespaces.
func KindCaches(namespaces []string) map[client.Object]cache.ByObject {
	kinds := map[client.Object]cache.ByObject{}
	if len(namespaces) == 0 {
		return kinds
	}
	for _, kind := range []client.Object{&v1alpha1.CertificateAuthority{}, &v1alpha1.SigningPolicy{}, &v1alpha1.Certificate{}} {
		kinds[kind] = cache.ByObject{Namespaces: only(namespaces)}
	}
	return kinds
}

// internalKinds are the kinds of which CAs in the cluster consist, beside Secrets.
func internalKinds() []client.Object {
	return []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.Service{}, &corev1.ServiceAccount{}, &batchv1.Job{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
	}
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

func secretKind() *metav1.PartialObjectMetadata {
	kind := &metav1.PartialObjectMetadata{}
	kind.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return kind
}

// identityOnly keeps of an object's metadata what tells versions apart.
func identityOnly(object any) (any, error) {
	if whole, ok := object.(*metav1.PartialObjectMetadata); ok {
		whole.Labels, whole.Annotations, whole.ManagedFields, whole.OwnerReferences = nil, nil, nil, nil
	}
	return object, nil
}

// SetupWithManager adds the controllers of OpenVox to a manager. They run on the leader.
func SetupWithManager(mgr manager.Manager, options Options) error {
	c, err := newCluster(mgr.GetConfig(), options.Namespaces)
	if err != nil {
		return fmt.Errorf("setting up the cache of OpenVox: %w", err)
	}
	allSecrets, err := newSecretsCluster(mgr.GetConfig(), options.Namespaces)
	if err != nil {
		return fmt.Errorf("setting up the cache of Secrets: %w", err)
	}
	if options.KeyBits == 0 {
		options.KeyBits = DefaultKeyBits
	}
	recorder := c.GetEventRecorder("lintel-openvox")
	s := secrets{client: c.GetClient(), live: c.GetAPIReader()}
	running := attempt.NewRunner[outcome](time.Now)
	policies := &PolicyReconciler{client: c.GetClient(), secrets: s, events: recorder}
	crls := newCRLMetrics(time.Now)
	if err := options.Registry.Register(crls); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	authorities := newAuthorityReconciler(c.GetClient(), s, recorder, crls, time.Now)
	certificates := &CertificateReconciler{client: c.GetClient(), secrets: s, events: recorder, attempts: running, keys: newKeyMaker(options.KeyBits), admit: options.Admitter, revoked: authorities.revoked, now: time.Now}
	group, err := groupFor(c.GetRESTMapper())
	if err != nil {
		return err
	}
	initializing := &InitializeReconciler{client: c.GetClient(), secrets: s, apply: applier{"lintel-openvox-internal", c.GetClient(), c.GetAPIReader()}, events: recorder, admit: options.Admitter, fsGroup: group, externalOnly: options.ExternalOnly, now: time.Now}
	signing := attempt.NewRunner[outcome](time.Now)
	var approving *approver
	if options.Approve {
		approving = &approver{admit: options.RequestAdmitter}
	}
	signs := signer{client: c.GetClient(), secrets: s, admit: options.RequestAdmitter, revoked: authorities.revoked, held: newHeld()}
	requests := &RequestReconciler{client: c.GetClient(), signer: signs, events: recorder, attempts: signing, approver: approving, namespaces: options.Namespaces}
	later := &certManager{manager: mgr, namespaces: options.Namespaces, watches: watches{cluster: c}, mapper: c.GetRESTMapper(), signer: signs, approver: approving}
	for _, runnable := range []manager.Runnable{c, allSecrets, running, signing, authorities.refreshes, later} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	configs := &ConfigReconciler{client: c.GetClient(), apply: applier{"lintel-openvox-configs", c.GetClient(), c.GetAPIReader()}, events: recorder, admit: options.ConfigAdmitter}
	w := watches{c, allSecrets}
	for name, setup := range map[string]func() error{
		"policies": func() error {
			return builder.ControllerManagedBy(mgr).Named(policyOwner).
				WatchesRawSource(self(w, &v1alpha1.CertificateAuthority{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.CertificateAuthority]{})).
				WatchesRawSource(owned(w, &corev1.Secret{}, &v1alpha1.CertificateAuthority{})).
				WatchesRawSource(mapped(w, &v1alpha1.SigningPolicy{}, func(_ context.Context, p *v1alpha1.SigningPolicy) []reconcile.Request {
					return to(p.Namespace, p.Spec.CertificateAuthorityRef)
				})).
				WatchesRawSource(mapped(w, &v1alpha1.Certificate{}, func(_ context.Context, c *v1alpha1.Certificate) []reconcile.Request {
					return to(c.Namespace, c.Spec.AuthorityRef)
				})).
				WatchesRawSource(mapped(w, secretKind(), w.authoritiesOfPolicySecret)).
				WatchesRawSource(mapped(w, secretKind(), authorityOfAutosignSecret)).
				Complete(policies)
		},
		"CertificateAuthorities": func() error {
			return builder.ControllerManagedBy(mgr).Named("lintel-openvox-authorities").
				WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
				WatchesRawSource(self(w, &v1alpha1.CertificateAuthority{})).
				WatchesRawSource(mapped(w, secretKind(), func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
					requests := w.authoritiesOfSecret(ctx, secret)
					for _, request := range requests {
						authorities.hurry(request.NamespacedName)
					}
					return requests
				})).
				WatchesRawSource(authorities.refreshes.Source()).
				Complete(authorities)
		},
		"CertificateAuthorities that are set up": func() error {
			setup := builder.ControllerManagedBy(mgr).Named("lintel-openvox-internal").
				WatchesRawSource(self(w, &v1alpha1.CertificateAuthority{}))
			if options.ExternalOnly {
				return setup.Complete(initializing) // which says so
			}
			setup = setup.
				WatchesRawSource(mapped(w, secretKind(), w.authoritiesOfIntermediateSecret)).
				WatchesRawSource(mapped(w, &v1alpha1.Config{}, func(_ context.Context, c *v1alpha1.Config) []reconcile.Request {
					return to(c.Namespace, c.Spec.AuthorityRef)
				})).
				WatchesRawSource(mapped(w, &v1alpha1.Certificate{}, func(_ context.Context, c *v1alpha1.Certificate) []reconcile.Request {
					return to(c.Namespace, c.Spec.AuthorityRef)
				})).
				WatchesRawSource(mapped(w, client.Object(&corev1.Secret{}), labelled))
			for _, kind := range internalKinds() {
				setup = setup.WatchesRawSource(mapped(w, kind, labelled))
			}
			return setup.Complete(initializing)
		},
		"Certificates": func() error {
			return builder.ControllerManagedBy(mgr).Named("lintel-openvox-certificates").
				WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
				WatchesRawSource(self(w, &v1alpha1.Certificate{})).
				WatchesRawSource(owned(w, &corev1.Secret{}, &v1alpha1.Certificate{})).
				WatchesRawSource(running.Source()).
				WatchesRawSource(mapped(w, &v1alpha1.CertificateAuthority{}, w.certificatesOf)).
				Complete(certificates)
		},
		"Configs": func() error {
			return builder.ControllerManagedBy(mgr).Named("lintel-openvox-configs").
				WatchesRawSource(self(w, &v1alpha1.Config{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Config]{})).
				WatchesRawSource(owned(w, &corev1.ConfigMap{}, &v1alpha1.Config{})).
				WatchesRawSource(owned(w, &corev1.ServiceAccount{}, &v1alpha1.Config{})).
				// Some files say what the CA does, and a Config may be there before it.
				WatchesRawSource(mapped(w, &v1alpha1.CertificateAuthority{}, w.configsOf, predicate.TypedGenerationChangedPredicate[*v1alpha1.CertificateAuthority]{})).
				Complete(configs)
		},
		"CertificateSigningRequests": func() error {
			return builder.ControllerManagedBy(mgr).Named("lintel-openvox-requests").
				WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
				WatchesRawSource(self(w, &certificatesv1.CertificateSigningRequest{})).
				WatchesRawSource(signing.Source()).
				Complete(requests)
		},
	} {
		if err := setup(); err != nil {
			return fmt.Errorf("setting up the controller of %s: %w", name, err)
		}
	}
	return nil
}

// watches say whom a change concerns. secrets has the metadata of all Secrets.
type watches struct{ cluster, secrets cluster.Cluster }

// cacheOf is the cache that has a kind.
func (w watches) cacheOf(kind client.Object) cache.Cache {
	if _, metadata := kind.(*metav1.PartialObjectMetadata); metadata {
		return w.secrets.GetCache()
	}
	return w.cluster.GetCache()
}

func self[T client.Object](w watches, kind T, predicates ...predicate.TypedPredicate[T]) source.Source {
	return source.Kind(w.cacheOf(kind), kind, &handler.TypedEnqueueRequestForObject[T]{}, predicates...)
}

// owned follows what objects of a kind control.
func owned[T client.Object](w watches, kind T, owner client.Object) source.Source {
	return source.Kind(w.cacheOf(kind), kind, handler.TypedEnqueueRequestForOwner[T](
		w.cluster.GetScheme(), w.cluster.GetRESTMapper(), owner, handler.OnlyControllerOwner()))
}

func mapped[T client.Object](w watches, kind T, concerned func(context.Context, T) []reconcile.Request, predicates ...predicate.TypedPredicate[T]) source.Source {
	return source.Kind(w.cacheOf(kind), kind, handler.TypedEnqueueRequestsFromMapFunc(concerned), predicates...)
}

func to(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}}
}

// labelled is the CA of an object that was made for it.
func labelled(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[caLabel]
	if name == "" {
		return nil
	}
	return to(object.GetNamespace(), name)
}

// certificatesOf are those that wait for a CA, or ask it.
func (w watches) certificatesOf(ctx context.Context, ca *v1alpha1.CertificateAuthority) (requests []reconcile.Request) {
	var list v1alpha1.CertificateList
	if err := w.cluster.GetClient().List(ctx, &list, client.InNamespace(ca.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing Certificates")
		return nil
	}
	for i := range list.Items {
		if c := &list.Items[i]; c.Spec.AuthorityRef == ca.Name && c.Status.Phase != v1alpha1.CertificateSigned {
			requests = append(requests, to(c.Namespace, c.Name)...)
		}
	}
	return requests
}

// configsOf are those that name a CA.
func (w watches) configsOf(ctx context.Context, ca *v1alpha1.CertificateAuthority) (requests []reconcile.Request) {
	var list v1alpha1.ConfigList
	if err := w.cluster.GetClient().List(ctx, &list, client.InNamespace(ca.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing Configs")
		return nil
	}
	for i := range list.Items {
		if c := &list.Items[i]; c.Spec.AuthorityRef == ca.Name {
			requests = append(requests, to(c.Namespace, c.Name)...)
		}
	}
	return requests
}

// authoritiesOfSecret are those that are known or signed for by a Secret.
func (w watches) authoritiesOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) (requests []reconcile.Request) {
	var list v1alpha1.CertificateAuthorityList
	if err := w.cluster.GetClient().List(ctx, &list, client.InNamespace(secret.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing CertificateAuthorities")
		return nil
	}
	for i := range list.Items {
		ca := &list.Items[i]
		if caSecretName(ca) == secret.Name || ca.Spec.External != nil && ca.Spec.External.TLSSecretRef == secret.Name {
			requests = append(requests, to(ca.Namespace, ca.Name)...)
		}
	}
	return requests
}

// authoritiesOfIntermediateSecret are those that are to have their keys from a Secret.
func (w watches) authoritiesOfIntermediateSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) (requests []reconcile.Request) {
	var list v1alpha1.CertificateAuthorityList
	if err := w.cluster.GetClient().List(ctx, &list, client.InNamespace(secret.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing CertificateAuthorities")
		return nil
	}
	for i := range list.Items {
		if ca := &list.Items[i]; ca.Spec.IntermediateCA.Enabled && ca.Spec.IntermediateCA.SecretName == secret.Name {
			requests = append(requests, to(ca.Namespace, ca.Name)...)
		}
	}
	return requests
}

// authorityOfAutosignSecret is the CA whose hook reads a Secret, whoever has made it.
func authorityOfAutosignSecret(_ context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	ca, ok := strings.CutSuffix(secret.Name, autosignSecret(""))
	if !ok {
		return nil
	}
	return to(secret.Namespace, ca)
}

// authoritiesOfPolicySecret are those of the policies that read a Secret.
func (w watches) authoritiesOfPolicySecret(ctx context.Context, secret *metav1.PartialObjectMetadata) (requests []reconcile.Request) {
	var list v1alpha1.SigningPolicyList
	if err := w.cluster.GetClient().List(ctx, &list, client.InNamespace(secret.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing SigningPolicies")
		return nil
	}
	for i := range list.Items {
		for _, attribute := range list.Items[i].Spec.CSRAttributes {
			if attribute.ValueFrom != nil && attribute.ValueFrom.SecretKeyRef.Name == secret.Name {
				requests = append(requests, to(secret.Namespace, list.Items[i].Spec.CertificateAuthorityRef)...)
			}
		}
	}
	return requests
}
