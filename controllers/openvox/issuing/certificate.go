package issuing

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

const (
	// cleanupTimeout is how long an object waits for its certificate to be revoked.
	cleanupTimeout = 75 * time.Second
	// warnedAnnotation is the last warning about the end of a certificate.
	warnedAnnotation = "openvox.voxpupuli.org/expiry-warned"
)

// CertificateReconciler starts attempts and reports their results.
type CertificateReconciler struct {
	client   client.Client
	secrets  authority.Secrets
	events   events.EventRecorder
	attempts *attempt.Runner[outcome]
	keys     *keyMaker
	admit    builtin.Admitter
	revoker  *authority.Revoker
	locks    authorityLocks
	now      func() time.Time
}

type certificateReport = object.Report[v1alpha1.CertificateStatus]

func (r *CertificateReconciler) reporter() object.Reporter[*v1alpha1.Certificate, v1alpha1.CertificateStatus] {
	return object.Reporter[*v1alpha1.Certificate, v1alpha1.CertificateStatus]{
		Client: r.client, Manager: certificatesManager, Action: "Issue", Events: r.events, Finalizer: finalizer, Gone: r.attempts.Gone,
		Status: func(c *v1alpha1.Certificate) *v1alpha1.CertificateStatus { return &c.Status },
	}
}

// Reconcile reports the outcome of an attempt that has ended, or begins one.
func (r *CertificateReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.Certificate{}, r.unlessPaused)
}

func (r *CertificateReconciler) carryOut(ctx context.Context, certificate *v1alpha1.Certificate) (certificateReport, error) {
	key := client.ObjectKeyFromObject(certificate)
	if out, ended := r.attempts.Outcome(key, certificate.UID); ended {
		err := r.warnExpiry(ctx, certificate, out.certificate)
		report := r.report(certificate, out)
		if out.phase == v1alpha1.CertificateSigned && r.attempts.Missed(key, certificate.UID) {
			report.Again = object.RetryDelay // failures are tried again soon in any case
		}
		report.Written = func() { r.attempts.Done(key) }
		if err == nil && out.phase == "" {
			err = r.reporter().SetFinalizer(ctx, certificate, controllerutil.RemoveFinalizer)
		}
		return report, err
	}
	step := r.issue
	if !certificate.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(certificate, finalizer) {
			return certificateReport{}, nil
		}
		step = r.revoke
	} else if err := r.reporter().SetFinalizer(ctx, certificate, controllerutil.AddFinalizer); err != nil {
		return certificateReport{}, err
	}
	copied := certificate.DeepCopy()
	r.attempts.Begin(key, authorityOf(certificate), certificate.UID, func(ctx context.Context) outcome {
		out := step(ctx, copied)
		out.generation, out.deleting = copied.Generation, !copied.DeletionTimestamp.IsZero()
		return out
	})
	return certificateReport{}, nil
}

// issue is an attempt to have the certificate that is wanted, of a copy of its object.
func (r *CertificateReconciler) issue(ctx context.Context, certificate *v1alpha1.Certificate) outcome {
	hosts, err := layout.InjectedNames(ctx, r.client, certificate.Namespace)
	if err != nil {
		return outcome{phase: v1alpha1.CertificateError, reason: reasonFailed, message: err.Error(), wait: retryError}
	}
	layout.InjectNames(certificate, hosts)
	verdict, err := r.admit(ctx, certificate)
	if err != nil {
		return outcome{phase: v1alpha1.CertificateError, reason: reasonFailed, message: err.Error(), wait: retryError}
	}
	if verdict.Denied() {
		return outcome{phase: v1alpha1.CertificateError, reason: "NotAdmitted", message: verdict.Message(), wait: authority.RetryPending}
	}
	denials, err := refusals(ctx, r.client, r.secrets, certificate)
	if err != nil {
		return outcome{phase: v1alpha1.CertificateError, reason: reasonFailed, message: err.Error(), wait: retryError}
	}
	if len(denials) > 0 {
		return outcome{phase: v1alpha1.CertificateError, reason: reasonPolicyDenied, message: "spec.certificatePolicy of the CertificateAuthority: " + strings.Join(denials, "; "), wait: authority.RetryPending}
	}
	i, err := r.issuance(ctx, certificate)
	if err != nil {
		return outcome{phase: v1alpha1.CertificatePending, reason: reasonNoAuthority, message: err.Error(), wait: authority.RetryPending}
	}
	defer i.end()
	return i.run(ctx)
}

