package authority

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
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
	// defaultRefresh is how often CRLs are read, unless spec.crlRefreshInterval says otherwise.
	defaultRefresh = 5 * time.Minute

	// ConditionCRLCurrent: whether the stored CRL is valid and has all revocations.
	ConditionCRLCurrent = "CRLCurrent"
	// conditionCertificateCurrent reports whether the CA's own certificate is valid for at least 180 days.
	conditionCertificateCurrent = "CertificateCurrent"
	reasonCAEndsSoon            = "EndsSoon"
	reasonCAEnded               = "Ended"
	reasonStale                 = "Stale"
	// ReasonNotAnswering: the CA does not answer. The message has the error.
	ReasonNotAnswering = "NotAnswering"
)

// AuthorityReconciler checks that CAs answer, and stores their CRLs.
type AuthorityReconciler struct {
	*refresher
	events    events.EventRecorder
	refreshes *attempt.Runner[refreshResult]
	metrics   *crlMetrics
	// uids are the UIDs of the CertificateAuthorities that the state is about.
	uids map[types.NamespacedName]types.UID
}

func newAuthorityReconciler(c client.Client, s Secrets, recorder events.EventRecorder, m *crlMetrics, now func() time.Time) *AuthorityReconciler {
	r := &AuthorityReconciler{
		refresher: newRefresher(c, s, now), events: recorder, refreshes: attempt.NewRunner[refreshResult](now), metrics: m,
		uids: map[types.NamespacedName]types.UID{},
	}
	r.revoker = NewRevoker(s, now, r.changed)
	return r
}

// Reconcile reports the result of a completed refresh, or starts a refresh that is due.
func (r *AuthorityReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.CertificateAuthority{}, r.carryOut)
}

func (r *AuthorityReconciler) reporter() object.Reporter[*v1alpha1.CertificateAuthority, v1alpha1.CertificateAuthorityStatus] {
	reporter := authorityReporter(r.client, r.events, authoritiesManager, "Refresh")
	reporter.Gone = r.forget
	return reporter
}

func (r *AuthorityReconciler) carryOut(ctx context.Context, ca *v1alpha1.CertificateAuthority) (authorityReport, error) {
	key := client.ObjectKeyFromObject(ca)
	if !ca.DeletionTimestamp.IsZero() {
		return authorityReport{}, r.forget(ctx, key)
	}
	if ca.Spec.External == nil && !meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized) {
		return authorityReport{}, nil // its status will say, and begin this again
	}
	if err := r.begin(ctx, key, ca.UID); err != nil {
		return authorityReport{}, err
	}
	interval, err := layout.Duration(ca.Spec.CRLRefreshInterval, defaultRefresh)
	if err != nil {
		return authorityReport{}, reconcile.TerminalError(err)
	}
	interval = max(interval, time.Second)
	if stopped, err := r.stopped(ctx, ca); err != nil {
		return authorityReport{}, err
	} else if stopped {
		interval = min(interval, longestRetry)
	}
	if out, ended := r.refreshes.Outcome(key, versionOf(ca)); ended {
		if err := r.reporter().Write(ctx, ca, r.report(ca, out)); err != nil {
			return authorityReport{}, err
		}
		r.plan(ca, interval, out)
	}
	r.metrics.observe(ca)
	if wait := r.due(ca, interval).Sub(r.now()); wait > 0 {
		return r.requeue(ca, wait), nil
	}
	copied := ca.DeepCopy()
	r.refreshes.Begin(key, key, versionOf(ca), func(ctx context.Context) refreshResult { return r.refresh(ctx, copied) })
	return authorityReport{}, nil
}

// stopped says whether a CA has Servers, and none of them is ready: one that answers still may
// be about to end.
func (r *AuthorityReconciler) stopped(ctx context.Context, ca *v1alpha1.CertificateAuthority) (bool, error) {
	servers, err := serversOf(ctx, r.client, ca)
	return len(servers) > 0 && !slices.ContainsFunc(servers, func(s v1alpha1.Server) bool { return s.Status.Ready > 0 }), err
}

// requeue waits until the CA is to be asked again, and looks when the CRL ends before.
func (r *AuthorityReconciler) requeue(ca *v1alpha1.CertificateAuthority, wait time.Duration) authorityReport {
	end := nextUpdate(ca)
	switch {
	case end.IsZero():
	case r.now().Before(end):
		wait = min(wait, end.Sub(r.now()))
	default:
		next := ca.DeepCopy()
		stale(next, end)
		return authorityReport{Status: &next.Status, Again: wait}
	}
	return authorityReport{Again: wait}
}

