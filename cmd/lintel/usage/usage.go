// Package usage reports errors of a command line, and suggests the likely correct one.
package usage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Errorf points at the help of the command that was used wrongly.
func Errorf(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s\nsee '%s --help'", fmt.Sprintf(format, args...), cmd.CommandPath())
}

// NoArguments is the cobra.Command.Args of a command that takes flags alone; instead names them
// in the error about an argument.
func NoArguments(instead string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Errorf(cmd, "%q stands alone: %s", args[0], instead)
		}
		return nil
	}
}

// NewGroup makes cmd a command that does nothing but hold others: by itself it shows its
// help.
func NewGroup(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.AddCommand(commands...)
	return cmd
}

// unknownCommand names the command that was likely meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	for _, sub := range cmd.Commands() {
		for _, below := range sub.Commands() {
			if below.Name() == word {
				return Errorf(cmd, "there is no command %q; did you mean %s %s?", word, sub.Name(), word)
			}
		}
	}
	cmd.SuggestionsMinimumDistance = 2 // two letters that changed places are two
	return Errorf(cmd, "there is no command %q%s", word, DidYouMean("", strings.Join(cmd.SuggestionsFor(word), " or ")))
}

// FlagError names the flag that was likely meant. It is the function of
// cobra.Command.SetFlagErrorFunc.
func FlagError(cmd *cobra.Command, err error) error {
	// If the command is misspelt, its flag is not the error.
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words[0])
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return Errorf(cmd, "%v", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	word, _, _ := strings.Cut(strings.TrimLeft(unknown.GetSpecifiedName(), "-"), "=")
	return Errorf(cmd, "%v%s", err, DidYouMean("--", admission.Nearest(word, names)))
}

// DidYouMean is the end of a message about a name that is unknown: empty where none is
// near.
func DidYouMean(prefix, name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, name)
}
