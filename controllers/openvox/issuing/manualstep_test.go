package issuing

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// TestManualSteps: a hint names a command that exists where the user can run it, and that does what
// the hint describes.
func TestManualSteps(t *testing.T) {
	ca := openvoxtest.MakeCA("main")
	admin := &puppet.Client{}
	for name, c := range map[string]struct {
		authority authority
		step      manualStep
		protected bool
		want      string
	}{
		"a CA in the cluster, revoke":               {authority{ca: ca, internal: true, admin: admin}, cleanStep, false, "if no client uses that certificate any longer, revoke it: lintel openvox ca clean web -n ns --ca main"},
		"a CA in the cluster, of a Certificate":     {authority{ca: ca, internal: true, admin: admin}, cleanStep, true, "if no client uses that certificate any longer, revoke it: lintel openvox ca clean web -n ns --ca main --force"},
		"a CA in the cluster, withdraw":             {authority{ca: ca, internal: true, admin: admin}, withdrawStep, true, "remove it: lintel openvox ca clean web -n ns --ca main"},
		"a CA in the cluster without a certificate": {authority{ca: ca, internal: true}, withdrawStep, true, "the condition OperatorSigningReady of the CertificateAuthority describes what to do"},
		"an external CA, revoke":                    {authority{ca: ca, admin: admin}, cleanStep, false, "if no client uses that certificate any longer, revoke it: lintel openvox ca clean web -n ns --ca main"},
		"an external CA without a certificate":      {authority{ca: ca}, cleanStep, true, "remove it at the CA: puppetserver ca clean --certname web"},
		"an external CA without one, sign":          {authority{ca: ca}, signStep, true, "sign it at the CA: puppetserver ca sign --certname web"},
	} {
		require.Equal(t, c.want, c.authority.byHand(c.step, "web", c.protected), name)
	}
}
