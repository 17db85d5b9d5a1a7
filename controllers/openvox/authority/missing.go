package authority

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// revocationCheck lists local revocations that are missing from a CRL.
type revocationCheck struct {
	missing []Revocation
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
func (c revocationCheck) has(r Revocation) bool {
	return slices.ContainsFunc(c.missing, func(m Revocation) bool { return m.Fingerprint == r.Fingerprint })
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
