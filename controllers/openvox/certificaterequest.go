package openvox

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
)

// CertificateRequestReconciler has CAs sign cert-manager's requests that are approved, as
// cert-manager asks of external issuers, and approves them where it is told to.
type CertificateRequestReconciler struct {
	client   client.Client
	live     client.Reader
	signer   signer
	events   events.EventRecorder
	attempts *attempt.Runner[outcome]
	approver *approver // nil: somebody else
	now      func() time.Time
}

// Reconcile tells the outcome of an attempt that has ended, or begins one.
func (r *CertificateRequestReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, request)
	if apierrors.IsConflict(err) { // with whoever approves, most often
		return reconcile.Result{RequeueAfter: notStarted}, nil
	}
	return result, err
}

func (r *CertificateRequestReconciler) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &cmapi.CertificateRequest{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		r.attempts.Forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	out, tried := r.attempts.Outcome(request.NamespacedName, object.UID)
	if !isToAuthority(object) || isFinal(object) || !object.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	switch {
	case apiutil.CertificateRequestIsDenied(object):
		return reconcile.Result{}, r.end(ctx, object, cmapi.CertificateRequestReasonDenied, "the request was denied: "+deniedBecause(object))
	case !apiutil.CertificateRequestIsApproved(object):
		if r.approver == nil {
			return reconcile.Result{}, nil
		}
		return r.approve(ctx, object)
	case tried:
		result, err := r.settle(ctx, object, out)
		if err == nil {
			r.attempts.Done(request.NamespacedName)
		}
		return result, err
	}
	copied := object.DeepCopy()
	asked := application{
		authority: authorityAsked(copied), object: copied, request: copied.Spec.Request,
		succeeds: lineage{r.live, copied}.succeeds,
	}
	r.attempts.Begin(request.NamespacedName, asked.authority, object.UID, func(ctx context.Context) outcome { return r.signer.sign(ctx, asked) })
	return reconcile.Result{}, nil
}

func isToAuthority(object *cmapi.CertificateRequest) bool {
	return object.Spec.IssuerRef.Group == v1alpha1.GroupName && object.Spec.IssuerRef.Kind == "CertificateAuthority"
}

func authorityAsked(object *cmapi.CertificateRequest) client.ObjectKey {
	return client.ObjectKey{Namespace: object.Namespace, Name: object.Spec.IssuerRef.Name}
}

// isFinal says whether nothing becomes of a request any more.
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

// approve approves or denies a request, as the rules say now.
func (r *CertificateRequestReconciler) approve(ctx context.Context, object *cmapi.CertificateRequest) (reconcile.Result, error) {
	decision, err := r.approver.decide(ctx, object)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("deciding about CertificateRequest %s/%s: %w", object.Namespace, object.Name, err)
	}
	kind := cmapi.CertificateRequestConditionApproved
	if !decision.approved {
		kind = cmapi.CertificateRequestConditionDenied
	}
	apiutil.SetCertificateRequestCondition(object, kind, cmmeta.ConditionTrue, decision.reason, decision.message)
	if err := r.write(ctx, object); err != nil {
		return unwritten(r.events, object, err)
	}
	return reconcile.Result{}, nil
}

// settle writes what has become of an attempt.
func (r *CertificateRequestReconciler) settle(ctx context.Context, object *cmapi.CertificateRequest, out outcome) (reconcile.Result, error) {
	for _, e := range out.events {
		r.tell(object, e.warning, e.reason, e.words)
	}
	message := strings.ToValidUTF8(out.message, "?")
	switch out.phase {
	case v1alpha1.CertificateSigned:
		object.Status.Certificate, object.Status.CA = chain(out.certificate, out.bundle)
		message = fmt.Sprintf("the CA has signed the request; the certificate (serial %s) is valid until %s", serial(out.certificate), out.certificate.NotAfter.UTC().Format(time.RFC3339))
		apiutil.SetCertificateRequestCondition(object, cmapi.CertificateRequestConditionReady, cmmeta.ConditionTrue, cmapi.CertificateRequestReasonIssued, message)
		if err := r.write(ctx, object); err != nil {
			return reconcile.Result{}, err
		}
		r.tell(object, false, reasonSigned, message)
		return reconcile.Result{}, nil
	case v1alpha1.CertificateError:
		if err := r.end(ctx, object, cmapi.CertificateRequestReasonFailed, out.reason+": "+message); err != nil {
			return reconcile.Result{}, err
		}
		r.tell(object, true, out.reason, message)
		return reconcile.Result{}, nil
	}
	before := object.DeepCopy()
	apiutil.SetCertificateRequestCondition(object, cmapi.CertificateRequestConditionReady, cmmeta.ConditionFalse, cmapi.CertificateRequestReasonPending, out.reason+": "+message)
	if equality.Semantic.DeepEqual(before.Status, object.Status) {
		return reconcile.Result{RequeueAfter: out.wait}, nil
	}
	r.tell(object, true, out.reason, message)
	return reconcile.Result{RequeueAfter: out.wait}, r.write(ctx, object)
}

// end is a request that gets no certificate.
func (r *CertificateRequestReconciler) end(ctx context.Context, object *cmapi.CertificateRequest, reason, message string) error {
	object.Status.FailureTime = new(metav1.NewTime(r.now()))
	apiutil.SetCertificateRequestCondition(object, cmapi.CertificateRequestConditionReady, cmmeta.ConditionFalse, reason, message)
	return r.write(ctx, object)
}

// write refuses to overwrite what somebody has written since.
func (r *CertificateRequestReconciler) write(ctx context.Context, object *cmapi.CertificateRequest) error {
	if err := r.client.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("writing the status of CertificateRequest %s/%s: %w", object.Namespace, object.Name, err)
	}
	return nil
}

func (r *CertificateRequestReconciler) tell(object *cmapi.CertificateRequest, warning bool, reason, words string) {
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(object, nil, kind, reason, "Sign", "%s", words)
}

// concerns says whether a change of a request is for its controller. That it is Pending
// has been written here: the next attempt has its own time.
func concerns(before, after *cmapi.CertificateRequest) bool {
	return before.Generation != after.Generation || isFinal(before) != isFinal(after) ||
		apiutil.CertificateRequestIsApproved(before) != apiutil.CertificateRequestIsApproved(after) ||
		apiutil.CertificateRequestIsDenied(before) != apiutil.CertificateRequestIsDenied(after)
}

// leafOf is the first certificate of a chain in PEM: nil where there is none.
func leafOf(text []byte) *x509.Certificate {
	if certificates := parseBundle(text); len(certificates) > 0 {
		return certificates[0]
	}
	return nil
}
