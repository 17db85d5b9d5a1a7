package openvox

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// RequestReconciler has CAs sign CertificateSigningRequests that are approved, and
// approves them where it is told to.
type RequestReconciler struct {
	client   client.Client
	signer   signer
	events   events.EventRecorder
	attempts *attempt.Runner[outcome]
	approver *approver // nil: somebody else
	// namespaces are those whose CAs sign here: all where there are none.
	namespaces []string
}

// Reconcile tells the outcome of an attempt that has ended, or begins one.
func (r *RequestReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &certificatesv1.CertificateSigningRequest{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		r.attempts.Forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	out, tried := r.attempts.Outcome(request.NamespacedName, object.UID)
	namespace, name, ours := rules.ParseSigner(object.Spec.SignerName)
	if !ours || len(r.namespaces) > 0 && !slices.Contains(r.namespaces, namespace) {
		return reconcile.Result{}, nil
	}
	if r.approver != nil && undecided(object) {
		return r.approve(ctx, object)
	}
	if !waitsForSigner(object) {
		return reconcile.Result{}, nil
	}
	if tried {
		result, err := r.settle(ctx, object, out)
		if err == nil {
			r.attempts.Done(request.NamespacedName)
		}
		return result, err
	}
	copied := object.DeepCopy()
	asked := application{
		authority: client.ObjectKey{Namespace: namespace, Name: name}, object: copied, request: copied.Spec.Request,
		// Whose a CertificateSigningRequest is, nothing says.
		succeeds: func(context.Context, *x509.Certificate) (bool, error) { return false, nil },
	}
	r.attempts.Begin(request.NamespacedName, asked.authority, object.UID, func(ctx context.Context) outcome { return r.signer.sign(ctx, asked) })
	return reconcile.Result{}, nil
}

func has(object *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(object.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == kind && c.Status != corev1.ConditionFalse
	})
}

// waitsForSigner is what the API calls approved, neither denied nor failed nor issued.
func waitsForSigner(object *certificatesv1.CertificateSigningRequest) bool {
	return len(object.Status.Certificate) == 0 && has(object, certificatesv1.CertificateApproved) &&
		!has(object, certificatesv1.CertificateDenied) && !has(object, certificatesv1.CertificateFailed)
}

func undecided(object *certificatesv1.CertificateSigningRequest) bool {
	return len(object.Status.Certificate) == 0 && !has(object, certificatesv1.CertificateApproved) &&
		!has(object, certificatesv1.CertificateDenied) && !has(object, certificatesv1.CertificateFailed)
}

// approve approves or denies a request, as the rules say now.
func (r *RequestReconciler) approve(ctx context.Context, object *certificatesv1.CertificateSigningRequest) (reconcile.Result, error) {
	decision, err := r.approver.decide(ctx, object)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("deciding about CertificateSigningRequest %s: %w", object.Name, err)
	}
	kind := certificatesv1.CertificateApproved
	if !decision.approved {
		kind = certificatesv1.CertificateDenied
	}
	r.append(object, kind, decision.reason, decision.message)
	if err := r.client.SubResource("approval").Update(ctx, object); err != nil {
		return unwritten(r.events, object, fmt.Errorf("writing the approval of CertificateSigningRequest %s: %w", object.Name, err))
	}
	return reconcile.Result{}, nil
}

func (r *RequestReconciler) append(object *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType, reason, message string) {
	now := metav1.Now()
	object.Status.Conditions = append(object.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
}

func (r *RequestReconciler) settle(ctx context.Context, object *certificatesv1.CertificateSigningRequest, out outcome) (reconcile.Result, error) {
	switch out.phase {
	case v1alpha1.CertificateSigned:
		object.Status.Certificate = encodeCertificate(out.certificate)
	case v1alpha1.CertificateError:
		r.append(object, certificatesv1.CertificateFailed, out.reason, out.message)
	default:
		r.events.Eventf(object, nil, corev1.EventTypeWarning, out.reason, "Sign", "%s", strings.ToValidUTF8(out.message, "?"))
		return reconcile.Result{RequeueAfter: out.wait}, nil
	}
	if err := r.client.Status().Update(ctx, object); err != nil {
		return reconcile.Result{}, fmt.Errorf("writing the status of CertificateSigningRequest %s: %w", object.Name, err)
	}
	return reconcile.Result{}, nil
}
