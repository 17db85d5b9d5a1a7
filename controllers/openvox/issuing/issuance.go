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

// issuance obtains the certificate of one Certificate. Every step begins with the state of the CA
// and the Secrets, so that an attempt may be interrupted at any point.
type issuance struct {
	secrets     authority.Secrets
	certificate *v1alpha1.Certificate
	authority   *authority.Connection
	revoker     *authority.Revoker
	// server is true for the Certificate of the CA's own server.
	server     bool
	autoRenews bool
	keys       *keyMaker
	now        func() time.Time
	// end is called once, after the last request to the CA.
	end    func()
	events []object.Event
	// whyReissued is the reason why a certificate is revoked and issued again instead of renewed.
	whyReissued string
}

// generationKey is the key of a pending Secret with the generation of the request.
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
