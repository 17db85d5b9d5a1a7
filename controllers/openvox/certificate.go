package openvox

import (
	"context"
	"crypto/x509"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

const (
	// notStarted is how long to wait for what starts with the manager.
	notStarted = 100 * time.Millisecond
	// cleanupTimeout is how long an object waits for its certificate to be revoked.
	cleanupTimeout = 75 * time.Second
	// warnedAnnotation is the last warning about the end of a certificate.
	warnedAnnotation = "openvox.voxpupuli.org/expiry-warned"
)

// CertificateReconciler begins attempts, and tells what has become of them.
type CertificateReconciler struct {
	client   client.Client
	secrets  secrets
	events   events.EventRecorder
	attempts *attempt.Runner[outcome]
	keys     *keyMaker
	admit    builtin.Admitter
	revoked  revocations
	now      func() time.Time
}

// Reconcile tells the outcome of an attempt that has ended, or begins one.
func (r *CertificateReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	certificate := &v1alpha1.Certificate{}
	if err := r.client.Get(ctx, request.NamespacedName, certificate); err != nil {
		r.attempts.Forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if out, ended := r.attempts.Outcome(request.NamespacedName, certificate.UID); ended {
		result, err := r.settle(ctx, certificate, out)
		if err != nil {
			return result, err
		}
		r.attempts.Done(request.NamespacedName)
		if out.generation != certificate.Generation || out.deleting == certificate.DeletionTimestamp.IsZero() {
			result.RequeueAfter = notStarted // the object is another by now
		}
		return result, err
	}
	step := r.issue
	if !certificate.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(certificate, finalizer) {
			return reconcile.Result{}, nil
		}
		step = r.revoke
	} else if controllerutil.AddFinalizer(certificate, finalizer) {
		if err := r.client.Update(ctx, certificate); err != nil {
			return reconcile.Result{}, fmt.Errorf("adding the finalizer: %w", err)
		}
	}
	copied := certificate.DeepCopy()
	r.attempts.Begin(request.NamespacedName, authorityOf(certificate), certificate.UID, func(ctx context.Context) outcome {
		out := step(ctx, copied)
		out.generation, out.deleting = copied.Generation, !copied.DeletionTimestamp.IsZero()
		return out
	})
	return reconcile.Result{}, nil
}

// issue is an attempt to have the certificate that is wanted.
func (r *CertificateReconciler) issue(ctx context.Context, certificate *v1alpha1.Certificate) outcome {
	verdict, err := r.admit(ctx, certificate)
	if err != nil {
		return outcome{phase: v1alpha1.CertificateError, reason: reasonFailed, message: err.Error(), wait: retryError}
	}
	if verdict.Denied() {
		return outcome{phase: v1alpha1.CertificateError, reason: "NotAdmitted", message: verdict.Message(), wait: retryPending}
	}
	i, err := r.issuance(ctx, certificate)
	if err != nil {
		return outcome{phase: v1alpha1.CertificatePending, reason: reasonNoAuthority, message: err.Error(), wait: retryPending}
	}
	defer i.authority.close()
	return i.run(ctx)
}

// revoke is an attempt to revoke the certificate of an object that goes. phase is empty
// when nothing is left to do.
func (r *CertificateReconciler) revoke(ctx context.Context, certificate *v1alpha1.Certificate) outcome {
	ca := &v1alpha1.CertificateAuthority{}
	err := r.client.Get(ctx, authorityOf(certificate), ca)
	if apierrors.IsNotFound(err) {
		return outcome{}
	}
	i, err := r.issuance(ctx, certificate)
	if err == nil {
		defer i.authority.close()
		if err = i.revoke(ctx); err == nil {
			return outcome{events: i.events}
		}
	}
	if r.now().Sub(certificate.DeletionTimestamp.Time) > cleanupTimeout {
		return outcome{events: []told{{true, "CertificateNotRevoked", "the certificate stays valid at the CA: " + err.Error()}}}
	}
	return outcome{phase: v1alpha1.CertificateError, reason: "RevocationFailed", message: err.Error(), wait: retryError}
}

func (r *CertificateReconciler) issuance(ctx context.Context, certificate *v1alpha1.Certificate) (*issuance, error) {
	ca := &v1alpha1.CertificateAuthority{}
	key := authorityOf(certificate)
	if err := r.client.Get(ctx, key, ca); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no CertificateAuthority %s", key.Name)
	} else if err != nil {
		return nil, err
	}
	ask := connect
	if ca.Spec.External == nil && certificate.Name == signingName(ca.Name) {
		ask = connectToReplace
	}
	a, err := ask(ctx, r.secrets, ca)
	if err != nil {
		return nil, fmt.Errorf("CertificateAuthority %s: %w", ca.Name, err)
	}
	a.revoked = r.revoked.of(key)
	server := certificate.Name == rules.ServerCertificate(ca)
	if server { // by its Service the CA is asked
		certificate.Spec.DNSAltNames = withNames(certificate.Spec.DNSAltNames, serviceNames(ca))
	}
	return &issuance{
		secrets: r.secrets, certificate: certificate, authority: a, server: server, keys: r.keys, now: r.now,
		autoRenews: ca.Spec.AllowAutoRenewal == nil || *ca.Spec.AllowAutoRenewal,
	}, nil
}

