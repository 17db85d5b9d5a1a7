package authority

import (
	"time"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

const (
	// RetryPending is the delay before a step that waits for another object is retried.
	RetryPending = 10 * time.Second

	// ReasonSigned: the CA has signed the certificate.
	ReasonSigned = "CertificateSigned"
	// ReasonWaitingForSigner means that a certificate that signs is not replaced yet, because no
	// other certificate can sign its successor.
	ReasonWaitingForSigner = "WaitingForSigner"
)

// Problem is the error of a step for a Certificate.
type Problem struct {
	// Phase and Reason are the new ones of the Certificate.
	Phase  v1alpha1.CertificatePhase
	Reason string
	// Err is the cause.
	Err error
	// Wait is the delay before the next attempt: 0 for the delay of any error.
	Wait time.Duration
}

// Error returns the message of the cause.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }
