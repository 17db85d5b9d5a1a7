package issuing

import (
	"fmt"
	"strconv"
	"time"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// issuance gets one Certificate its certificate. Every step begins with what the CA and
// the Secrets have, so that it may be broken off anywhere.
type issuance struct {
	secrets     authority.Secrets
	certificate *v1alpha1.Certificate
	authority   *authority.Connection
	revoker     *authority.Revoker
	// server says that this is the Certificate of the CA's own server.
	server     bool
	autoRenews bool
	keys       *keyMaker
	now        func() time.Time
	// end is called once, when nothing more is asked of the CA.
	end    func()
	events []object.Event
	// whyReissued is why a certificate is not renewed, but revoked and issued again.
	whyReissued string
}

// generationKey says in a pending Secret for which generation was asked.
const generationKey = "generation"

func (i *issuance) generation() string { return strconv.FormatInt(i.certificate.Generation, 10) }

func (i *issuance) labels() map[string]string {
	labels := layout.ObjectLabels(i.certificate.Spec.AuthorityRef)
	labels[certificateLabel] = i.certificate.Name
	return labels
}

func (i *issuance) tell(warning bool, reason, format string, args ...any) {
	i.events = append(i.events, object.Event{Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)})
}
