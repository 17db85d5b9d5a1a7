package issuing

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// outcome is the result of an attempt for a Certificate.
type outcome struct {
	phase           v1alpha1.CertificatePhase
	reason, message string
	certificate     *x509.Certificate // the stored one
	bundle          []byte            // of the CA that has signed it
	wait            time.Duration
	events          []object.Event
	// generation and deleting are of the object when the attempt began.
	generation int64
	deleting   bool
}

func failure(reason, format string, args ...any) error {
	return &authority.Problem{Phase: v1alpha1.CertificateError, Reason: reason, Err: fmt.Errorf(format, args...)}
}

// failed returns the outcome of a failed attempt. phase is used if the error is not an
// *authority.Problem, which has its own phase.
func failed(err error, phase v1alpha1.CertificatePhase, events []object.Event) outcome {
	out := outcome{phase: phase, reason: reasonFailed, message: err.Error(), wait: retryError, events: events}
	var known *authority.Problem
	switch {
	case errors.As(err, &known):
		out.phase, out.reason, out.wait = known.Phase, known.Reason, cmp.Or(known.Wait, retryError)
	case puppet.Unanswered(err):
		out.reason, out.message = authority.ReasonNotAnswering, "the CA cannot be asked: "+err.Error()
	}
	return out
}
