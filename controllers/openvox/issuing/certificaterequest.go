package issuing

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// CertificateRequestReconciler signs approved cert-manager CertificateRequests at their CAs, as
// an external issuer. It also approves them if a flag enables that.
type CertificateRequestReconciler struct {
	client   client.Client
	live     client.Reader
	signer   signer
	events   events.EventRecorder
	attempts *attempt.Runner[outcome]
	approves builtin.Admitter // decides about approval; nil: another component approves
	now      func() time.Time
}

type certManagerReport = object.Report[cmapi.CertificateRequestStatus]

func (r *CertificateRequestReconciler) reporter() object.Reporter[*cmapi.CertificateRequest, cmapi.CertificateRequestStatus] {
	return object.Reporter[*cmapi.CertificateRequest, cmapi.CertificateRequestStatus]{
		Client: r.client, Manager: certManagerManager, Action: "Sign", Events: r.events, Update: true, Gone: r.attempts.Gone,
		Status: func(o *cmapi.CertificateRequest) *cmapi.CertificateRequestStatus { return &o.Status },
	}
}

// Reconcile reports the outcome of an attempt that has ended, or begins one.
func (r *CertificateRequestReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &cmapi.CertificateRequest{}, r.carryOut)
}

func (r *CertificateRequestReconciler) carryOut(ctx context.Context, object *cmapi.CertificateRequest) (certManagerReport, error) {
	if !isToAuthority(object) || isFinal(object) || !object.DeletionTimestamp.IsZero() {
		return certManagerReport{}, nil
	}
	key := client.ObjectKeyFromObject(object)
	out, ended := r.attempts.Outcome(key, object.UID)
	switch {
	case apiutil.CertificateRequestIsDenied(object):
		return certManagerReport{Status: r.end(object, cmapi.CertificateRequestReasonDenied, "the request was denied: "+deniedBecause(object))}, nil
	case !apiutil.CertificateRequestIsApproved(object):
		if r.approves == nil {
			return certManagerReport{}, nil
		}
		again, err := approve(ctx, r.client, r.approves, r.events, object, func(d decision) error { return r.decide(ctx, object, d) })
		return certManagerReport{Again: again}, err
	case ended:
		report := r.report(object, out)
		report.Written = func() { r.attempts.Done(key) }
		return report, nil
	}
	copied := object.DeepCopy()
	asked := application{
		authority: authorityAsked(copied), object: copied, request: copied.Spec.Request,
		succeeds: lineage{r.live, copied}.succeeds,
	}
	r.attempts.Begin(key, asked.authority, object.UID, func(ctx context.Context) outcome { return r.signer.sign(ctx, asked) })
	return certManagerReport{}, nil
}

func isToAuthority(object *cmapi.CertificateRequest) bool {
	return object.Spec.IssuerRef.Group == v1alpha1.GroupName && object.Spec.IssuerRef.Kind == "CertificateAuthority"
}

func authorityAsked(object *cmapi.CertificateRequest) client.ObjectKey {
	return client.ObjectKey{Namespace: object.Namespace, Name: object.Spec.IssuerRef.Name}
}

// isFinal reports whether the request has reached a final state.
func isFinal(object *cmapi.CertificateRequest) bool {
	if len(object.Status.Certificate) > 0 || apiutil.CertificateRequestHasInvalidRequest(object) {
		return true
	}
	switch apiutil.CertificateRequestReadyReason(object) {
	case cmapi.CertificateRequestReasonIssued, cmapi.CertificateRequestReasonFailed, cmapi.CertificateRequestReasonDenied:
		return true
	}
	return false
}

func deniedBecause(object *cmapi.CertificateRequest) string {
	return apiutil.GetCertificateRequestCondition(object, cmapi.CertificateRequestConditionDenied).Message
}

// decide writes a decision about a request.
func (r *CertificateRequestReconciler) decide(ctx context.Context, object *cmapi.CertificateRequest, d decision) error {
	kind := cmapi.CertificateRequestConditionApproved
	if !d.approved {
		kind = cmapi.CertificateRequestConditionDenied
	}
	next := object.DeepCopy()
	apiutil.SetCertificateRequestCondition(next, kind, cmmeta.ConditionTrue, d.reason, d.message)
	return r.reporter().Write(ctx, object, certManagerReport{Status: &next.Status})
}

// report writes the result of an attempt to the status.
func (r *CertificateRequestReconciler) report(of *cmapi.CertificateRequest, out outcome) certManagerReport {
	report := certManagerReport{Events: out.events}
	event := object.Event{Warning: true, Reason: out.reason, Message: strings.ToValidUTF8(out.message, "?")}
	switch out.phase {
	case v1alpha1.CertificateSigned:
		event = object.Event{Reason: authority.ReasonSigned, Message: fmt.Sprintf("the CA has signed the request; the certificate (serial %s) is valid until %s", layout.Serial(out.certificate), out.certificate.NotAfter.UTC().Format(time.RFC3339))}
		next := of.DeepCopy()
		next.Status.Certificate, next.Status.CA = chain(out.certificate, out.bundle)
		apiutil.SetCertificateRequestCondition(next, cmapi.CertificateRequestConditionReady, cmmeta.ConditionTrue, cmapi.CertificateRequestReasonIssued, event.Message)
		report.Status = &next.Status
	case v1alpha1.CertificateError:
		report.Status = r.end(of, cmapi.CertificateRequestReasonFailed, out.reason+": "+event.Message)
	default:
		report.Again = out.wait
		next := of.DeepCopy()
		apiutil.SetCertificateRequestCondition(next, cmapi.CertificateRequestConditionReady, cmmeta.ConditionFalse, cmapi.CertificateRequestReasonPending, out.reason+": "+event.Message)
		if equality.Semantic.DeepEqual(of.Status, next.Status) {
			return report
		}
		report.Status = &next.Status
	}
	report.Events = append(report.Events, event)
	return report
}

// end is the status of a request that gets no certificate.
func (r *CertificateRequestReconciler) end(object *cmapi.CertificateRequest, reason, message string) *cmapi.CertificateRequestStatus {
	next := object.DeepCopy()
	next.Status.FailureTime = new(metav1.NewTime(r.now()))
	apiutil.SetCertificateRequestCondition(next, cmapi.CertificateRequestConditionReady, cmmeta.ConditionFalse, reason, message)
	return &next.Status
}

// concerns says whether a change of a request is for its controller. That it is Pending
// has been written here: the next attempt has its own time.
func concerns(before, after *cmapi.CertificateRequest) bool {
	return before.Generation != after.Generation || isFinal(before) != isFinal(after) ||
		apiutil.CertificateRequestIsApproved(before) != apiutil.CertificateRequestIsApproved(after) ||
		apiutil.CertificateRequestIsDenied(before) != apiutil.CertificateRequestIsDenied(after)
}
