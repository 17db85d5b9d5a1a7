package openvox

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// reasonDenied is of requests that policies do not permit any more.
const reasonDenied = "PolicyDenied"

// RequestReconciler has CAs sign CertificateSigningRequests that somebody has approved.
type RequestReconciler struct {
	client   client.Client
	secrets  secrets
	events   events.EventRecorder
	attempts *attempts
	admit    Admitter
}

// Reconcile tells the outcome of an attempt that has ended, or begins one.
func (r *RequestReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &certificatesv1.CertificateSigningRequest{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		r.attempts.take(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	out, tried := r.attempts.take(request.NamespacedName)
	namespace, name, ours := rules.ParseSigner(object.Spec.SignerName)
	if !ours || !waitsForSigner(object) {
		return reconcile.Result{}, nil
	}
	if tried {
		return r.settle(ctx, object, out)
	}
	ca := client.ObjectKey{Namespace: namespace, Name: name}
	copied := object.DeepCopy()
	if !r.attempts.begin(request.NamespacedName, ca, func(ctx context.Context) outcome { return r.sign(ctx, ca, copied) }) {
		return reconcile.Result{RequeueAfter: notStarted}, nil
	}
	return reconcile.Result{}, nil
}

// waitsForSigner is what the API calls approved, neither denied nor failed nor issued.
func waitsForSigner(object *certificatesv1.CertificateSigningRequest) bool {
	has := func(kind certificatesv1.RequestConditionType) bool {
		return slices.ContainsFunc(object.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
			return c.Type == kind && c.Status != corev1.ConditionFalse
		})
	}
	return len(object.Status.Certificate) == 0 && has(certificatesv1.CertificateApproved) &&
		!has(certificatesv1.CertificateDenied) && !has(certificatesv1.CertificateFailed)
}

// sign is one attempt. phase is CertificateError where another cannot end otherwise.
func (r *RequestReconciler) sign(ctx context.Context, key client.ObjectKey, object *certificatesv1.CertificateSigningRequest) outcome {
	certificate, err := r.obtain(ctx, key, object)
	if err == nil {
		return outcome{phase: v1alpha1.CertificateSigned, certificate: certificate}
	}
	out := outcome{phase: v1alpha1.CertificatePending, reason: reasonWaiting, message: err.Error(), wait: retryError}
	var known *problem
	if errors.As(err, &known) {
		out.reason = known.reason
		if known.reason == reasonDenied || known.reason == reasonTaken {
			out.phase = v1alpha1.CertificateError
		}
	}
	return out
}

func (r *RequestReconciler) obtain(ctx context.Context, key client.ObjectKey, object *certificatesv1.CertificateSigningRequest) (*x509.Certificate, error) {
	denied, err := r.admit(ctx, object)
	if err != nil {
		return nil, err
	}
	if denied != "" {
		return nil, failure(reasonDenied, "%s", denied)
	}
	ca := &v1alpha1.CertificateAuthority{}
	if err := r.client.Get(ctx, key, ca); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no CertificateAuthority %s", key)
	} else if err != nil {
		return nil, err
	}
	a, err := connect(ctx, r.secrets, ca)
	if err != nil {
		return nil, err
	}
	defer a.close()
	block, _ := pem.Decode(object.Spec.Request) // the rules have found it good
	if block == nil {
		return nil, failure(reasonDenied, "spec.request is no PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, failure(reasonDenied, "spec.request: %w", err)
	}
	certname := request.Subject.CommonName
	certificate, err := a.anyone.Certificate(ctx, certname)
	switch {
	case errors.Is(err, puppet.ErrNotFound):
		certificate, err = a.obtain(ctx, certname, request.PublicKey, func() ([]byte, error) { return object.Spec.Request, nil })
	case err == nil && !samePublic(certificate.PublicKey, request.PublicKey):
		return nil, failure(reasonTaken, "the CA has a certificate for %s already (serial %s); revoke it there (puppetserver ca clean --certname %s), and make another request", certname, serial(certificate), certname)
	}
	if err != nil {
		return nil, err
	}
	if a.bundle != nil && !issuedBy(certificate, a.bundle) {
		return nil, errors.New("the certificate is signed by none of the CA's certificates")
	}
	return certificate, nil
}

func (r *RequestReconciler) settle(ctx context.Context, object *certificatesv1.CertificateSigningRequest, out outcome) (reconcile.Result, error) {
	switch out.phase {
	case v1alpha1.CertificateSigned:
		object.Status.Certificate = encodeCertificate(out.certificate)
	case v1alpha1.CertificateError:
		now := metav1.Now()
		object.Status.Conditions = append(object.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: out.reason, Message: out.message, LastUpdateTime: now, LastTransitionTime: now,
		})
	default:
		r.events.Eventf(object, nil, corev1.EventTypeWarning, out.reason, "Sign", "%s", strings.ToValidUTF8(out.message, "?"))
		return reconcile.Result{RequeueAfter: out.wait}, nil
	}
	if err := r.client.Status().Update(ctx, object); err != nil {
		return reconcile.Result{}, fmt.Errorf("writing the status of CertificateSigningRequest %s: %w", object.Name, err)
	}
	return reconcile.Result{}, nil
}
