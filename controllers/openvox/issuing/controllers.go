package issuing

import (
	"context"
	"errors"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/system"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// Options are what the controllers of this package need.
type Options struct {
	// Cluster caches OpenVox's kinds, and the Secrets that this package creates.
	Cluster cluster.Cluster
	// AdmitCertificate is asked about Certificates, and AdmitRequest about requests to CAs.
	AdmitCertificate, AdmitRequest builtin.Admitter
	// Approve has requests approved or denied, as AdmitRequest says.
	Approve bool
	// KeyBits is the size in bits of the RSA keys for Certificates.
	KeyBits int
	// Namespaces are those whose CAs sign: all where there are none.
	Namespaces []string
	// Revoker revokes certificates at CAs.
	Revoker *authority.Revoker
}

// AddControllers adds the controllers and their background tasks to a manager. They run on the
// leader.
func AddControllers(mgr system.Manager, o Options) error {
	c := o.Cluster
	recorder := c.GetEventRecorder("lintel-openvox")
	s := authority.Secrets{Client: c.GetClient(), Live: c.GetAPIReader()}
	issuing, signing := attempt.NewRunner[outcome](time.Now), attempt.NewRunner[outcome](time.Now)
	certificates := &CertificateReconciler{client: c.GetClient(), secrets: s, events: recorder, attempts: issuing, keys: newKeyMaker(o.KeyBits), admit: o.AdmitCertificate, revoker: o.Revoker, now: time.Now}
	var approves builtin.Admitter
	if o.Approve {
		approves = o.AdmitRequest
	}
	signs := signer{client: c.GetClient(), secrets: s, admit: o.AdmitRequest, revoker: o.Revoker, names: &certnames{}}
	requests := &RequestReconciler{client: c.GetClient(), signer: signs, events: recorder, attempts: signing, approves: approves, namespaces: o.Namespaces}
	later := &certManager{manager: mgr, namespaces: o.Namespaces, cluster: c, mapper: c.GetRESTMapper(), signer: signs, approves: approves}
	for _, runnable := range []manager.Runnable{issuing, signing, later} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	w := watches{c.GetClient()}
	return errors.Join(
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
