package authority

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	"github.com/lintel-policy/lintel/controllers/system"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// Options are what the controllers of this package need.
type Options struct {
	// Cluster caches OpenVox's kinds, and those objects of Kinds and Secrets that this package
	// creates. Metadata caches the metadata of all Secrets.
	Cluster, Metadata cluster.Cluster
	// AdmitCertificate is asked about the Certificates of the CAs' servers.
	AdmitCertificate builtin.Admitter
	// ExternalOnly sets up no CAs in the cluster.
	ExternalOnly bool
	// FSGroup is the group of setup Pods: nil where the cluster gives each namespace its own.
	FSGroup *int64
}

// AddControllers adds the controllers and their background tasks to a manager. They run on
// the leader. The result revokes certificates at CAs.
func AddControllers(mgr system.Manager, o Options) (*Revoker, error) {
	c, all := o.Cluster, o.Metadata
	recorder := c.GetEventRecorder("lintel-openvox")
	s := Secrets{Client: c.GetClient(), Live: c.GetAPIReader()}
	crls := newCRLMetrics(time.Now)
	if err := mgr.Metrics.Register(crls); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	policies := &PolicyReconciler{client: c.GetClient(), secrets: s, events: recorder}
	authorities := newAuthorityReconciler(c.GetClient(), s, recorder, crls, time.Now)
	applier := &object.Applier{Client: c.GetClient(), Live: c.GetAPIReader(), Manager: initializeManager}
	initializing := NewInitializeReconciler(c.GetClient(), s, applier, recorder, o.AdmitCertificate, time.Now)
	initializing.fsGroup, initializing.externalOnly = o.FSGroup, o.ExternalOnly
	if err := mgr.Add(authorities.refreshes); err != nil {
		return nil, err
	}
	w := watches{c.GetClient()}
	return authorities.revoker, errors.Join(
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
		object.Control(mgr, initializeManager, 1, initializing, w.inClusterSources(c, all, o.ExternalOnly)...),
	)
}
