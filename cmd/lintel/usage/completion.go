package usage

import (
	"fmt"

	"github.com/spf13/cobra"
)

// CompleteFlag has shells complete the value of a flag of the command with one of the
// values, and with no file.
func CompleteFlag(cmd *cobra.Command, flag string, values ...string) {
	CompleteFlagBy(cmd, flag, func(string) []string { return values })
}

// CompleteFlagBy is CompleteFlag for values that are looked up: find receives the typed prefix.
func CompleteFlagBy(cmd *cobra.Command, flag string, find func(typed string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return find(typed), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(fmt.Sprintf("completing --%s: %v", flag, err)) // the command has no such flag
	}
}

// CompleteFiles has shells complete the value of a flag with folders, and with files of
// these extensions: with folders alone where there are none.
func CompleteFiles(cmd *cobra.Command, flag string, extensions ...string) {
	err := cmd.MarkFlagFilename(flag, extensions...)
	if len(extensions) == 0 {
		err = cmd.MarkFlagDirname(flag)
	}
	if err != nil {
		panic(fmt.Sprintf("completing --%s: %v", flag, err)) // the command has no such flag
	}
}
