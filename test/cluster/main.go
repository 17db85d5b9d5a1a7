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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}
