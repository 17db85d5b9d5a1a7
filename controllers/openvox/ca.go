package openvox

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

const (
	// crlRetry is how long a CA that failed is left alone.
	crlRetry = 30 * time.Second
	// defaultRefresh is how often CRLs are read, unless said.
	defaultRefresh = 5 * time.Minute

	conditionCRLCurrent = "CRLCurrent"
)

// AuthorityReconciler asks CAs whether they answer, and keeps their CRLs.
type AuthorityReconciler struct {
	client  client.Client
	secrets secrets
	events  events.EventRecorder
	now     func() time.Time
}

// Reconcile asks one CA.
func (r *AuthorityReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ca := &v1alpha1.CertificateAuthority{}
	if err := r.client.Get(ctx, request.NamespacedName, ca); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !ca.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	if ca.Spec.External == nil && !meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized) {
		return reconcile.Result{}, nil // its status will say, and begin this again
	}
	interval, err := duration(ca.Spec.CRLRefreshInterval, defaultRefresh)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	before := ca.DeepCopy()
	ca.Status.ObservedGeneration, ca.Status.CASecretName = ca.Generation, caSecretName(ca)
	wait := max(interval, time.Second)
	if left := r.fresh(before, interval); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil // our own status, most often
	}
	if err := r.refresh(ctx, ca); err != nil {
		r.failed(before, ca, err)
		wait = min(wait, crlRetry)
	} else {
		r.succeeded(before, ca)
	}
	ca.Status.Phase = phaseOf(ca)
	return writeStatus(ctx, r.client, before, ca, wait)
}

// fresh is how long what is known of a CA of this generation still counts.
func (r *AuthorityReconciler) fresh(ca *v1alpha1.CertificateAuthority, interval time.Duration) time.Duration {
	ready := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionCAReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ca.Status.ObservedGeneration != ca.Generation || ca.Status.CRL == nil || ca.Status.CRL.Refreshed == nil {
		return 0
	}
	return ca.Status.CRL.Refreshed.Add(interval).Sub(r.now())
}

// refresh reads the CRL, and what the status says of the CA.
func (r *AuthorityReconciler) refresh(ctx context.Context, ca *v1alpha1.CertificateAuthority) error {
	a, err := connect(ctx, r.secrets, ca)
	if err != nil {
		return err
	}
	defer a.close()
	ca.Status.NotAfter = notAfter(a.bundle)
	if ca.Spec.External != nil {
		ca.Status.SigningSecretName = ca.Spec.External.TLSSecretRef
	}
	text, err := a.anyone.CRL(ctx)
	if err != nil {
		return err
	}
	lists, err := puppet.ParseCRLs(text)
	if err != nil {
		return fmt.Errorf("reading the CRL: %w", err)
	}
	if a.bundle != nil {
		if err := lists.SignedBy(a.bundle); err != nil {
			return err
		}
	}
	stored, err := r.secrets.owned(ctx, ca, crlSecret(ca.Name))
	if err != nil {
		return err
	}
	// One that cannot be read was edited by hand, and is replaced.
	if had, err := puppet.ParseCRLs(stored[crlKey]); err == nil && lists.OlderThan(had) {
		this, _ := had.Updates()
		return fmt.Errorf("the CA gives a CRL that is older than the one of %s, which is kept", this.Format(time.RFC3339))
	}
	if err := r.secrets.keep(ctx, ca, crlSecret(ca.Name), labelsOf(ca.Name), map[string][]byte{crlKey: text}); err != nil {
		return err
	}
	this, next := lists.Updates()
	ca.Status.CRL = &v1alpha1.CRLStatus{ThisUpdate: new(metav1.NewTime(this)), Refreshed: new(metav1.NewTime(r.now()))}
	if !next.IsZero() {
		ca.Status.CRL.NextUpdate = new(metav1.NewTime(next))
	}
	return nil
}

func notAfter(bundle []byte) *metav1.Time {
	block, _ := pem.Decode(bundle)
	if block == nil {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return new(metav1.NewTime(certificate.NotAfter))
}

func (r *AuthorityReconciler) failed(before, ca *v1alpha1.CertificateAuthority, err error) {
	setCondition(&ca.Status.Conditions, v1alpha1.ConditionCAReady, false, "NotAnswering", err.Error(), ca.Generation)
	r.judgeCRL(before, ca)
	if ca.Spec.External == nil && !hasAnswered(ca) {
		return // its server has not started yet
	}
	if was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionCAReady); was == nil || was.Status != metav1.ConditionFalse {
		r.events.Eventf(ca, nil, corev1.EventTypeWarning, "CRLRefreshFailed", "Refresh", "%s", err)
	}
}

func (r *AuthorityReconciler) succeeded(before, ca *v1alpha1.CertificateAuthority) {
	reason, url := "CAAnswers", internalURL(ca)
	if ca.Spec.External != nil {
		reason, url = "ExternalCA", ca.Spec.External.URL
		judgeSigning(ca)
	}
	setCondition(&ca.Status.Conditions, v1alpha1.ConditionCAReady, true, reason, "the CA answers", ca.Generation)
	r.judgeCRL(before, ca)
	if was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionCAReady); was == nil || was.Status != metav1.ConditionTrue {
		r.events.Eventf(ca, nil, corev1.EventTypeNormal, map[bool]string{true: "CAExternal", false: "CAReady"}[ca.Spec.External != nil], "Refresh", "the CA at %s answers", url)
	}
}

// judgeSigning says whether requests to an external CA are signed from here.
func judgeSigning(ca *v1alpha1.CertificateAuthority) {
	signs, message := ca.Spec.External.TLSSecretRef != "", "requests are signed with the certificate in Secret "+ca.Spec.External.TLSSecretRef
	if !signs {
		message = "spec.external.tlsSecretRef names no certificate to sign with; somebody signs at the CA"
	}
	setCondition(&ca.Status.Conditions, v1alpha1.ConditionOperatorSigningReady, signs, map[bool]string{true: "CertificateGiven", false: "NoCertificate"}[signs], message, ca.Generation)
}

// judgeCRL says whether the stored CRL may still be relied on.
func (r *AuthorityReconciler) judgeCRL(before, ca *v1alpha1.CertificateAuthority) {
	if ca.Status.CRL == nil || ca.Status.CRL.NextUpdate == nil {
		return
	}
	next := ca.Status.CRL.NextUpdate.Time
	current := r.now().Before(next)
	reason, message := "Refreshed", "the CRL counts until "+next.UTC().Format(time.RFC3339)
	if !current {
		reason, message = "Stale", "the CRL counted until "+next.UTC().Format(time.RFC3339)+"; the CA must issue another"
	}
	setCondition(&ca.Status.Conditions, conditionCRLCurrent, current, reason, message, ca.Generation)
	if was := meta.FindStatusCondition(before.Status.Conditions, conditionCRLCurrent); !current && (was == nil || was.Status != metav1.ConditionFalse) {
		r.events.Eventf(ca, nil, corev1.EventTypeWarning, "CRLStale", "Refresh", "%s", message)
	}
}

func setCondition(list *[]metav1.Condition, kind string, value bool, reason, message string, generation int64) {
	status := metav1.ConditionFalse
	if value {
		status = metav1.ConditionTrue
	}
	const limit = 4096
	meta.SetStatusCondition(list, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message[:min(len(message), limit)], ObservedGeneration: generation,
	})
}