// revoke starts an attempt to revoke the certificate of an object that is being deleted. phase
// is empty if nothing is left to do.
func (r *CertificateReconciler) revoke(ctx context.Context, certificate *v1alpha1.Certificate) outcome {
	ca := &v1alpha1.CertificateAuthority{}
	err := r.client.Get(ctx, authorityOf(certificate), ca)
	if apierrors.IsNotFound(err) {
		return outcome{}
	}
	i, err := r.issuance(ctx, certificate)
	if errors.Is(err, authority.ErrNotInitialized) && certificate.Status.SerialNumber == "" {
		return outcome{} // no CA has ever given it one
	}
	if err == nil {
		defer i.end()
		if err = i.revoke(ctx); err == nil {
			return outcome{events: i.events}
		}
	}
	// Of the operator's one signs what the other becomes next, so it stays until it can be spared.
	lasts := layout.IsOperators(certificate.Name) && ca.Spec.External == nil && ca.DeletionTimestamp.IsZero()
	if !lasts && r.now().Sub(certificate.DeletionTimestamp.Time) > cleanupTimeout {
		message := "the certificate stays valid at the CA: " + err.Error()
		if recorded, recordErr := r.revokeLater(ctx, ca, certificate); recordErr != nil {
			message += "; it cannot be recorded to be revoked later: " + recordErr.Error()
		} else if recorded {
			message = "the certificate stays valid until the CA answers, and is revoked then; the condition " + authority.ConditionCRLCurrent + " of the CertificateAuthority names it meanwhile: " + err.Error()
		}
		return outcome{events: []object.Event{{Warning: true, Reason: "CertificateNotRevoked", Message: message}}}
	}
	return outcome{phase: v1alpha1.CertificateError, reason: "RevocationFailed", message: err.Error(), wait: retryError}
}

// revokeLater records the certificate of an object that is being deleted, to be revoked when its
// CA answers. recorded is false if Lintel does not revoke at this CA, or if no certificate is
// stored.
func (r *CertificateReconciler) revokeLater(ctx context.Context, ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate) (recorded bool, err error) {
	data, err := r.secrets.Owned(ctx, certificate, layout.TLSSecret(certificate.Name))
	stored := layout.StoredPair(data)
	if err != nil || stored == nil || ca.Spec.External != nil && ca.Spec.External.TLSSecretRef == "" {
		return false, err
	}
	bundle, err := r.secrets.Value(ctx, ca.Namespace, layout.CASecret(ca), layout.CAFile)
	if err != nil {
		return false, err
	}
	wanted := authority.NewRevocation(stored, bundle, r.now())
	if wanted.Issuer == "" || r.now().After(wanted.NotAfter) {
		return false, nil
	}
	if err := r.secrets.ChangeRevocations(ctx, ca, r.now(), func(record []authority.Revocation) []authority.Revocation {
		if slices.ContainsFunc(record, func(had authority.Revocation) bool { return had.Fingerprint == wanted.Fingerprint }) {
			return record
		}
		return append(record, wanted)
	}); err != nil {
		return false, err
	}
	r.revoker.Read(ctx, client.ObjectKeyFromObject(ca))
	return true, nil
}

// issuance begins with a Certificate at its CA: its end ends that.
func (r *CertificateReconciler) issuance(ctx context.Context, certificate *v1alpha1.Certificate) (*issuance, error) {
	ca := &v1alpha1.CertificateAuthority{}
	key := authorityOf(certificate)
	if err := r.client.Get(ctx, key, ca); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no CertificateAuthority %s", key.Name)
	} else if err != nil {
		return nil, err
	}
	own, err := authority.ServerCertificateOf(ctx, r.client, ca)
	if err != nil {
		return nil, err
	}
	server, end := certificate.Name == own, func() {}
	if server || layout.IsOperators(certificate.Name) {
		end = r.locks.acquire(ctx, key)
	}
	a, err := authority.Connect(ctx, r.secrets, ca, certificate.Name)
	if err != nil {
		end()
		return nil, fmt.Errorf("CertificateAuthority %s: %w", ca.Name, err)
	}
	if server { // by its Service the CA is asked
		certificate.Spec.DNSAltNames = layout.WithNames(certificate.Spec.DNSAltNames, []string{layout.ServiceHost(ca)})
	}
	return &issuance{
		secrets: r.secrets, certificate: certificate, authority: a, revoker: r.revoker, server: server, keys: r.keys, now: r.now,
		autoRenews: ca.Spec.AllowAutoRenewal == nil || *ca.Spec.AllowAutoRenewal,
		end:        func() { a.Close(); end() },
	}, nil
}

