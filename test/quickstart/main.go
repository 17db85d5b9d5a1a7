// Command quickstart shows Lintel at work on a real control plane: an object that is
// rejected, one that is defaulted and one that is admitted with a warning, as a user
// would see them.
//
// In a terminal the cluster stays until Ctrl-C; otherwise, and with ONCE=1, it ends
// after the transcript.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/lintel-policy/lintel/test/installation"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, "interrupted; everything has been stopped")
			os.Exit(130)
		}
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	say("building Lintel …")
	programs := filepath.Join(installation.Root(), "bin")
	if err := installation.Build(ctx, programs); err != nil {
		return err
	}
	say("starting a control plane (its first build takes several minutes) …")
	cluster, err := installation.StartCluster(ctx, filepath.Join(installation.Root(), ".cluster", "run"), os.Stderr)
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if stopErr := cluster.Stop(ending); err == nil {
			err = stopErr
		}
	}()
	t := &transcript{ctx: ctx, cluster: cluster, programs: programs}
	if err := t.beforeLintel(); err != nil {
		return err
	}
	say("installing Lintel …")
	if err := installation.Install(ctx, cluster); err != nil {
		return err
	}
	manager, err := installation.StartManager(ctx, cluster, installation.ManagerOptions{
		Program: filepath.Join(programs, "manager"), Name: "lintel-manager-0",
	})
	if err != nil {
		return err
	}
	defer manager.Stop()
	if err := t.withLintel(); err != nil {
		return err
	}
	if os.Getenv("ONCE") == "1" || !isTerminal(os.Stdin) {
		return nil
	}
	fmt.Printf("\nThe cluster is yours until Ctrl-C. In another terminal:\n\n  export KUBECONFIG=%s\n  %s get policysources\n\nThe manager logs to %s\n",
		cluster.Kubeconfig, cluster.Binaries.Kubectl, manager.Log)
	<-ctx.Done()
	fmt.Fprintln(os.Stderr, "\nstopping …")
	return nil
}

func say(text string) { fmt.Fprintln(os.Stderr, text) }

// isTerminal says whether somebody may be there to press Ctrl-C.
func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }
