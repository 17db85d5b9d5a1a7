package openvox

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/controllers/object"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

const (
	reasonPermitted    = "SigningPolicyMatches"
	reasonNotPermitted = "NoSigningPolicyMatches"
	// reasonForbidden is of decisions that Lintel may not write.
	reasonForbidden = "ApprovalForbidden"
)

// approver approves the requests that the signing rules admit, and denies the others. The
// rules have admitted them once, when they were made, but policies change.
type approver struct {
	admit builtin.Admitter
}

// decision is what becomes of a request, for good.
type decision struct {
	approved        bool
	reason, message string
}

// decide asks the rules. Where they cannot be asked, nothing is decided.
func (a *approver) decide(ctx context.Context, object client.Object) (decision, error) {
	verdict, err := a.admit(ctx, object)
	if err != nil {
		return decision{}, err
	}
	if verdict.Denied() {
		return decision{reason: reasonNotPermitted, message: strings.ToValidUTF8(verdict.Message(), "?")}, nil
	}
	return decision{approved: true, reason: reasonPermitted, message: "the signing policies of the CertificateAuthority permit the request"}, nil
}

// unwritten is what becomes of a decision that is not written. Where it is not permitted,
// whoever waits for it is told, and it is tried again, for a role may be given at any time.
func unwritten(recorder events.EventRecorder, of client.Object, err error) (again time.Duration, _ error) {
	if !apierrors.IsForbidden(err) {
		return 0, err
	}
	object.Send(recorder, of, "Approve", object.Event{Warning: true, Reason: reasonForbidden, Message: fmt.Sprintf(
		"--openvox-approve-requests needs the role of config/rbac/openvox-approval, or somebody else has to approve: %s", object.Shorten(err.Error(), 800))})
	return retryError, nil
}