// report writes the result of an attempt to the status.
func (r *CertificateReconciler) report(certificate *v1alpha1.Certificate, out outcome) certificateReport {
	report := certificateReport{Events: out.events, Again: out.wait}
	if out.generation != certificate.Generation || out.deleting == certificate.DeletionTimestamp.IsZero() {
		report.Again = object.RetryDelay // the object is another by now
	}
	if out.phase == "" {
		return report
	}
	next := certificate.Status.DeepCopy()
	next.Phase, next.ObservedGeneration, next.SecretName = out.phase, out.generation, layout.TLSSecret(certificate.Name)
	if out.certificate != nil {
		next.NotAfter, next.SerialNumber = new(metav1.NewTime(out.certificate.NotAfter)), layout.Serial(out.certificate)
	}
	object.Conditions{List: &next.Conditions, Generation: out.generation}.Set(v1alpha1.ConditionCertSigned, out.phase == v1alpha1.CertificateSigned, out.reason, out.message)
	report.Status = next
	was := meta.FindStatusCondition(certificate.Status.Conditions, v1alpha1.ConditionCertSigned)
	switch begins := was == nil || was.Reason != out.reason; {
	case !begins, out.phase == v1alpha1.CertificateSigned, out.phase == v1alpha1.CertificatePending:
	case out.reason == reasonWaiting:
		report.Events = append(report.Events, object.Event{Warning: true, Reason: "CSRWaitingForSigning", Message: out.message})
	default:
		report.Events = append(report.Events, object.Event{Warning: true, Reason: out.reason, Message: out.message})
	}
	return report
}

// warnings are how long before its end a certificate is warned of, longest first.
var warnings = []struct {
	before time.Duration
	name   string
}{{30 * 24 * time.Hour, "30d"}, {7 * 24 * time.Hour, "7d"}, {24 * time.Hour, "1d"}}

// warnExpiry warns once for each of the warnings that a certificate ends.
func (r *CertificateReconciler) warnExpiry(ctx context.Context, of *v1alpha1.Certificate, certificate *x509.Certificate) error {
	if certificate == nil {
		return nil
	}
	left, mark := certificate.NotAfter.Sub(r.now()), ""
	for _, w := range warnings {
		if left <= w.before {
			mark = w.name + " " + layout.Serial(certificate)
		}
	}
	if of.Annotations[warnedAnnotation] == mark {
		return nil
	}
	before := of.DeepCopy()
	if metav1.SetMetaDataAnnotation(&of.ObjectMeta, warnedAnnotation, mark); mark == "" {
		delete(of.Annotations, warnedAnnotation)
	}
	if err := r.client.Patch(ctx, of, client.MergeFrom(before), client.FieldOwner(certificatesManager)); err != nil || mark == "" {
		return client.IgnoreNotFound(err)
	}
	object.Send(r.events, of, "Issue", object.Event{Warning: true, Reason: "CertificateExpiringSoon", Message: "the certificate ends at " + certificate.NotAfter.UTC().Format(time.RFC3339)})
	return nil
}

// unlessPaused carries a Certificate out. Those by which the operator signs are never paused, nor
// is one that must be revoked, because it gives rights at a CA that its spec does not.
func (r *CertificateReconciler) unlessPaused(ctx context.Context, certificate *v1alpha1.Certificate) (certificateReport, error) {
	if pausing.IsPaused(certificate) && !layout.IsOperators(certificate.Name) {
		rights, err := hasRights(ctx, r.client, r.secrets, certificate)
		if err != nil {
			return certificateReport{}, err
		}
		if !rights {
			return certificatePausing.Paused(certificate), nil
		}
	}
	report, err := r.carryOut(ctx, certificate)
	return certificatePausing.Resumed(certificate, report), err
}
