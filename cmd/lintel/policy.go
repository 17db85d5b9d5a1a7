package main

import (
	"github.com/spf13/cobra"
)

// newPolicyCommand groups what is about policies themselves.
func newPolicyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check and test policies, and show those of a cluster",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyLintCommand(), newPolicyStatusCommand(), newPolicyTestCommand())
	return cmd
}