// due returns the time of the next refresh. After a restart it is read from the status.
func (r *AuthorityReconciler) due(ca *v1alpha1.CertificateAuthority, interval time.Duration) time.Time {
	key := client.ObjectKeyFromObject(ca)
	if known, _ := r.lastRead(key); known == nil && !r.refreshes.Failing(key) {
		return time.Time{}
	}
	if due := r.refreshes.Due(key, versionOf(ca)); !due.IsZero() {
		return due
	}
	if ca.Status.ObservedGeneration != ca.Generation || !hasAnswered(ca) || !meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionCAReady) {
		return time.Time{}
	}
	return ca.Status.CRL.Refreshed.Add(interval)
}

// plan says when a CA is asked next: on its interval, or later and later while it fails.
func (r *AuthorityReconciler) plan(ca *v1alpha1.CertificateAuthority, interval time.Duration, out refreshResult) {
	key := client.ObjectKeyFromObject(ca)
	if out.err != nil {
		r.metrics.failed(key)
		longest := longestRetry
		if ca.Spec.External == nil && !hasAnswered(ca) {
			longest = longestStart
		}
		r.refreshes.Failed(key, versionOf(ca), attempt.Backoff{First: firstRetry, Longest: longest, Jitter: retryJitter})
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.known[key] = out.known
	r.checked[key], r.checks[key] = out.changes, out.check
	if out.check.incomplete() {
		delete(r.known, key)
		interval = min(interval, out.check.wait(r.now()))
	}
	r.refreshes.Succeeded(key, versionOf(ca), interval)
}

// changed starts a refresh of a CA's CRL immediately, which reads all of it.
func (r *AuthorityReconciler) changed(ctx context.Context, ca types.NamespacedName) {
	r.mutex.Lock()
	r.changes[ca]++
	r.mutex.Unlock()
	r.refreshes.Wake(ctx, ca)
}

// hurry schedules an immediate refresh of a failing CA, because one of its dependencies has
// changed.
func (r *AuthorityReconciler) hurry(key types.NamespacedName) {
	if r.refreshes.Failing(key) {
		r.refreshes.Hurry(key)
	}
}

// authorityVersion is what a refresh is about.
type authorityVersion struct {
	uid        types.UID
	generation int64
}

func versionOf(ca *v1alpha1.CertificateAuthority) authorityVersion {
	return authorityVersion{ca.UID, ca.Generation}
}

// begin forgets an earlier CertificateAuthority of the name: its deletion and the creation of the next
// one may be one event.
func (r *AuthorityReconciler) begin(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	r.mutex.Lock()
	before, known := r.uids[key]
	r.mutex.Unlock()
	if known && before != uid {
		if err := r.forget(ctx, key); err != nil {
			return err
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.uids[key] = uid
	return nil
}

func (r *AuthorityReconciler) forget(_ context.Context, key types.NamespacedName) error {
	r.refreshes.Forget(key)
	r.metrics.forget(key)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, of := range []map[types.NamespacedName]int{r.changes, r.checked} {
		delete(of, key)
	}
	delete(r.known, key)
	delete(r.checks, key)
	delete(r.lost, key)
	delete(r.uids, key)
	r.refused.forget(key)
	r.revoker.forget(key)
	return nil
}

// report writes the result of a refresh to the status.
func (r *AuthorityReconciler) report(ca *v1alpha1.CertificateAuthority, out refreshResult) authorityReport {
	next := ca.DeepCopy()
	next.Status.ObservedGeneration, next.Status.CASecretName = ca.Generation, layout.CASecret(ca)
	if out.connected {
		next.Status.NotAfter = out.notAfter
		if ca.Spec.External != nil {
			next.Status.SigningSecretName = ca.Spec.External.TLSSecretRef
		}
	}
	report := authorityReport{Status: &next.Status, Events: append(answers(ca, next, out), out.events...)}
	if out.err == nil {
		next.Status.CRL = out.crl
	}
	r.judgeCRL(ca, next, out)
	r.judgeCertificate(next)
	next.Status.Phase = phaseOf(next)
	return report
}

// answers says whether the CA does.
func answers(before, ca *v1alpha1.CertificateAuthority, out refreshResult) []object.Event {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionCAReady)
	if out.err != nil {
		ConditionsOf(ca).Set(v1alpha1.ConditionCAReady, false, out.reason, out.err.Error())
		starting := ca.Spec.External == nil && !hasAnswered(ca)
		if starting || was != nil && was.Reason == out.reason {
			return nil
		}
		return []object.Event{{Warning: true, Reason: "CRLRefreshFailed", Message: out.err.Error()}}
	}
	reason, event, url := "CAAnswers", "CAReady", internalURL(ca)
	if ca.Spec.External != nil {
		reason, event, url = "ExternalCA", "CAExternal", ca.Spec.External.URL
		judgeSigning(ca)
	}
	ConditionsOf(ca).Set(v1alpha1.ConditionCAReady, true, reason, "the CA answers")
	if was != nil && was.Status == metav1.ConditionTrue {
		return nil
	}
	return []object.Event{{Reason: event, Message: "the CA at " + url + " answers"}}
}

// judgeSigning says whether requests to an external CA are signed from here.
func judgeSigning(ca *v1alpha1.CertificateAuthority) {
	if secret := ca.Spec.External.TLSSecretRef; secret != "" {
		ConditionsOf(ca).Set(v1alpha1.ConditionOperatorSigningReady, true, "CertificateGiven", "requests are signed with the certificate in Secret "+secret)
		return
	}
	ConditionsOf(ca).Set(v1alpha1.ConditionOperatorSigningReady, false, "NoCertificate", "spec.external.tlsSecretRef names no certificate to sign with; somebody signs at the CA")
}

// judgeCRL says whether the stored CRL may still be relied on.
func (r *AuthorityReconciler) judgeCRL(before, ca *v1alpha1.CertificateAuthority, out refreshResult) {
	end, counts := nextUpdate(ca), "the CRL names no end"
	if !end.IsZero() {
		counts = "the CRL counts until " + end.UTC().Format(time.RFC3339)
	}
	c := ConditionsOf(ca)
	switch {
	case !end.IsZero() && !r.now().Before(end):
		stale(ca, end)
	case out.check.incomplete():
		reason, message := out.check.judge(r.now())
		c.Set(ConditionCRLCurrent, false, reason, message)
	case out.err != nil && isIncomplete(before):
	case out.reason == reasonCRLRefused:
		c.Set(ConditionCRLCurrent, false, reasonCRLRefused, out.err.Error())
	case !hasAnswered(ca):
	case out.err != nil:
		c.Set(ConditionCRLCurrent, true, "RefreshFailed", fmt.Sprintf("%s, and was last asked for with success at %s", counts, ca.Status.CRL.Refreshed.UTC().Format(time.RFC3339)))
	default:
		c.Set(ConditionCRLCurrent, true, "Refreshed", counts)
	}
}

// endsSoon is how long before its end a CA's certificate is warned of: every agent has it, and
// needs another by then.
const endsSoon = 180 * 24 * time.Hour

// judgeCertificate reports how long the CA's certificate is valid. It is never renewed
// automatically, because every agent needs the new one.
func (r *AuthorityReconciler) judgeCertificate(ca *v1alpha1.CertificateAuthority) {
	c, end := ConditionsOf(ca), ca.Status.NotAfter
	if end.IsZero() {
		return
	}
	at := end.UTC().Format(time.RFC3339)
	switch left := end.Sub(r.now()); {
	case left <= 0:
		c.Set(conditionCertificateCurrent, false, reasonCAEnded, "the CA's certificate has ended at "+at+", and with it all that it has signed; agents need one of a new CA")
	case left < endsSoon:
		c.Set(conditionCertificateCurrent, true, reasonCAEndsSoon, "the CA's certificate ends at "+at+", and with it all that it has signed; agents need a new one before then")
	default:
		c.Set(conditionCertificateCurrent, true, "Current", "the CA's certificate counts until "+at)
	}
}

// stale says that a CRL has ended.
func stale(ca *v1alpha1.CertificateAuthority, end time.Time) {
	ConditionsOf(ca).Set(ConditionCRLCurrent, false, reasonStale, "the CRL counted until "+end.UTC().Format(time.RFC3339)+"; the CA must issue another")
}

func nextUpdate(ca *v1alpha1.CertificateAuthority) time.Time {
	if ca.Status.CRL == nil || ca.Status.CRL.NextUpdate == nil {
		return time.Time{}
	}
	return ca.Status.CRL.NextUpdate.Time
}
