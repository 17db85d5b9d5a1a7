package openvox

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
)

const (
	// firstRetry is how long a CA that failed is left alone, twice as long each time up
	// to longestRetry, for so long one that is back counts as failed; longestStart is for
	// one whose server has not started yet. retryJitter is the share by which a pause may
	// be shorter.
	firstRetry   = 5 * time.Second
	longestRetry = 30 * time.Second
	longestStart = 15 * time.Second
	retryJitter  = 0.25
	// defaultRefresh is how often CRLs are read, unless said.
	defaultRefresh = 5 * time.Minute

	conditionCRLCurrent = "CRLCurrent"
	reasonStale         = "Stale"
	reasonNotAnswering  = "NotAnswering"
)

// AuthorityReconciler asks CAs whether they answer, and keeps their CRLs.
type AuthorityReconciler struct {
	client    client.Client
	secrets   secrets
	events    events.EventRecorder
	refreshes *attempt.Runner[refreshed]
	metrics   *crlMetrics
	now       func() time.Time

	mutex sync.Mutex
	// known is what a CA need not send again.
	known map[types.NamespacedName]knownCRL
	// lately has what was revoked from here, until a refresh that began later has ended.
	lately map[types.NamespacedName]*v1alpha1.RevokedCertificate
}

func newAuthorityReconciler(c client.Client, s secrets, recorder events.EventRecorder, m *crlMetrics, now func() time.Time) *AuthorityReconciler {
	return &AuthorityReconciler{
		client: c, secrets: s, events: recorder, refreshes: attempt.NewRunner[refreshed](now), metrics: m, now: now,
		known: map[types.NamespacedName]knownCRL{}, lately: map[types.NamespacedName]*v1alpha1.RevokedCertificate{},
	}
}

// Reconcile tells what has become of a refresh that has ended, or begins one whose time
// has come.
func (r *AuthorityReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	ca := &v1alpha1.CertificateAuthority{}
	err := r.client.Get(ctx, key, ca)
	if err != nil || !ca.DeletionTimestamp.IsZero() {
		if client.IgnoreNotFound(err) == nil {
			r.forget(key)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if ca.Spec.External == nil && !meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized) {
		return reconcile.Result{}, nil // its status will say, and begin this again
	}
	interval, err := duration(ca.Spec.CRLRefreshInterval, defaultRefresh)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	interval = max(interval, time.Second)
	before := ca.DeepCopy()
	if out, ended := r.refreshes.Outcome(key, ca.Generation); ended {
		words := r.settle(before, ca, out)
		written, err := patchStatus(ctx, r.client, before, ca)
		if err != nil || !written {
			return reconcile.Result{RequeueAfter: notStarted}, err
		}
		r.tell(ca, words)
		r.plan(ca, interval, out)
	}
	r.metrics.observe(ca)
	wait := r.due(ca, interval).Sub(r.now())
	if wait > 0 {
		return r.rest(ctx, ca, wait)
	}
	known, latest := r.lastRead(key)
	copied := ca.DeepCopy()
	r.refreshes.Begin(key, key, ca.Generation, func(ctx context.Context) refreshed { return r.refresh(ctx, copied, known, latest) })
	return reconcile.Result{}, nil
}

// rest waits until the CA is to be asked again, and looks when the CRL ends before.
func (r *AuthorityReconciler) rest(ctx context.Context, ca *v1alpha1.CertificateAuthority, wait time.Duration) (reconcile.Result, error) {
	before, end := ca.DeepCopy(), nextUpdate(ca)
	if end.IsZero() || r.now().Before(end) {
		if !end.IsZero() {
			wait = min(wait, end.Sub(r.now()))
		}
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	words := stale(before, ca, end)
	written, err := patchStatus(ctx, r.client, before, ca)
	if err != nil || !written {
		return reconcile.Result{RequeueAfter: notStarted}, err
	}
	r.tell(ca, words)
	return reconcile.Result{RequeueAfter: wait}, nil
}

// tell sends Events, once the status says the same.
func (r *AuthorityReconciler) tell(ca *v1alpha1.CertificateAuthority, words []told) {
	for _, e := range words {
		kind := corev1.EventTypeNormal
		if e.warning {
			kind = corev1.EventTypeWarning
		}
		r.events.Eventf(ca, nil, kind, e.reason, "Refresh", "%s", e.words)
	}
}

// due is when a CA is to be asked. After a restart its status tells.
func (r *AuthorityReconciler) due(ca *v1alpha1.CertificateAuthority, interval time.Duration) time.Time {
	key := client.ObjectKeyFromObject(ca)
	if _, latest := r.lastRead(key); latest != nil && !r.refreshes.Failing(key) {
		return time.Time{}
	}
	if due := r.refreshes.Due(key, ca.Generation); !due.IsZero() {
		return due
	}
	if ca.Status.ObservedGeneration != ca.Generation || !hasAnswered(ca) || !meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionCAReady) {
		return time.Time{}
	}
	return ca.Status.CRL.Refreshed.Add(interval)
}

// plan says when a CA is asked next: on its interval, or later and later while it fails.
func (r *AuthorityReconciler) plan(ca *v1alpha1.CertificateAuthority, interval time.Duration, out refreshed) {
	key := client.ObjectKeyFromObject(ca)
	if out.err != nil {
		r.metrics.failed(key)
		longest := longestRetry
		if ca.Spec.External == nil && !hasAnswered(ca) {
			longest = longestStart
		}
		r.refreshes.Failed(key, ca.Generation, attempt.Backoff{First: firstRetry, Longest: longest, Jitter: retryJitter})
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.known[key] = out.known
	if out.incomplete {
		delete(r.known, key)
		interval = min(interval, longestRetry)
	}
	if r.lately[key] == out.latest {
		delete(r.lately, key)
	}
	r.refreshes.Succeeded(key, ca.Generation, interval)
}

// lastRead is the CRL that a CA need not send again, and the certificate that was revoked
// from here after its last refresh began: nil where there is none, else all is read anew.
func (r *AuthorityReconciler) lastRead(key types.NamespacedName) (known knownCRL, latest *v1alpha1.RevokedCertificate) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if latest = r.lately[key]; latest == nil {
		known = r.known[key]
	}
	return known, latest
}

// hurry has a CA that fails asked at once: what it needs has changed.
func (r *AuthorityReconciler) hurry(key types.NamespacedName) {
	if r.refreshes.Failing(key) {
		r.refreshes.Hurry(key)
	}
}

func (r *AuthorityReconciler) forget(key types.NamespacedName) {
	r.refreshes.Forget(key)
	r.metrics.forget(key)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.known, key)
	delete(r.lately, key)
}

