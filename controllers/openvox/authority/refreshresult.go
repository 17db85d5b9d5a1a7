package authority

import (
	"crypto/sha256"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// refreshResult is the outcome of reading a CRL.
type refreshResult struct {
	// connected is true if the CA's Secrets were read; notAfter is their first expiry.
	connected bool
	notAfter  *metav1.Time
	// crl and known describe the stored CRL, if err is nil.
	crl   *v1alpha1.CRLStatus
	known knownCRL
	// check covers the local revocations. changes is their count at the start of the check.
	check   revocationCheck
	changes int
	events  []object.Event
	// reason and err describe why no CRL is stored.
	reason string
	err    error
}

// knownCRL is the CRL that was stored last, so that the CA need not send it again.
type knownCRL struct {
	version puppet.Version
	sum     [sha256.Size]byte
	read    time.Time // when it was sent
}

// usable returns the version of a stored CRL, or no version if another CRL is stored now.
func (k knownCRL) usable(stored []byte, now time.Time) puppet.Version {
	if k.sum != sha256.Sum256(stored) || now.Sub(k.read) >= wholeAgain {
		return puppet.Version{}
	}
	return k.version
}

// refusal is the error of a CRL that the CA has sent and that Lintel rejects.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// lostEntries identifies removed entries, and when they were first missing.
type lostEntries struct {
	digest string
	since  time.Time
}
