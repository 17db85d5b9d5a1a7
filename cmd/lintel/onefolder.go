package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// oneFolder is the folder of policies of a command that takes one: by -p, as all commands
// take policies, or as an argument.
type oneFolder struct {
	path  string
	given []string
}

func (f *oneFolder) addFlag(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.given, "policies", "p", nil, "`folder` of policies; it may also be given without -p")
}

// args is the cobra.Command.Args of the command. Of two folders neither is taken: half of
// the policies would be enforced without a word.
func (f *oneFolder) args(cmd *cobra.Command, args []string) error {
	folders := slices.Concat(f.given, args)
	if len(folders) == 0 {
		return usageError(cmd, "give one folder of policies with -p")
	}
	for _, other := range folders[1:] {
		if other != folders[0] {
			return usageError(cmd, "%s and %s are two folders: give one, or run this once for each", folders[0], other)
		}
	}
	if f.path = folders[0]; f.path == "" {
		return usageError(cmd, "-p is empty: give a folder of policies")
	}
	return nil
}
