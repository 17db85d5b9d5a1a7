// Command lintel asks policies about objects without a cluster. Installed as
// kubectl-lintel it is a plugin of kubectl.
//
// Invariant: it decides with the engine that the webhook decides with, so a message
// here is the message there.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/internal/version"
	"github.com/lintel-policy/lintel/policies/source"
)

// The exit codes of every command.
const (
	exitAllowed = 0 // nothing was denied
	exitDenied  = 1 // something was denied, or a test failed
	exitError   = 2 // bad usage or input, or a policy that could not be asked
	exitUnknown = 3 // it was not found out whether a policy permits too much
)

// What a command has said already, and only the exit code is to tell.
var (
	errDenied    = errors.New("an object is denied")
	errUndecided = errors.New("a policy could not be asked")
	errUnknown   = errors.New("it is not known whether a policy permits more than broader ones")
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == source.TestArgument {
		os.Exit(source.TestChild(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == source.CompileArgument {
		os.Exit(source.CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out a command line, the program's own name first, and returns the
// exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand(filepath.Base(args[0]))
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitAllowed
	case errors.Is(err, errDenied), errors.Is(err, errTestsFailed), errors.Is(err, errRefused):
		return exitDenied
	case errors.Is(err, errUndecided):
		return exitError
	case errors.Is(err, errUnknown):
		return exitUnknown
	default:
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "%s: %s\n", root.Name(), strings.TrimSuffix(line, "\n"))
		}
		return exitError
	}
}

// usageError points at the help of the command that was used wrongly.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s\nsee '%s --help'", fmt.Sprintf(format, args...), cmd.CommandPath())
}

func newRootCommand(program string) *cobra.Command {
	root := &cobra.Command{
		Use:   "lintel",
		Short: "Ask Lintel's policies about Kubernetes objects",
		Long: `Ask Lintel's policies about Kubernetes objects, without a cluster.

The answers are those of the admission webhook, word for word.`,
		Example: `  # Would this manifest be admitted?
  lintel check -p policies/ -f deployment.yaml`,
		Version:       version.Of("lintel"),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	// kubectl runs a plugin under its file name; people type it with a space.
	if strings.TrimSuffix(program, ".exe") == "kubectl-lintel" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lintel"}
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newCheckCommand(), newOrlojGuardCommand(), newPolicyCommand(), newProveCommand(), newSourceCommand(), newVersionCommand(), newWhyCommand())
	return root
}
