package issuing

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

const (
	// reasonIncomplete means that the CRL lacks certificates that Lintel has revoked. The message
	// names them.
	reasonIncomplete = "Incomplete"
	reasonPending    = "RevocationPending"
	// reasonUnconfirmed means that the CRL does not list a revoked certificate.
	reasonUnconfirmed = "RevocationUnconfirmed"
	// reasonUnreadable means that the Secret with the record of revocations cannot be read.
	reasonUnreadable = "RecordUnreadable"

	// pendingTime is how long after a revocation reasonPending is reported, and reasonIncomplete
	// afterwards.
	pendingTime = 15 * time.Second
	// maxMissing bounds the certificates that a status names, and maxNamed those that a message
	// does.
	maxMissing = 20
	maxNamed   = 10
)

// revokeAgain is how long a certificate that the CRL lacks is left alone after it was revoked
// again.
var revokeAgain = attempt.Backoff{First: 30 * time.Second, Longest: 10 * time.Minute, Jitter: retryJitter}

// revocationCheck lists local revocations that are missing from a CRL.
type revocationCheck struct {
	missing []revocation
	// tries is how often missing ones were revoked again, and next is when they are once more.
	tries int
	next  time.Time
	// err is why the record of revocations cannot be read.
	err error
}

func (c revocationCheck) incomplete() bool { return len(c.missing) > 0 || c.err != nil }

// wait is how long after a check another one is due: two of them have to agree before anything
// is revoked again.
func (c revocationCheck) wait(now time.Time) time.Duration {
	if c.tries == 0 {
		return firstRetry
	}
	return min(max(c.next.Sub(now), firstRetry), longestRetry)
}

// has says whether a check has found a certificate missing.
func (c revocationCheck) has(r revocation) bool {
	return slices.ContainsFunc(c.missing, func(m revocation) bool { return m.Fingerprint == r.Fingerprint })
}

// judge returns the reason and message of the condition for an incomplete CRL.
func (c revocationCheck) judge(now time.Time) (reason, message string) {
	if c.err != nil {
		return reasonUnreadable, c.err.Error() + ". Until then certificates are still revoked at the CA, but the CRL is not checked for them"
	}
	reason = reasonPending
	var names []string
	forgotten := 0
	for _, r := range c.missing {
		if now.Sub(r.Recorded) > pendingTime {
			reason = reasonIncomplete
		}
		if r.Forgotten {
			forgotten++
		}
		if len(names) < maxNamed {
			names = append(names, r.String())
		}
	}
	more := ""
	if rest := len(c.missing) - len(names); rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	message = fmt.Sprintf("the CRL lacks %d certificates that were revoked from here, and servers that use it accept them: serial %s%s. They are revoked again until it has them", len(c.missing), strings.Join(names, ", "), more)
	if reason == reasonIncomplete {
		message += ". The CA has to publish its full CRL (enable-infra-crl: false in its ca.conf)"
	}
	if forgotten > 0 {
		message += fmt.Sprintf(". The CA no longer has the files of %d of them, without which it cannot revoke them: restore signed/<certname>.pem, or the CRL, from a backup of the CA", forgotten)
	}
	return reason, message
}

// check looks for certificates that were revoked from here on the CRL, and revokes those again
// that two checks have missed.
func (r *AuthorityReconciler) check(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *authority, lists puppet.CRLs, out *refreshed) {
	key := client.ObjectKeyFromObject(ca)
	r.mutex.Lock()
	before := r.checks[key]
	r.mutex.Unlock()
	record, err := r.readOrDiscard(ctx, ca, out)
	if err != nil {
		out.check.err = err
		return
	}
	has, now := newListed(lists, a.bundle), r.now()
	var listed, again []revocation
	for _, one := range record {
		switch {
		case now.After(one.NotAfter), !has.concerns(one):
		case !has.has(one):
			out.check.missing = append(out.check.missing, one)
			if before.has(one) {
				again = append(again, one)
			}
		case one.State == revocationWanted:
			listed = append(listed, one)
			if before.has(one) {
				out.events = append(out.events, object.Event{Reason: "CertificateRevoked", Message: fmt.Sprintf("the certificate of %s (serial %s) is on the CRL", one.Certname, one.Serial)})
			}
		case one.State == revocationListed && before.tries == 0: // an earlier manager was stopped
			again = append(again, one)
		}
	}
	if err := r.markListed(ctx, ca, listed); err != nil {
		out.check.err = err
		return
	}
	r.describeRevocations(ca, record, lists, out)
	if len(again) > 0 {
		r.revokeMissing(ctx, ca, a, again, before, &out.check)
	}
}

