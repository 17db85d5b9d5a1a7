// Package openvox has the commands that operate Puppet CAs of a cluster: `lintel openvox ca`.
//
// Invariant: the commands have no rights of their own. They read the CertificateAuthority, its
// Secrets and the Certificates as the user of the kubeconfig, and reach the CA by a port that
// this user may forward. A user who cannot read the Secret that administers a CA can do nothing there.
package openvox

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/usage"
)

// NewCommand is `lintel openvox`.
func NewCommand() *cobra.Command { return newCommandWithPause(confirmAfter) }

// newCommandWithPause is NewCommand with another pause between two reads of a CRL.
func newCommandWithPause(pause time.Duration) *cobra.Command {
	o := options{pause: pause}
	return usage.NewGroup(&cobra.Command{
		Use:   "openvox",
		Short: "Operate OpenVox in a cluster",
	}, newCACommand(o))
}

func newCACommand(o options) *cobra.Command {
	return usage.NewGroup(&cobra.Command{
		Use:   "ca",
		Short: "List, sign, revoke and clean the certificates of a Puppet CA, and back it up",
		Long: `List, sign, revoke and clean the certificates of the Puppet CA of a CertificateAuthority.

The commands use the certificate with which Lintel signs. They read it from its Secret as the
user of the kubeconfig, so Kubernetes RBAC decides who may use them. They reach a CA in the
cluster through a port that the API server forwards to its Pod.`,
	}, newListCommand(o), newShowCommand(o), newSignCommand(o), newRevokeCommand(o), newCleanCommand(o), newBackupCommand(o))
}
