package issuing

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
	// reasonForbidden means that Lintel has no permission to approve or deny the request.
	reasonForbidden = "ApprovalForbidden"
)

// decision is the final decision on a request.
type decision struct {
	approved        bool
	reason, message string
}

// approve approves a request that the signing rules admit, and denies all others. The rules
// admitted the request when it was created, but policies may have changed since. If the rules
// cannot be evaluated, approve decides nothing. If Lintel lacks the permission to write the
// decision, approve records an Event on the request and retries, because the role may be granted
// at any time.
func approve(ctx context.Context, c client.Client, admit builtin.Admitter, recorder events.EventRecorder, request client.Object, write func(decision) error) (again time.Duration, _ error) {
	verdict, err := admit(ctx, request)
	if err != nil {
		return 0, fmt.Errorf("deciding about %s: %w", object.Describe(c, request), err)
	}
	d := decision{true, reasonPermitted, "the signing policies of the CertificateAuthority permit the request"}
	if verdict.Denied() {
		d = decision{false, reasonNotPermitted, strings.ToValidUTF8(verdict.Message(), "?")}
	}
	if err = write(d); !apierrors.IsForbidden(err) {
		return 0, err
	}
	object.Send(recorder, request, "Approve", object.Event{Warning: true, Reason: reasonForbidden, Message: fmt.Sprintf(
		"--openvox-approve-requests needs the role of config/rbac/openvox-approval; without it, an administrator has to approve the request: %s", object.Shorten(err.Error(), 800))})
	return retryError, nil
}
