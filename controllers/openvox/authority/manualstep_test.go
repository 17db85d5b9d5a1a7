package authority

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
		authority Connection
		step      ManualStep
		protected bool
		want      string
	}{
		"a CA in the cluster, revoke":               {Connection{CA: ca, Internal: true, Admin: admin}, CleanStep, false, "if no client uses that certificate any longer, revoke it: lintel openvox ca clean web -n ns --ca main"},
		"a CA in the cluster, of a Certificate":     {Connection{CA: ca, Internal: true, Admin: admin}, CleanStep, true, "if no client uses that certificate any longer, revoke it: lintel openvox ca clean web -n ns --ca main --force"},
		"a CA in the cluster, withdraw":             {Connection{CA: ca, Internal: true, Admin: admin}, WithdrawStep, true, "remove it: lintel openvox ca clean web -n ns --ca main"},
		"a CA in the cluster without a certificate": {Connection{CA: ca, Internal: true}, WithdrawStep, true, "the condition OperatorSigningReady of the CertificateAuthority describes what to do"},
		"an external CA, revoke":                    {Connection{CA: ca, Admin: admin}, CleanStep, false, "if no client uses that certificate any longer, revoke it: lintel openvox ca clean web -n ns --ca main"},
		"an external CA without a certificate":      {Connection{CA: ca}, CleanStep, true, "remove it at the CA: puppetserver ca clean --certname web"},
		"an external CA without one, sign":          {Connection{CA: ca}, SignStep, true, "sign it at the CA: puppetserver ca sign --certname web"},
	} {
		require.Equal(t, c.want, c.authority.ByHand(c.step, "web", c.protected), name)
	}
}
