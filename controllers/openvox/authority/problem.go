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

// Problem is a step that came to nothing.
type Problem struct {
	// Phase and Reason are those of the Certificate that the step was for.
	Phase  v1alpha1.CertificatePhase
	Reason string
	// Err is the cause.
	Err error
	// Wait is the delay before the next attempt: 0 for that of any error.
	Wait time.Duration
}

// Error is the words of the step.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap is the error of the step.
func (p *Problem) Unwrap() error { return p.Err }
