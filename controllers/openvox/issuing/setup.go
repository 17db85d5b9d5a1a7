package issuing

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	"github.com/lintel-policy/lintel/controllers/system"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// workers is how many objects are looked at at a time; CAs are asked elsewhere.
const workers = 8

// Options are what the controllers of this package need.
type Options struct {
	// Cluster caches OpenVox's kinds, and those objects of Kinds and Secrets that this package
	// creates. Metadata caches the metadata of all Secrets.
	Cluster, Metadata cluster.Cluster
	// AdmitCertificate is asked about Certificates, and AdmitRequest about requests to CAs.
	AdmitCertificate, AdmitRequest builtin.Admitter
	// Approve has requests approved or denied, as AdmitRequest says.
	Approve bool
	// KeyBits is the size in bits of the RSA keys for Certificates.
	KeyBits int
	// Namespaces are those whose CAs sign: all where there are none.
	Namespaces []string
	// ExternalOnly sets up no CAs in the cluster.
	ExternalOnly bool
	// FSGroup is the group of setup Pods: nil where the cluster gives each namespace its own.
	FSGroup *int64
}

// Kinds returns the kinds that make up an in-cluster CA, in addition to Secrets.
func Kinds() []client.Object {
	return []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.Service{}, &corev1.ServiceAccount{}, &batchv1.Job{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
	}
}

// SetUp adds the controllers and their background tasks to a manager. They run on the leader.
func SetUp(mgr system.Manager, o Options) error {
	c, all := o.Cluster, o.Metadata
	recorder := c.GetEventRecorder("lintel-openvox")
	s := secrets{client: c.GetClient(), live: c.GetAPIReader()}
	crls := newCRLMetrics(time.Now)
	if err := mgr.Metrics.Register(crls); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	policies := &PolicyReconciler{client: c.GetClient(), secrets: s, events: recorder}
	authorities := newAuthorityReconciler(c.GetClient(), s, recorder, crls, time.Now)
	issuing, signing := attempt.NewRunner[outcome](time.Now), attempt.NewRunner[outcome](time.Now)
	certificates := &CertificateReconciler{client: c.GetClient(), secrets: s, events: recorder, attempts: issuing, keys: newKeyMaker(o.KeyBits), admit: o.AdmitCertificate, revoker: authorities.revoker, now: time.Now}
	applier := &object.Applier{Client: c.GetClient(), Live: c.GetAPIReader(), Manager: initializeManager}
	initializing := &InitializeReconciler{client: c.GetClient(), secrets: s, applier: applier, events: recorder, admit: o.AdmitCertificate, fsGroup: o.FSGroup, externalOnly: o.ExternalOnly, now: time.Now}
	var approves builtin.Admitter
	if o.Approve {
		approves = o.AdmitRequest
	}
	signs := signer{client: c.GetClient(), secrets: s, admit: o.AdmitRequest, revoker: authorities.revoker, names: &certnames{}}
	requests := &RequestReconciler{client: c.GetClient(), signer: signs, events: recorder, attempts: signing, approves: approves, namespaces: o.Namespaces}
	later := &certManager{manager: mgr, namespaces: o.Namespaces, cluster: c, mapper: c.GetRESTMapper(), signer: signs, approves: approves}
	for _, runnable := range []manager.Runnable{issuing, signing, authorities.refreshes, later} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	w := watches{c.GetClient()}
	return errors.Join(
		object.Control(mgr, policiesManager, 1, policies,
			object.Self(c, &v1alpha1.CertificateAuthority{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.CertificateAuthority]{}),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.CertificateAuthority{}),
			object.Mapped(c, &v1alpha1.SigningPolicy{}, func(_ context.Context, p *v1alpha1.SigningPolicy) []reconcile.Request {
				return object.Request(p.Namespace, p.Spec.CertificateAuthorityRef)
			}),
			object.Mapped(c, &v1alpha1.Certificate{}, authorityOfCertificate),
			object.Mapped(c, &v1alpha1.Pool{}, w.authoritiesOfPool),
			object.Mapped(c, &v1alpha1.Database{}, w.authorityOfDatabase, predicate.TypedGenerationChangedPredicate[*v1alpha1.Database]{}),
			object.Mapped(c, &v1alpha1.Server{}, w.authorityOfServer),
			object.Mapped(c, &v1alpha1.Config{}, authorityOfConfig, pausing.Changed[*v1alpha1.Config]()), // which may control them
			object.Mapped(all, object.MetadataOf(object.SecretKind), w.authoritiesOfPolicySecret),
			object.Mapped(all, object.MetadataOf(object.SecretKind), authorityOfAutosignSecret)),
		object.Control(mgr, authoritiesManager, workers, authorities,
			object.Self(c, &v1alpha1.CertificateAuthority{}),
			object.Mapped(all, object.MetadataOf(object.SecretKind), func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
				requests := w.authoritiesOfSecret(ctx, secret)
				for _, request := range requests {
					authorities.hurry(request.NamespacedName)
				}
				return requests
			}),
			// A CRL that is lost is read again immediately.
			object.Mapped(all, object.MetadataOf(object.SecretKind), func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
				requests := w.authoritiesOfCRL(ctx, secret)
				for _, request := range requests {
					authorities.changed(ctx, request.NamespacedName)
				}
				return requests
			}, predicate.TypedFuncs[*metav1.PartialObjectMetadata]{
				CreateFunc: func(event.TypedCreateEvent[*metav1.PartialObjectMetadata]) bool { return false },
				UpdateFunc: func(event.TypedUpdateEvent[*metav1.PartialObjectMetadata]) bool { return false },
			}),
			object.Mapped(c, &v1alpha1.Server{}, func(ctx context.Context, server *v1alpha1.Server) (requests []reconcile.Request) {
				if server.Spec.CA {
					requests = w.authorityOfServer(ctx, server)
				}
				for _, request := range requests {
					authorities.refreshes.Hurry(request.NamespacedName)
				}
				return requests
			}, object.Updates(func(before, after *v1alpha1.Server) bool { return before.Status.Ready != after.Status.Ready })),
			authorities.refreshes.Source()),
		object.Control(mgr, initializeManager, 1, initializing, w.setupSources(c, all, o.ExternalOnly)...),
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
		object.Control(mgr, requestsManager, workers, requests,
			object.Self(c, &certificatesv1.CertificateSigningRequest{}),
			signing.Source()),
	)
}
