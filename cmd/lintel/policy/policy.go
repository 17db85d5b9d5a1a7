// Package policy holds the commands that are about policies themselves: `lintel policy
// lint`, `test` and `status`, those of package library, and `lintel source`.
//
// Invariant: the gate of a cluster refuses every source that is refused here.
package policy

import (
	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/library"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
)

// NewCommand is `lintel policy`.
func NewCommand() *cobra.Command {
	return usage.NewGroup(&cobra.Command{
		Use:   "policy",
		Short: "Find, check and test policies, and show those of a cluster",
	}, library.NewAddCommand(), newLintCommand(), library.NewSearchCommand(), library.NewShowCommand(), newStatusCommand(), newTestCommand())
}
