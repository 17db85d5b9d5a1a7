package authority

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

const (
	// reasonIncomplete means that the CRL lacks certificates that Lintel has revoked. The message
	// names them.
	reasonIncomplete = "Incomplete"
	reasonPending    = "RevocationPending"
	// ReasonUnconfirmed means that the CRL does not list a revoked certificate.
	ReasonUnconfirmed = "RevocationUnconfirmed"
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

// revocationChecker compares CRLs with the records of revocations.
type revocationChecker struct {
	secrets Secrets
	revoker *Revoker
	now     func() time.Time
}

// check looks for certificates that were revoked from here on the CRL, and revokes those again
// that two checks have missed.
func (r revocationChecker) check(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *Connection, lists puppet.CRLs, before revocationCheck, out *refreshResult) {
	record, err := r.readOrDiscard(ctx, ca, out)
	if err != nil {
		out.check.err = err
		return
	}
	has, now := newListed(lists, a.Bundle), r.now()
	var listed, again []Revocation
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
func (r revocationChecker) markListed(ctx context.Context, ca *v1alpha1.CertificateAuthority, listed []Revocation) error {
	if len(listed) == 0 {
		return nil
	}
	return r.secrets.ChangeRevocations(ctx, ca, r.now(), func(record []Revocation) []Revocation {
		for i := range record {
			if slices.ContainsFunc(listed, func(l Revocation) bool { return l.Fingerprint == record[i].Fingerprint }) && record[i].State == revocationWanted {
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
func (r revocationChecker) describeRevocations(ca *v1alpha1.CertificateAuthority, record []Revocation, lists puppet.CRLs, out *refreshResult) {
	if len(record) > 0 {
		last := slices.MaxFunc(record, func(a, b Revocation) int { return a.Recorded.Compare(b.Recorded) })
		out.crl.LastRevoked = new(last.status())
	}
	// Earlier versions had no record, and knew only the last one.
	if last := ca.Status.CRL; last != nil && last.LastRevoked != nil && !r.now().After(last.LastRevoked.NotAfter.Time) && !inRecord(record, last.LastRevoked) {
		had := *last.LastRevoked
		onList := lists.HasSerial(had.SerialNumber)
		if !onList {
			out.check.missing = append(out.check.missing, Revocation{Certname: had.Certname, Serial: had.SerialNumber, NotAfter: had.NotAfter.Time, Forgotten: true})
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

func inRecord(record []Revocation, certificate *v1alpha1.RevokedCertificate) bool {
	return slices.ContainsFunc(record, func(r Revocation) bool { return r.Serial == certificate.SerialNumber })
}

// revokeMissing revokes certificates again that two checks have missed, with a growing pause. It
// also cleans listed certificates whose file the CA still has.
func (r revocationChecker) revokeMissing(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *Connection, again []Revocation, before revocationCheck, check *revocationCheck) {
	check.tries, check.next = before.tries, before.next
	if a.Admin == nil || r.now().Before(before.next) {
		return
	}
	var orders []*revocationOrder
	for _, one := range again {
		orders = append(orders, &revocationOrder{Revocation: one})
	}
	// Its outcome is on the next CRL.
	if err := r.revoker.run(ctx, ca, a, orders...); err == nil {
		check.tries++
	}
	check.next = r.now().Add(revokeAgain.Pause(max(check.tries, 1)))
}

func isIncomplete(ca *v1alpha1.CertificateAuthority) bool {
	c := meta.FindStatusCondition(ca.Status.Conditions, ConditionCRLCurrent)
	return c != nil && slices.Contains([]string{reasonIncomplete, reasonPending, reasonUnreadable}, c.Reason)
}

// Unconfirmed is the message about a revocation that the CRL does not show.
func Unconfirmed(certname string, revoked *x509.Certificate) string {
	return fmt.Sprintf("the CA has not put the certificate of %s (serial %s) on its CRL; it is revoked again until the CRL has it, and the condition %s of the CertificateAuthority names it meanwhile",
		certname, layout.Serial(revoked), ConditionCRLCurrent)
}

// readOrDiscard returns the record of revocations, and removes one that cannot be read if the user
// has confirmed that.
func (r revocationChecker) readOrDiscard(ctx context.Context, ca *v1alpha1.CertificateAuthority, out *refreshResult) ([]Revocation, error) {
	record, err := r.secrets.readRevocations(ctx, ca)
	damaged, unreadable := errors.AsType[*unreadableRecord](err)
	if !unreadable || ca.Annotations[v1alpha1.DiscardRevocationsAnnotation] != damaged.digest {
		return record, err
	}
	err = r.secrets.edit(ctx, ca, damaged.secret, layout.ObjectLabels(ca.Name), func(data map[string][]byte) error {
		if digest(data[layout.RevocationsFile]) == damaged.digest {
			delete(data, layout.RevocationsFile)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.events = append(out.events, object.Event{Warning: true, Reason: reasonRecordDiscarded, Message: fmt.Sprintf(
		"the record of revocations in Secret %s could not be read, and is discarded as the annotation %s requests: the CRL is no longer checked for certificates that were revoked before", damaged.secret, v1alpha1.DiscardRevocationsAnnotation)})
	return r.secrets.readRevocations(ctx, ca)
}
