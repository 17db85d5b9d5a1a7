// Program cluster runs a real Kubernetes control plane on this machine for
// development and tests: etcd, API server, controller manager and scheduler
// built from Go modules, kwok in place of kubelets or a kubelet with containerd, and
// cert-manager.
//
// The invariant: every process it starts ends with its supervisor, and a
// cluster either is ready or leaves nothing running. Standard output carries
// the answer alone; progress and errors go to standard error.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newCommand().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		if interrupted && term.IsTerminal(int(os.Stderr.Fd())) {
			os.Exit(130) // as a shell reports it; the user knows
		}
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}
