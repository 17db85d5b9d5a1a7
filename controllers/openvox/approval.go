package openvox

import (
	"context"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	reasonPermitted    = "SigningPolicyMatches"
	reasonNotPermitted = "NoSigningPolicyMatches"
)

// approver approves the requests that the signing rules admit, and denies the others. The
// rules have admitted them once, when they were made, but policies change.
type approver struct {
	admit Admitter
}

// decision is what becomes of a request, for good.
type decision struct {
	approved        bool
	reason, message string
}

// decide asks the rules. Where they cannot be asked, nothing is decided.
func (a *approver) decide(ctx context.Context, object client.Object) (decision, error) {
	denied, err := a.admit(ctx, object)
	if err != nil {
		return decision{}, err
	}
	if denied != "" {
		return decision{reason: reasonNotPermitted, message: strings.ToValidUTF8(denied, "?")}, nil
	}
	return decision{approved: true, reason: reasonPermitted, message: "the signing policies of the CertificateAuthority permit the request"}, nil
}
