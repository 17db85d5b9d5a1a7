package issuing

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
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// RequestReconciler signs approved CertificateSigningRequests at their CAs, and approves them if
// a flag enables that.
type RequestReconciler struct {
	client   client.Client
	signer   signer
	events   events.EventRecorder
	attempts *attempt.Runner[outcome]
	approves builtin.Admitter // decides about approval; nil: another component approves
	// namespaces are those whose CAs sign here: all where there are none.
	namespaces []string
}

type requestReport = object.Report[certificatesv1.CertificateSigningRequestStatus]

func (r *RequestReconciler) reporter() object.Reporter[*certificatesv1.CertificateSigningRequest, certificatesv1.CertificateSigningRequestStatus] {
	return object.Reporter[*certificatesv1.CertificateSigningRequest, certificatesv1.CertificateSigningRequestStatus]{
		Client: r.client, Manager: requestsManager, Action: "Sign", Events: r.events, Update: true, Gone: r.attempts.Gone,
		Status: func(o *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequestStatus {
			return &o.Status
		},
	}
}

// Reconcile reports the outcome of an attempt that has ended, or begins one.
func (r *RequestReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &certificatesv1.CertificateSigningRequest{}, r.carryOut)
}

func (r *RequestReconciler) carryOut(ctx context.Context, object *certificatesv1.CertificateSigningRequest) (requestReport, error) {
	namespace, name, ours := rules.ParseSigner(object.Spec.SignerName)
	if !ours || len(r.namespaces) > 0 && !slices.Contains(r.namespaces, namespace) {
		return requestReport{}, nil
	}
	if r.approves != nil && undecided(object) {
		again, err := approve(ctx, r.client, r.approves, r.events, object, func(d decision) error { return r.decide(ctx, object, d) })
		return requestReport{Again: again}, err
	}
	if !waitsForSigner(object) {
		return requestReport{}, nil
	}
	key := client.ObjectKeyFromObject(object)
	if out, ended := r.attempts.Outcome(key, object.UID); ended {
		report := r.report(object, out)
		report.Written = func() { r.attempts.Done(key) }
		return report, nil
	}
	copied := object.DeepCopy()
	asked := application{
		authority: client.ObjectKey{Namespace: namespace, Name: name}, object: copied, request: copied.Spec.Request,
		// Whose a CertificateSigningRequest is, nothing says.
		succeeds: func(context.Context, *x509.Certificate) (bool, error) { return false, nil },
	}
	r.attempts.Begin(key, asked.authority, object.UID, func(ctx context.Context) outcome { return r.signer.sign(ctx, asked) })
	return requestReport{}, nil
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

// decide writes a decision about a request.
func (r *RequestReconciler) decide(ctx context.Context, object *certificatesv1.CertificateSigningRequest, d decision) error {
	kind := certificatesv1.CertificateApproved
	if !d.approved {
		kind = certificatesv1.CertificateDenied
	}
	next := object.DeepCopy()
	add(&next.Status, kind, d.reason, d.message)
	if err := r.client.SubResource("approval").Update(ctx, next, client.FieldOwner(requestsManager)); err != nil {
		return fmt.Errorf("writing the approval of CertificateSigningRequest %s: %w", object.Name, err)
	}
	return nil
}

func add(status *certificatesv1.CertificateSigningRequestStatus, kind certificatesv1.RequestConditionType, reason, message string) {
	now := metav1.Now()
	status.Conditions = append(status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
}

// report writes the result of an attempt to the status.
func (r *RequestReconciler) report(of *certificatesv1.CertificateSigningRequest, out outcome) requestReport {
	next := of.Status.DeepCopy()
	switch out.phase {
	case v1alpha1.CertificateSigned:
		next.Certificate = layout.EncodeCertificate(out.certificate)
	case v1alpha1.CertificateError:
		add(next, certificatesv1.CertificateFailed, out.reason, out.message)
	default:
		return requestReport{Again: out.wait, Events: []object.Event{{Warning: true, Reason: out.reason, Message: strings.ToValidUTF8(out.message, "?")}}}
	}
	return requestReport{Status: next}
}
