// Command lintel evaluates policies for objects without a cluster. Installed as kubectl-lintel
// it is a plugin of kubectl, which completes its words where the same program is installed as
// kubectl_complete-lintel, too.
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
	"github.com/lintel-policy/lintel/cmd/lintel/audit"
	"github.com/lintel-policy/lintel/cmd/lintel/convert"
	"github.com/lintel-policy/lintel/cmd/lintel/openvox"
	"github.com/lintel-policy/lintel/cmd/lintel/policy"
	"github.com/lintel-policy/lintel/cmd/lintel/prove"
	"github.com/lintel-policy/lintel/cmd/lintel/records"
	"github.com/lintel-policy/lintel/cmd/lintel/replay"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/review"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == source.TestArgument {
		os.Exit(source.TestChild(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == source.CompileArgument {
		os.Exit(source.CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == origin.FetchArgument {
		os.Exit(origin.FetchChild(os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(int(code))
}

// run carries out a command line, the program's own name first.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) report.Exit {
	root := newRootCommand()
	root.SetArgs(args[1:])
	switch strings.TrimSuffix(filepath.Base(args[0]), ".exe") {
	case "kubectl-lintel":
		makePlugin(root)
	case "kubectl_complete-lintel": // what kubectl runs to complete the words after its plugin's name
		makePlugin(root)
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args[1:]...))
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return report.Allowed
	}
	if verdict, ok := errors.AsType[report.Exit](err); ok {
		return verdict
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "%s: %s\n", root.Name(), strings.TrimSuffix(line, "\n"))
	}
	return report.Error
}

func newRootCommand() *cobra.Command {
	root := usage.NewGroup(&cobra.Command{
		Use:   "lintel",
		Short: "Ask Lintel's policies about Kubernetes objects",
		Long: `Ask Lintel's policies about Kubernetes objects, without a cluster.

The answers are those of the admission webhook, word for word.`,
		Example: `  # Would this manifest be admitted?
  lintel check -p policies/ -f deployment.yaml`,
		Version:       version.Of("lintel"),
		SilenceUsage:  true,
		SilenceErrors: true,
	}, audit.NewCommand(), convert.NewCommand(), review.NewCheckCommand(), newOrlojGuardCommand(), openvox.NewCommand(), policy.NewCommand(), prove.NewCommand(), records.NewCommand(), replay.NewCommand(), policy.NewSourceCommand(), newVersionCommand(), review.NewWhyCommand())
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(usage.FlagError)
	return root
}

// makePlugin replaces the name of the program with `kubectl lintel` in all help, because users
// start a plugin of kubectl that way.
func makePlugin(cmd *cobra.Command) {
	if !cmd.HasParent() {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lintel"}
		cmd.CompletionOptions.DisableDefaultCmd = true // it is kubectl that completes
	}
	for _, sub := range cmd.Root().Commands() {
		typed := strings.NewReplacer("lintel "+sub.Name(), "kubectl lintel "+sub.Name())
		cmd.Long, cmd.Example = typed.Replace(cmd.Long), typed.Replace(cmd.Example)
	}
	for _, sub := range cmd.Commands() {
		makePlugin(sub)
	}
}
