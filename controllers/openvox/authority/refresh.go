package authority

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

const (
	// wholeAgain is how long a CA is believed that its CRL is the one that is known.
	wholeAgain = time.Hour
	// believeAfter is the time between two answers with fewer entries than before, of which the
	// second one is believed.
	believeAfter = 3 * time.Second
)

// reasonCRLRefused means that the CA returned a CRL that is not stored. The message has the cause.
const reasonCRLRefused = "CRLRefused"

// refresher reads the CRLs of CAs.
type refresher struct {
	client  client.Client
	secrets Secrets
	now     func() time.Time

	mutex sync.Mutex
	// known is what a CA need not send again.
	known map[types.NamespacedName]knownCRL
	// changes counts the local revocations. checked is the count at the start of the last
	// completed refresh.
	changes, checked map[types.NamespacedName]int
	// checks are what the last refresh has found missing.
	checks map[types.NamespacedName]revocationCheck
	// lost are entries that an answer has lacked, and the one before had.
	lost map[types.NamespacedName]lostEntries
	// refused reports the requests that the signing policies refuse.
	refused *refusedReporter
	// revoker revokes certificates that are missing from a CRL.
	revoker *Revoker
}

func newRefresher(c client.Client, s Secrets, now func() time.Time) *refresher {
	return &refresher{
		client: c, secrets: s, now: now,
		known: map[types.NamespacedName]knownCRL{}, changes: map[types.NamespacedName]int{}, checked: map[types.NamespacedName]int{},
		checks: map[types.NamespacedName]revocationCheck{}, lost: map[types.NamespacedName]lostEntries{},
		refused: &refusedReporter{client: c, secrets: s, now: now, last: map[types.NamespacedName]refusedRequests{}},
	}
}

// refresh reads the CRL of a CA, stores it if it succeeds the previous one, and revokes again
// any certificate that is missing from it.
func (r *refresher) refresh(ctx context.Context, ca *v1alpha1.CertificateAuthority) (out refreshResult) {
	known, changes := r.lastRead(client.ObjectKeyFromObject(ca))
	out.known, out.changes = ptr.Deref(known, knownCRL{}), changes
	a, err := Connect(ctx, r.secrets, ca, "")
	if errors.Is(err, errNoCRL) {
		a, err = connectAsAnyone(ctx, r.secrets, ca) // anyone may read it
	}
	if err == nil {
		defer a.Close()
		out.connected, out.notAfter = true, notAfter(a.Bundle)
		err = r.readCRL(ctx, ca, a, &out)
	}
	if err != nil {
		out.err, out.reason = err, ReasonNotAnswering
		if _, refused := errors.AsType[refusal](err); refused {
			out.reason = reasonCRLRefused
		}
	}
	return out
}

// lastRead is the CRL that a CA need not send again: nil where something was revoked from here
// after the last refresh began. changes counts what was.
func (r *refresher) lastRead(key types.NamespacedName) (known *knownCRL, changes int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.changes[key] != r.checked[key] {
		return nil, r.changes[key]
	}
	return new(r.known[key]), r.changes[key]
}

func (r *refresher) readCRL(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *Connection, out *refreshResult) error {
	lists, err := r.read(ctx, ca, a, out)
	if err != nil {
		return err
	}
	out.crl = r.describe(lists)
	r.mutex.Lock()
	before := r.checks[client.ObjectKeyFromObject(ca)]
	r.mutex.Unlock()
	revocationChecker{r.secrets, r.revoker, r.now}.check(ctx, ca, a, lists, before, out)
	r.refused.report(ctx, ca, a, out)
	return nil
}

