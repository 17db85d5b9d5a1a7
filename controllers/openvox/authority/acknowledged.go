package authority

import (
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// Admission permits only the manager to change the Secrets of a CA. A user who has to decide about
// one of them therefore annotates the CertificateAuthority. The value names the content that the
// user has seen, so that an annotation that stays has no effect on later content.

// reasonCRLAccepted and reasonRecordDiscarded are the reasons of the Events.
const (
	reasonCRLAccepted     = "CRLAccepted"
	reasonRecordDiscarded = "RevocationsDiscarded"
)

// crlStep identifies the replacement of stored CRLs by offered ones, by what they list: a CA may sign
// the same list again.
func crlStep(stored, offered puppet.CRLs) string {
	var content strings.Builder
	for _, lists := range []puppet.CRLs{stored, offered} {
		for _, list := range lists {
			number := list.ThisUpdate.UTC().Format(time.RFC3339)
			if list.Number != nil {
				number = list.Number.String()
			}
			fmt.Fprintf(&content, "%x %s", list.RawIssuer, number)
			for _, entry := range list.RevokedCertificateEntries {
				fmt.Fprintf(&content, " %x", entry.SerialNumber)
			}
			content.WriteString("\n")
		}
		content.WriteString("\n")
	}
	return digest([]byte(content.String()))
}

// unconfirmedCRL is the error of a CRL that a user can accept.
func unconfirmedCRL(cause error, step string) error {
	return fmt.Errorf("%w; the stored CRL is kept. If the CA is right, annotate the CertificateAuthority with %s=%s", cause, v1alpha1.AcceptCRLAnnotation, step)
}

// unreadableRecord is the error of a record of revocations that is damaged.
type unreadableRecord struct {
	secret string
	// digest identifies the content.
	digest string
	cause  error
}

func (u *unreadableRecord) Error() string {
	return fmt.Sprintf("reading the record of revocations in Secret %s: key %s: %v; to discard the record, annotate the CertificateAuthority with %s=%s, and compare the CRL with the certificates that were deleted",
		u.secret, layout.RevocationsFile, u.cause, v1alpha1.DiscardRevocationsAnnotation, u.digest)
}

func (u *unreadableRecord) Unwrap() error { return u.cause }
