// Command manager is Lintel's server: webhooks and controllers in one process.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/lintel-policy/lintel/cmd/internal/version"
	"github.com/lintel-policy/lintel/policies/rehearsal"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == source.CompileArgument {
		os.Exit(source.CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == source.TestArgument {
		os.Exit(source.TestChild(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == origin.FetchArgument {
		os.Exit(origin.FetchChild(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == rehearsal.Argument {
		os.Exit(rehearsal.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version.Of("manager"))
		return
	}
	options, err := parseOptions(os.Args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(2)
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	logger.Info("the manager starts", "version", version.Of("manager"))
	limitMemory(memlimit.FromCgroup, logger)
	ctrl.SetLogger(logr.FromSlogHandler(logger.Handler()))
	if err := run(ctrl.SetupSignalHandler(), options, logger); err != nil {
		logger.Error("the manager ends", "error", err)
		os.Exit(1)
	}
}