// settle writes what has become of an attempt.
func (r *CertificateReconciler) settle(ctx context.Context, certificate *v1alpha1.Certificate, out outcome) (reconcile.Result, error) {
	for _, e := range out.events {
		kind := corev1.EventTypeNormal
		if e.warning {
			kind = corev1.EventTypeWarning
		}
		r.events.Eventf(certificate, nil, kind, e.reason, "Issue", "%s", e.words)
	}
	if out.phase == "" {
		if controllerutil.RemoveFinalizer(certificate, finalizer) {
			return reconcile.Result{}, client.IgnoreNotFound(r.client.Update(ctx, certificate))
		}
		return reconcile.Result{}, nil
	}
	before := certificate.DeepCopy()
	status := &certificate.Status
	status.Phase, status.ObservedGeneration, status.SecretName = out.phase, out.generation, tlsSecret(certificate.Name)
	if out.certificate != nil {
		status.NotAfter, status.SerialNumber = new(metav1.NewTime(out.certificate.NotAfter)), serial(out.certificate)
	}
	signed := out.phase == v1alpha1.CertificateSigned
	setCondition(&status.Conditions, v1alpha1.ConditionCertSigned, signed, out.reason, out.message, out.generation)
	r.warnOnce(before, certificate, out)
	if !reflect.DeepEqual(before.Status, certificate.Status) {
		if err := r.client.Status().Patch(ctx, certificate, client.MergeFrom(before)); err != nil {
			return reconcile.Result{}, fmt.Errorf("writing the status: %w", err)
		}
	}
	return reconcile.Result{RequeueAfter: out.wait}, r.warnExpiry(ctx, certificate, out.certificate)
}

// warnOnce sends an Event when a Certificate begins to fail for a reason.
func (r *CertificateReconciler) warnOnce(before, after *v1alpha1.Certificate, out outcome) {
	if out.phase == v1alpha1.CertificateSigned || out.phase == v1alpha1.CertificatePending {
		return
	}
	if len(before.Status.Conditions) > 0 && before.Status.Conditions[0].Reason == out.reason {
		return
	}
	reason := out.reason
	if reason == reasonWaiting {
		reason = "CSRWaitingForSigning"
	}
	r.events.Eventf(after, nil, corev1.EventTypeWarning, reason, "Issue", "%s", out.message)
}

// warnings are how long before its end somebody is told, longest first.
var warnings = []struct {
	before time.Duration
	name   string
}{{30 * 24 * time.Hour, "30d"}, {7 * 24 * time.Hour, "7d"}, {24 * time.Hour, "1d"}}

// warnExpiry tells once for each of the warnings that a certificate ends.
func (r *CertificateReconciler) warnExpiry(ctx context.Context, object *v1alpha1.Certificate, certificate *x509.Certificate) error {
	if certificate == nil {
		return nil
	}
	left, due := certificate.NotAfter.Sub(r.now()), ""
	for _, w := range warnings {
		if left <= w.before {
			due = w.name
		}
	}
	mark := ""
	if due != "" {
		mark = due + " " + serial(certificate)
	}
	if object.Annotations[warnedAnnotation] == mark {
		return nil
	}
	before := object.DeepCopy()
	if mark == "" {
		delete(object.Annotations, warnedAnnotation)
	} else {
		if object.Annotations == nil {
			object.Annotations = map[string]string{}
		}
		object.Annotations[warnedAnnotation] = mark
		r.events.Eventf(object, nil, corev1.EventTypeWarning, "CertificateExpiringSoon", "Issue", "the certificate ends at %s", certificate.NotAfter.UTC().Format(time.RFC3339))
	}
	return client.IgnoreNotFound(r.client.Patch(ctx, object, client.MergeFrom(before)))
}

func authorityOf(certificate *v1alpha1.Certificate) client.ObjectKey {
	return client.ObjectKey{Namespace: certificate.Namespace, Name: certificate.Spec.AuthorityRef}
}
