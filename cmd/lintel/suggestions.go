package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lintel-policy/lintel/policies/admission"
)

// unknownCommand names the command that was likely meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	for _, sub := range cmd.Commands() {
		for _, below := range sub.Commands() {
			if below.Name() == word {
				return usageError(cmd, "there is no command %q; did you mean %s %s?", word, sub.Name(), word)
			}
		}
	}
	cmd.SuggestionsMinimumDistance = 2 // two letters that changed places are two
	return usageError(cmd, "there is no command %q%s", word, didYouMean("", strings.Join(cmd.SuggestionsFor(word), " or ")))
}

// flagError names the flag that was likely meant.
func flagError(cmd *cobra.Command, err error) error {
	// The flag of a command that is misspelt is not what is wrong.
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words[0])
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usageError(cmd, "%v", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	word, _, _ := strings.Cut(strings.TrimLeft(unknown.GetSpecifiedName(), "-"), "=")
	return usageError(cmd, "%v%s", err, didYouMean("--", admission.Nearest(word, names)))
}

func didYouMean(prefix, name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, name)
}
