package authority

import (
	"crypto/sha256"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// refreshResult is what an attempt to read a CRL has come to.
type refreshResult struct {
	// connected says whether the CA's Secrets could be read; notAfter is by them.
	connected bool
	notAfter  *metav1.Time
	// crl and known describe the stored CRL, if err is nil.
	crl   *v1alpha1.CRLStatus
	known knownCRL
	// check covers the local revocations. changes is their count at the start of the check.
	check   revocationCheck
	changes int
	events  []object.Event
	// reason and err are why nothing is stored.
	reason string
	err    error
}

// knownCRL is the CRL that was stored last, so that the CA need not send it again.
type knownCRL struct {
	version puppet.Version
	sum     [sha256.Size]byte
	read    time.Time // when it was sent
}

// usable is the version of a stored CRL: none where it is another one by now.
func (k knownCRL) usable(stored []byte, now time.Time) puppet.Version {
	if k.sum != sha256.Sum256(stored) || now.Sub(k.read) >= wholeAgain {
		return puppet.Version{}
	}
	return k.version
}

// refusal is of a CRL that the CA has sent, and that is not taken.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// lostEntries are those that an answer has lacked first at a time.
type lostEntries struct {
	digest string
	since  time.Time
}