// settle says in the status what has become of a refresh, and what is told when that is
// written.
func (r *AuthorityReconciler) settle(before, ca *v1alpha1.CertificateAuthority, out refreshed) []told {
	ca.Status.ObservedGeneration, ca.Status.CASecretName = ca.Generation, caSecretName(ca)
	if out.connected {
		ca.Status.NotAfter = out.notAfter
		if ca.Spec.External != nil {
			ca.Status.SigningSecretName = ca.Spec.External.TLSSecretRef
		}
	}
	words := answers(before, ca, out)
	if out.err == nil {
		ca.Status.CRL = out.crl
	}
	words = append(words, r.judgeCRL(before, ca, out)...)
	ca.Status.Phase = phaseOf(ca)
	return words
}

// answers says whether the CA does.
func answers(before, ca *v1alpha1.CertificateAuthority, out refreshed) []told {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionCAReady)
	if out.err != nil {
		setCondition(&ca.Status.Conditions, v1alpha1.ConditionCAReady, false, out.reason, out.err.Error(), ca.Generation)
		starting := ca.Spec.External == nil && !hasAnswered(ca)
		if starting || was != nil && was.Reason == out.reason {
			return nil
		}
		return []told{{true, "CRLRefreshFailed", out.err.Error()}}
	}
	reason, event, url := "CAAnswers", "CAReady", internalURL(ca)
	if ca.Spec.External != nil {
		reason, event, url = "ExternalCA", "CAExternal", ca.Spec.External.URL
		judgeSigning(ca)
	}
	setCondition(&ca.Status.Conditions, v1alpha1.ConditionCAReady, true, reason, "the CA answers", ca.Generation)
	if was != nil && was.Status == metav1.ConditionTrue {
		return nil
	}
	return []told{{false, event, "the CA at " + url + " answers"}}
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
func (r *AuthorityReconciler) judgeCRL(before, ca *v1alpha1.CertificateAuthority, out refreshed) []told {
	end, counts := nextUpdate(ca), "the CRL names no end"
	if !end.IsZero() {
		counts = "the CRL counts until " + end.UTC().Format(time.RFC3339)
	}
	switch {
	case !end.IsZero() && !r.now().Before(end):
		return stale(before, ca, end)
	case out.incomplete:
		return incomplete(before, ca)
	case out.err != nil && isIncomplete(before):
	case out.reason == reasonCRLRefused:
		setCondition(&ca.Status.Conditions, conditionCRLCurrent, false, reasonCRLRefused, out.err.Error(), ca.Generation)
	case !hasAnswered(ca):
	case out.err != nil:
		message := fmt.Sprintf("%s, and was last asked for with success at %s", counts, ca.Status.CRL.Refreshed.UTC().Format(time.RFC3339))
		setCondition(&ca.Status.Conditions, conditionCRLCurrent, true, "RefreshFailed", message, ca.Generation)
	default:
		setCondition(&ca.Status.Conditions, conditionCRLCurrent, true, "Refreshed", counts, ca.Generation)
	}
	return nil
}

// stale says that a CRL has ended, and tells it once.
func stale(before, ca *v1alpha1.CertificateAuthority, end time.Time) []told {
	message := "the CRL counted until " + end.UTC().Format(time.RFC3339) + "; the CA must issue another"
	setCondition(&ca.Status.Conditions, conditionCRLCurrent, false, reasonStale, message, ca.Generation)
	was := meta.FindStatusCondition(before.Status.Conditions, conditionCRLCurrent)
	if was != nil && was.Reason == reasonStale {
		return nil
	}
	return []told{{true, "CRLStale", message}}
}

func nextUpdate(ca *v1alpha1.CertificateAuthority) time.Time {
	if ca.Status.CRL == nil || ca.Status.CRL.NextUpdate == nil {
		return time.Time{}
	}
	return ca.Status.CRL.NextUpdate.Time
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
