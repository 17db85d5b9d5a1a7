// Program certmanager runs cert-manager's controllers and its CA injector in one process
// outside the cluster, for the given kubeconfig.
//
// It reports ready on /readyz only when every informer has synced, so that a Certificate
// created afterwards is processed immediately. The CRDs must be there before it starts;
// cert-manager's own webhook is not part of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	// A set of its own: controller-runtime registers --kubeconfig globally.
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of the cluster to serve")
	health := flags.String("health-address", "127.0.0.1:0", "address for /readyz")
	_ = flags.Parse(os.Args[1:]) // exits by itself on an error

	log := textlogger.NewLogger(textlogger.NewConfig())
	ctrl.SetLogger(log)
	klog.SetLogger(log)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(klog.NewContext(ctx, log), *kubeconfig, *health); err != nil {
		log.Error(err, "cert-manager ended")
		os.Exit(1)
	}
}

// run serves the cluster until ctx ends.
func run(ctx context.Context, kubeconfig, healthAddress string) error {
	mgr, err := newInjector(ctx, kubeconfig, healthAddress)
	if err != nil {
		return err
	}
	issuance := &issuance{kubeconfig: kubeconfig, synced: make(chan struct{})}
	if err := mgr.Add(issuance); err != nil {
		return fmt.Errorf("adding the certificate controllers: %w", err)
	}
	if err := mgr.AddReadyzCheck("certificates", issuance.ready); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := mgr.AddReadyzCheck("injector", func(r *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(r.Context()) {
			return errors.New("the injector's informers have not synced")
		}
		return nil
	}); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return mgr.Start(ctx)
}