func (r *refresher) read(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *Connection, out *refreshResult) (puppet.CRLs, error) {
	if end := lastEnd(a.Bundle); !end.IsZero() && r.now().After(end) {
		next := "move the agents to another CA"
		if ca.Spec.External != nil {
			next = "store the new certificate in Secret " + layout.CASecret(ca)
		}
		return nil, fmt.Errorf("the CA's certificate has expired at %s, and clients do not accept what the CA signs; %s", end.UTC().Format(time.RFC3339), next)
	}
	stored, err := r.secrets.Owned(ctx, ca, layout.CRLSecret(ca.Name))
	if err != nil {
		return nil, err
	}
	text, version, err := a.Anyone.CRL(ctx, out.known.usable(stored[layout.CRLFile], r.now()))
	known := out.known
	switch {
	case errors.Is(err, puppet.ErrNotModified):
		text = stored[layout.CRLFile]
	case err != nil:
		return nil, err
	default:
		known = knownCRL{version, sha256.Sum256(text), r.now()}
	}
	lists, had, accepted, err := judgeCRLs(text, stored, a.Bundle, ca.Annotations[v1alpha1.AcceptCRLAnnotation], r.now())
	if err == nil && !accepted {
		err = r.judgeLost(ca, lists.Lost(had), out)
	}
	if err != nil {
		return nil, refusal{err}
	}
	if err := r.secrets.Keep(ctx, ca, layout.CRLSecret(ca.Name), layout.ObjectLabels(ca.Name), map[string][]byte{layout.CRLFile: text}); err != nil {
		return nil, err
	}
	if accepted {
		out.events = append(out.events, object.Event{Warning: true, Reason: reasonCRLAccepted, Message: "the CRL that the annotation " + v1alpha1.AcceptCRLAnnotation + " names has replaced the stored one"})
	}
	out.known = known
	return lists, nil
}

// judgeLost refuses a CRL that lacks entries of the one before, until another answer lacks the
// same. A CA may leave out certificates that have expired.
func (r *refresher) judgeLost(ca *v1alpha1.CertificateAuthority, lost []string, out *refreshResult) error {
	key := client.ObjectKeyFromObject(ca)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(lost) == 0 {
		delete(r.lost, key)
		return nil
	}
	slices.Sort(lost)
	now := lostEntries{digest([]byte(strings.Join(lost, " "))), r.now()}
	if r.lost[key].digest != now.digest {
		r.lost[key] = now
	}
	if r.now().Sub(r.lost[key].since) < believeAfter {
		return fmt.Errorf("the CRL lacks %d entries that it had; the CRL before is kept until another answer confirms that", len(lost))
	}
	delete(r.lost, key)
	out.events = append(out.events, object.Event{Warning: true, Reason: "CRLShrunk", Message: fmt.Sprintf(
		"the CRL lacks %d entries that it had, in two answers of the CA. If their certificates have not expired, something has overwritten the CA's CRL: compare with a backup of the CA", len(lost))})
	return nil
}

// describe returns the status of a CRL that was just read.
func (r *refresher) describe(lists puppet.CRLs) *v1alpha1.CRLStatus {
	this, next := lists.Updates()
	status := &v1alpha1.CRLStatus{ThisUpdate: new(metav1.NewTime(this)), Refreshed: new(metav1.NewTime(r.now()))}
	if !next.IsZero() {
		status.NextUpdate = new(metav1.NewTime(next))
	}
	return status
}

// judgeCRLs checks whether a CRL may replace the stored one. acknowledged is the replacement that a
// user has accepted.
func judgeCRLs(text []byte, stored map[string][]byte, bundle []byte, acknowledged string, now time.Time) (lists, had puppet.CRLs, accepted bool, err error) {
	lists, err = puppet.ParseCRLs(text)
	if err != nil {
		return nil, nil, false, fmt.Errorf("reading the CRL: %w", err)
	}
	size := len(text)
	for key, value := range stored {
		if key != layout.CRLFile {
			size += len(value)
		}
	}
	if size > corev1.MaxSecretSize {
		return nil, nil, false, fmt.Errorf("the CRL has %d bytes, and a Secret holds %d at most; have the CA drop certificates that have ended", len(text), corev1.MaxSecretSize)
	}
	if bundle != nil {
		if err := lists.SignedBy(bundle); err != nil {
			return nil, nil, false, err
		}
	}
	// One that cannot be read was edited by hand, and is replaced.
	if had, err = puppet.ParseCRLs(stored[layout.CRLFile]); err == nil {
		step := crlStep(had, lists)
		accepted = acknowledged == step
		if err := lists.Follows(had, bundle, now); err != nil && !accepted {
			return nil, nil, false, unconfirmedCRL(err, step)
		}
	}
	return lists, had, accepted, nil
}

// notAfter is when the first certificate of a bundle ends, which is the CA's own.
func notAfter(bundle []byte) *metav1.Time {
	if first := layout.FirstCertificate(bundle); first != nil {
		return new(metav1.NewTime(first.NotAfter))
	}
	return nil
}

// lastEnd returns when the last certificate of a bundle expires: a bundle may list the old
// certificate of a CA before the new one.
func lastEnd(bundle []byte) (last time.Time) {
	for _, certificate := range puppet.ParseBundle(bundle) {
		if certificate.NotAfter.After(last) {
			last = certificate.NotAfter
		}
	}
	return last
}