// markListed writes that certificates are on the CRL.
func (r *AuthorityReconciler) markListed(ctx context.Context, ca *v1alpha1.CertificateAuthority, listed []revocation) error {
	if len(listed) == 0 {
		return nil
	}
	return r.secrets.changeRevocations(ctx, ca, r.now(), func(record []revocation) []revocation {
		for i := range record {
			if slices.ContainsFunc(listed, func(l revocation) bool { return l.Fingerprint == record[i].Fingerprint }) && record[i].State == revocationWanted {
				record[i].State = revocationListed
				if record[i].Forgotten {
					record[i].State = revocationDone
				}
			}
		}
		return record
	})
}

// describeRevocations adds the missing revocations to the status of a CRL.
func (r *AuthorityReconciler) describeRevocations(ca *v1alpha1.CertificateAuthority, record []revocation, lists puppet.CRLs, out *refreshed) {
	if len(record) > 0 {
		last := slices.MaxFunc(record, func(a, b revocation) int { return a.Recorded.Compare(b.Recorded) })
		out.crl.LastRevoked = new(last.status())
	}
	// Earlier versions had no record, and knew only the last one.
	if last := ca.Status.CRL; last != nil && last.LastRevoked != nil && !r.now().After(last.LastRevoked.NotAfter.Time) && !inRecord(record, last.LastRevoked) {
		had := *last.LastRevoked
		onList := lists.HasSerial(had.SerialNumber)
		if !onList {
			out.check.missing = append(out.check.missing, revocation{Certname: had.Certname, Serial: had.SerialNumber, NotAfter: had.NotAfter.Time, Forgotten: true})
		}
		if !onList || len(record) == 0 {
			out.crl.LastRevoked = &had
		}
	}
	out.crl.MissingCount = int32(len(out.check.missing)) //nolint:gosec // a Secret has no more
	for _, one := range out.check.missing[:min(len(out.check.missing), maxMissing)] {
		out.crl.Missing = append(out.crl.Missing, one.status())
	}
}

func inRecord(record []revocation, certificate *v1alpha1.RevokedCertificate) bool {
	return slices.ContainsFunc(record, func(r revocation) bool { return r.Serial == certificate.SerialNumber })
}

// revokeMissing revokes certificates again that two checks have missed, with a growing pause. It
// also cleans listed certificates whose file the CA still has.
func (r *AuthorityReconciler) revokeMissing(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *authority, again []revocation, before revocationCheck, check *revocationCheck) {
	check.tries, check.next = before.tries, before.next
	if a.admin == nil || r.now().Before(before.next) {
		return
	}
	var orders []*revocationOrder
	for _, one := range again {
		orders = append(orders, &revocationOrder{revocation: one})
	}
	// Its outcome is on the next CRL.
	if err := r.revoker.run(ctx, ca, a, orders...); err == nil {
		check.tries++
	}
	check.next = r.now().Add(revokeAgain.Pause(max(check.tries, 1)))
}

func isIncomplete(ca *v1alpha1.CertificateAuthority) bool {
	c := meta.FindStatusCondition(ca.Status.Conditions, conditionCRLCurrent)
	return c != nil && slices.Contains([]string{reasonIncomplete, reasonPending, reasonUnreadable}, c.Reason)
}

// unconfirmed is the message about a revocation that the CRL does not show.
func unconfirmed(certname string, revoked *x509.Certificate) string {
	return fmt.Sprintf("the CA has not put the certificate of %s (serial %s) on its CRL; it is revoked again until the CRL has it, and the condition %s of the CertificateAuthority names it meanwhile",
		certname, serial(revoked), conditionCRLCurrent)
}
